//===- BlockCost.cpp - the estimate for contractions that the processor limits ----------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/BlockCost.h"

#include "compiler/plan/BlockChoice.h"
#include "compiler/plan/BlockPanels.h"
#include "compiler/plan/KernelRate.h"
#include "compiler/plan/MemoryModel.h"
#include "compiler/plan/TaskLoops.h"

#include "einsumc/BlockTiles.h"
#include "einsumc/StridedCopy.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

namespace einsumc {

namespace {

class BlockCost {
public:
  BlockCost(const WorkDims &dims, ElementType type, const Machine &machine,
            const BlockChoice &blocks, int64_t team)
      : dims(dims), type(type), machine(machine), threads(toDouble(machine.threads)), team(team),
        elementBytes(toDouble(sizeInBytes(type))), blocks(blocks),
        memory(machine, elementBytes, elementBytes * dims.footprint()),
        tasks(taskLoops(dims, elementBytes, blocks.taskCounts, blocks.taskOrder())) {}

  /// Whether tiles are computed in C or scratch itself: these are contiguous along m for long
  /// enough.
  bool isDirect() const {
    if (blocks.sumsInScratch)
      return true;
    const DimIndices m = dims.bySpeed(DimClass::M, blocks.rowsAsIn);
    return stepOfTile(m.front()) == 1 &&
           runOfTile(DimClass::M) >=
               std::min(tiles::kLeastRunVectorsM * machine.vectorBytes / sizeInBytes(type),
                        blocks.m) &&
           runOfTile(DimClass::N) >= std::min(tiles::kLeastRunN, blocks.n);
  }

  LocalCost run() const {
    LocalCost cost;
    for (const Role role : {Role::A, Role::B, Role::C})
      cost.memorySeconds += memory.stream(dims.elements(role));
    cost.kernelSeconds = blocks.fetchesLeft     ? fetchingSeconds(cost.memorySeconds)
                         : blocks.resultInLines ? secondsByLines()
                                                : kernelSeconds();
    cost.lineSeconds = lineSeconds();
    if (blocks.packsLeft)
      cost.packSeconds += packsOf(Role::A) * memory.pack(copyOf(Role::A, DimClass::M));
    if (blocks.packsRight)
      cost.packSeconds +=
          packsOf(Role::B) *
          memory.pack(copyOf(Role::B, blocks.fetchesLeft ? DimClass::N : DimClass::K));
    if (blocks.resultThroughScratch || blocks.sumsInScratch)
      cost.packSeconds += resultFromScratch();
    cost.imbalance = imbalanceOfTeam();
    return cost;
  }

private:
  /// How many times as long as all threads in the mean the one with the most work computes.
  double imbalanceOfTeam() const {
    if (isForOneThread(dims) || blocks.sumsInParallel)
      return 1;
    return imbalanceOf(dims, blocks.taskCounts, tasks, team);
  }

  /// The arithmetic, under which the tensors come and go all but for a share.
  double fetchingSeconds(double memorySeconds) const {
    constexpr double kNotHidden = 0.2;
    const TileSize tile = tileSize(machine, type, blocks.m, blocks.n, blocks.k, true);
    return 2 * dims.iterations() / machine.flopsPerSecond(type) /
               tileEfficiency(machine, type, tile) +
           kNotHidden * memorySeconds;
  }

  /// Whether neighbours in C are none in scratch: there products of a batch lie one after the
  /// other, or columns along L's rows.
  bool isScratchTransposed() const {
    if (blocks.sumsInScratch)
      return !dims.isUnit(Role::C, dims.bySpeed(DimClass::M, blocks.rowsAsIn).front());
    return blocks.isPackedInScratch() ? dims[dims.fastest(Role::C)].dimClass == DimClass::C
                                      : !dims.isUnit(Role::C, dims.fastest(Role::A));
  }

  /// The dims of a product in scratch, the fastest first: as in C, or as tiles are written.
  DimIndices orderInScratch() const {
    int64_t alongBatch = 1;
    for (const std::size_t dim : dims.bySpeed(DimClass::C, Role::C))
      alongBatch *= dims.stride(Role::C, dim) == alongBatch ? blocks.counts[dim] : 1;
    DimIndices order;
    if (toDouble(alongBatch) * elementBytes < toDouble(tiles::kLongBatchBytes)) {
      order = dims.inOrder(Role::C);
      llvm::erase_if(order, [&](std::size_t dim) { return dims[dim].dimClass == DimClass::C; });
    } else {
      order = dims.bySpeed(DimClass::M, blocks.rowsAsIn);
      order.append(dims.bySpeed(DimClass::N, Role::C));
    }
    return order;
  }

  /// Elements between neighbours along a dim where tiles write them: in C, or in a product in
  /// scratch.
  int64_t stepOfTile(std::size_t dim) const {
    if (!blocks.isPackedInScratch())
      return dims.stride(Role::C, dim);
    int64_t step = 1;
    for (const std::size_t faster : orderInScratch()) {
      if (faster == dim)
        break;
      step *= blocks.counts[faster];
    }
    return step;
  }

  /// Neighbours along a side of a block where tiles write them, from its fastest dim on.
  int64_t runOfTile(DimClass dimClass) const {
    if (blocks.sumsInScratch)
      return dimClass == DimClass::M ? blocks.m : blocks.n;
    int64_t run = 1, first = 0;
    const Role order = dimClass == DimClass::M ? blocks.rowsAsIn : Role::C;
    for (const std::size_t dim : dims.bySpeed(dimClass, order)) {
      if (blocks.counts[dim] == 1 && dims.extent(dim) > 1)
        continue;
      if (first == 0)
        first = stepOfTile(dim);
      if (stepOfTile(dim) != first * run)
        break;
      run *= blocks.counts[dim];
    }
    return run;
  }

  double kernelSeconds() const {
    if (blocks.columnTogether > 0)
      return secondsWhileWriting();
    const bool direct = isDirect();
    TileSize tile =
        tileSize(machine, type, direct ? runOfTile(DimClass::M) : blocks.m,
                 direct ? runOfTile(DimClass::N) : blocks.n, blocks.k, blocks.packsLeft);
    const double calls = dims.iterations() / (tile.m * tile.n * toDouble(blocks.k));
    // Vectors that are not full take as long as others.
    const int64_t lanes = machine.vectorBytes / sizeInBytes(type);
    double fullness = 1;
    if (blocks.m >= lanes) {
      fullness = fullnessOf(dims, blocks, lanes, direct ? runOfTile(DimClass::M) : 0);
      tile.m = toDouble(roundUp(static_cast<int64_t>(std::ceil(tile.m)), lanes));
    }
    const double peakSeconds = 2 * dims.iterations() / machine.flopsPerSecond(type) / fullness;
    const double seconds = peakSeconds / tileEfficiency(machine, type, tile);
    // A tile takes longer than one with long sums because it writes the result more often, here to
    // where the result lies.
    TileSize longest = tile;
    longest.k = std::max(tile.k, toDouble(machine.kernelEfficiency.k.back()));
    const double sumsOnly = std::min(peakSeconds / tileEfficiency(machine, type, longest), seconds);
    return sumsOnly + std::max(seconds - sumsOnly, resultSeconds()) +
           calls * machine.kernelOverhead / threads;
  }

  /// The arithmetic of whole columns, under which the result leaves but for a share.
  double secondsWhileWriting() const {
    constexpr double kNotHidden = 0.7;
    const int64_t lanes = machine.vectorBytes / sizeInBytes(type);
    const int64_t column = blocks.columnTogether;
    const int64_t most = tiles::mostOfColumns(column, blocks.k, lanes, sizeInBytes(type));
    const int64_t rows = std::min(blocks.m, most / column * column);
    const int64_t inVectors = roundUp(rows, lanes);
    const TileSize tile{toDouble(inVectors), toDouble(std::min(blocks.n, tiles::kMostN)),
                        toDouble(blocks.k)};
    const double fullness = toDouble(rows) / toDouble(inVectors);
    const double calls = dims.iterations() / (toDouble(rows) * tile.n * tile.k);
    return 2 * dims.iterations() / machine.flopsPerSecond(type) / fullness /
               tileEfficiency(machine, type, tile) +
           kNotHidden * memory.stream(dims.elements(Role::C)) +
           calls * machine.kernelOverhead / threads;
  }

  /// The arithmetic of vectors of whole lines, under which these leave but for a share. Those of
  /// two columns take longer, and columns that begin at the same element of a line are computed
  /// together: many keep the processor busy.
  double secondsByLines() const {
    constexpr double kOfJoints = 1.7, kOfEnds = 5, kEnoughTogether = 3, kNotHidden = 0.1;
    const int64_t lanes = machine.vectorBytes / sizeInBytes(type);
    const RunOfColumns run = runOfColumns(dims, blocks.counts);
    const double vectors = toDouble(run.rows) / toDouble(lanes);
    const double others = kOfJoints + kOfEnds / toDouble(run.columns);
    // Columns that begin at the same element of a vector.
    const double kinds = dims.areRowsAt(Role::C, run.rows, lanes) ? 1 : toDouble(lanes);
    const double together = std::max(toDouble(blocks.n) / kinds, 1.0);
    const TileSize tile{toDouble(tiles::kVectorsInLines * lanes), toDouble(tiles::kMostN),
                        toDouble(blocks.k)};
    const double efficiency = tileEfficiency(machine, type, tile) * vectors / (vectors + others) *
                              std::min(together / kEnoughTogether, 1.0);
    const double result = memory.stream(dims.elements(Role::C));
    return std::max(2 * dims.iterations() / machine.flopsPerSecond(type) / efficiency, result) +
           kNotHidden * result;
  }

  /// Getting the tiles into C, once a block of the sums.
  double resultSeconds() const {
    const double elements = dims.elements(Role::C) * toDouble(blocks.kBlocks);
    if (blocks.isPackedInScratch()) // Which stays in the caches.
      return isDirect() ? 0 : memory.scatter(elements / scatteredAtOnce());
    if (blocks.sumsInScratch) // Kernels wait for them as long as for memory.
      return memory.stream(elements);
    const double run = dims.run(Role::C, countsOfProduct());
    return memory.stream(elements) +
           (areVectorsWritten() ? 0 : memory.owning(dims.elements(Role::C))) +
           memory.rows(elements / run) +
           (isDirect() ? 0 : memory.scatter(elements / scatteredAtOnce()));
  }

  /// Whether all rows of C are whole vectors, which may go past the caches.
  bool areVectorsWritten() const {
    const std::size_t fastest = dims.fastest(Role::C);
    return dims[fastest].dimClass == DimClass::M &&
           dims.areRowsAt(Role::C, dims.extent(fastest), machine.vectorBytes / sizeInBytes(type));
  }

  /// Of a result in shorter runs than cache lines the rest of these comes and goes, too: from where
  /// the tensors are, or from a cache if the next product of a batch or the next task has the
  /// neighbours.
  double lineSeconds() const {
    if (blocks.resultThroughScratch || blocks.sumsInScratch)
      return 0;
    if (blocks.resultInLines)
      return secondsOfEnds();
    constexpr double kLineBytes = copies::kLineBytes;
    const double inLine = kLineBytes / elementBytes;
    const double run = dims.run(Role::C, countsOfProduct());
    if (run >= inLine)
      return 0;
    const double together = dims.run(Role::C, blocks.counts);
    double elements = dims.elements(Role::C);
    if (goesOnNext(Role::C) || together >= inLine) {
      elements = threads;
      for (std::size_t dim = 0; dim < dims.size(); ++dim)
        elements *= dims[dim].dimClass == DimClass::K ? 1 : toDouble(blocks.counts[dim]);
    }
    const double footprint = kLineBytes * elements / std::min(together, inLine);
    return MemoryModel(machine, elementBytes, footprint)
        .stream(2 * (inLine / run - 1) * dims.elements(Role::C) * toDouble(blocks.kBlocks));
  }

  /// Lines at the ends of runs that are written by whole lines: they are read first, and written
  /// twice unless the block has what follows.
  double secondsOfEnds() const {
    if (areWholeLines(Role::C))
      return 0;
    const RunOfColumns run = runOfColumns(dims, blocks.counts);
    const double length = toDouble(run.rows * run.columns);
    const double lines = length < dims.run(Role::C, blocks.counts) ? 1 : 3;
    return memory.stream(lines * toDouble(copies::kLineBytes) / elementBytes *
                         dims.elements(Role::C) / length);
  }

  /// Products of a batch are written one by one.
  DimCounts countsOfProduct() const {
    DimCounts counts = blocks.counts;
    for (std::size_t dim = 0; dim < dims.size(); ++dim)
      if (dims[dim].dimClass == DimClass::C)
        counts[dim] = 1;
    return counts;
  }

  /// Elements of a tile that go from its buffer to C together.
  double scatteredAtOnce() const {
    const DimIndices m = dims.bySpeed(DimClass::M, Role::C);
    return stepOfTile(m.front()) == 1
               ? toDouble(std::min(runOfTile(DimClass::M), machine.vectorBytes / sizeInBytes(type)))
               : 1;
  }

  double resultFromScratch() const {
    const CopyWork copy{dims.elements(Role::C), dims.run(Role::C, blocks.counts),
                        isScratchTransposed()};
    constexpr double kPieces = 4;
    const bool isInPieces = copy.isTransposed && blocks.isPackedInScratch();
    return memory.pack(copy) + (isInPieces ? memory.pieces(copy.elements, kPieces) : 0);
  }

  /// How often an operand is packed: for each block of it that another one has come before, as the
  /// loops go on.
  double packsOf(Role role) const {
    double packs = 1;
    bool isInside = true; // Of all loops over the operand's blocks.
    for (const std::size_t dim : loopsAround()) {
      const bool isOfOperand = dims.stride(role, dim) != 0;
      isInside = isInside && !isOfOperand;
      if (!isInside && !isOfOperand)
        packs *= toDouble(ceilDiv(dims.extent(dim), blocks.taskCounts[dim]));
    }
    return packs * packsByNeighbours(role);
  }

  /// How many times as often because a thread begins with the block that another one ends with.
  double packsByNeighbours(Role role) const {
    if (isForOneThread(dims) || blocks.sumsInParallel || (blocks.sumsInside && blocks.kBlocks > 1))
      return 1;
    int64_t all = 1, inside = 1; // Tasks, and those in a row that have the same block.
    for (const std::size_t dim : tasks) {
      const int64_t steps = ceilDiv(dims.extent(dim), blocks.taskCounts[dim]);
      all *= steps;
      inside = dims.stride(role, dim) != 0 ? 1 : inside * steps;
    }
    if (inside == 1)
      return 1;
    int64_t again = 0;
    for (int64_t thread = 1; thread < std::min(machine.threads, all); ++thread)
      again += firstTask(thread, machine.threads, all) % inside == 0 ? 0 : 1;
    const int64_t rows = all / inside;
    return toDouble(rows + again) / toDouble(rows);
  }

  /// The loops around blocks, the innermost first.
  DimIndices loopsAround() const {
    DimIndices sums;
    for (const std::size_t dim : dims.bySpeed(DimClass::K, Role::A))
      if (blocks.counts[dim] < dims.extent(dim))
        sums.push_back(dim);
    DimIndices loops(tasks.rbegin(), tasks.rend());
    loops.insert(blocks.sumsInside ? loops.begin() : loops.end(), sums.begin(), sums.end());
    return loops;
  }

  /// Whether the next block of a tensor has what follows rows of this one: it then finds the rest
  /// of their lines in a cache.
  bool goesOnNext(Role role) const {
    const DimIndices loops = loopsAround();
    const auto next =
        llvm::find_if(loops, [&](std::size_t dim) { return dims.stride(role, dim) != 0; });
    return next == loops.end() || toDouble(dims.stride(role, *next) * blocks.counts[*next]) ==
                                      dims.run(role, blocks.counts);
  }

  /// Whether rows that a block has of a tensor, which begin lines where the tensor does, are whole
  /// lines.
  bool areWholeLines(Role role) const {
    const int64_t line = copies::kLineBytes / sizeInBytes(type);
    const auto run = static_cast<int64_t>(dims.run(role, blocks.counts));
    return run % line == 0 && dims.areRowsAt(role, run, line);
  }

  /// An operand's copy into blocks whose fastest role is `fast`.
  CopyWork copyOf(Role role, DimClass fast) const {
    CopyWork copy{dims.elements(role), dims.run(role, blocks.counts), true};
    copy.isPacked = true;
    copy.readsLinesAgain = !goesOnNext(role) && !areWholeLines(role);
    const std::size_t unit = dims.fastest(role);
    const DimIndices order = dims.bySpeed(fast, fast == DimClass::K   ? blocks.sumsAsIn
                                                : fast == DimClass::M ? blocks.rowsAsIn
                                                                      : Role::C);
    for (const std::size_t dim : order)
      if (blocks.counts[dim] > 1) {
        copy.isTransposed = dim != unit;
        break;
      }
    return copy;
  }

  const WorkDims &dims;
  ElementType type;
  const Machine &machine;
  double threads;
  int64_t team;
  double elementBytes;
  const BlockChoice &blocks;
  MemoryModel memory;
  DimIndices tasks; ///< the loops over them, the outermost first
};

} // namespace

LocalCost blockCost(const WorkDims &dims, ElementType type, const Machine &machine,
                    const BlockChoice &blocks, int64_t team) {
  return BlockCost(dims, type, machine, blocks, team).run();
}

bool areTilesInPlace(const WorkDims &dims, ElementType type, const Machine &machine,
                     const BlockChoice &blocks) {
  return BlockCost(dims, type, machine, blocks, 1).isDirect();
}

} // namespace einsumc
