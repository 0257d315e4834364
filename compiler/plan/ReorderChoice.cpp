//===- ReorderChoice.cpp - blocks of contractions whose tensors have different orders ---------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/ReorderChoice.h"

#include "compiler/plan/MemoryModel.h"
#include "compiler/plan/Streaming.h"

#include "einsumc/BlockTiles.h"
#include "einsumc/StridedCopy.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace einsumc {

namespace {

constexpr std::array kRoles = {Role::A, Role::B, Role::C};
/// Tensors of at least this share of the largest one are read and written in long pieces.
constexpr double kLargeShare = 0.125;
/// Bytes of a tensor that should lie next to each other in a block.
constexpr int64_t kWantedRun = 4096;
/// Elements of a block along what kernels go along, and of all dims, if there are so many.
constexpr int64_t kWantedVectors = 64, kLeastVolume = 8192;
/// Sums of a block, so that it adds to the result seldom.
constexpr int64_t kWantedSums = 16;
/// Rows and columns of a block with sums, so that operands are read seldom.
constexpr int64_t kWantedSide = 12;
/// Copies of shorter pieces are like transposes.
constexpr int64_t kShortPiece = 32;
/// Blocks for each thread.
constexpr int64_t kTasks = 4;
/// The share of the peak of loops along vectors, by how many of a batch's rows and columns are
/// several: with neither, each multiply-add has a pair of loads.
constexpr std::array kLoopShares = {0.125, 0.2, 0.4};
/// The same of dots of several rows and columns, times how much more often than in single dots a
/// loaded vector is used, and at most.
constexpr double kShareOfDots = 0.25, kMostOfDots = 0.8;

/// A loop through the blocks of all tensors.
struct Step {
  int64_t count = 1;
  std::array<int64_t, 3> strides = {};
};

class ReorderChooser {
public:
  ReorderChooser(const WorkDims &dims, ElementType type, const Machine &machine)
      : dims(dims), type(type), machine(machine), elementBytes(sizeInBytes(type)),
        memory(machine, toDouble(elementBytes), toDouble(elementBytes) * dims.footprint()),
        large(largeOf(dims)), counts(dims.size(), 1) {}

  ReorderChoice run() {
    growRuns();
    for (const DimClass dimClass : {DimClass::M, DimClass::N, DimClass::K, DimClass::C})
      for (const Role role : large)
        if (hasClass(role, dimClass))
          consider(dims.bySpeed(dimClass, role), 1);
    for (const Role role : large)
      considerMixed(role);
    return *best;
  }

private:
  static llvm::SmallVector<Role, 3> largeOf(const WorkDims &dims) {
    double most = 0;
    for (const Role role : kRoles)
      most = std::max(most, dims.elements(role));
    llvm::SmallVector<Role, 3> result;
    for (const Role role : kRoles)
      if (dims.elements(role) >= kLargeShare * most)
        result.push_back(role);
    return result;
  }

  bool hasDim(Role role, std::size_t dim) const { return dims.stride(role, dim) != 0; }

  bool hasClass(Role role, DimClass dimClass) const {
    for (std::size_t dim = 0; dim < dims.size(); ++dim)
      if (dims[dim].dimClass == dimClass && hasDim(role, dim))
        return true;
    return false;
  }

  int64_t volume() const {
    int64_t product = 1;
    for (const int64_t count : counts)
      product *= count;
    return product;
  }

  /// Indices of a class that a block has.
  int64_t sizeOf(DimClass dimClass) const {
    int64_t product = 1;
    for (std::size_t dim = 0; dim < dims.size(); ++dim)
      if (dims[dim].dimClass == dimClass)
        product *= counts[dim];
    return product;
  }

  /// Takes more indices of a class, up to a number of them.
  void growSide(DimClass dimClass, int64_t wanted) {
    for (const std::size_t dim : dims.bySpeed(dimClass, largestWith(dimClass)))
      while (sizeOf(dimClass) < wanted && grow(dim)) {
      }
  }

  /// Blocks of two tensors should stay in the second-level cache.
  int64_t mostElements() const {
    const int64_t cache =
        machine.caches.size() > 1 ? machine.caches[1].bytes / machine.threads : int64_t{1} << 19;
    return std::max(cache / (4 * elementBytes), kLeastVolume);
  }

  int64_t elementsOfBlock(Role role) const {
    int64_t product = 1;
    for (std::size_t dim = 0; dim < dims.size(); ++dim)
      product *= hasDim(role, dim) ? counts[dim] : 1;
    return product;
  }

  bool mayGrowTo(std::size_t dim, int64_t count) const {
    const double growth = toDouble(count) / toDouble(counts[dim]);
    return dims.iterations() / (growth * toDouble(volume())) >=
               toDouble(kTasks * machine.threads) &&
           llvm::all_of(kRoles, [&](Role role) {
             return growth * toDouble(elementsOfBlock(role)) <= toDouble(mostElements()) ||
                    !hasDim(role, dim);
           });
  }

  /// Doubles the count of a dim; rather all of it than a little less.
  bool grow(std::size_t dim) {
    const int64_t extent = dims.extent(dim);
    const int64_t twice = 3 * counts[dim] >= extent ? extent : 2 * counts[dim];
    if (counts[dim] == extent || !mayGrowTo(dim, twice))
      return false;
    counts[dim] = twice;
    return true;
  }

  /// The dim at which the neighbours in a tensor that a block has end.
  std::optional<std::size_t> endOfRun(Role role) const {
    for (const std::size_t dim : dims.inOrder(role))
      if (counts[dim] < dims.extent(dim))
        return dim;
    return std::nullopt;
  }

  /// Longer runs by turns of the large tensor whose run is the shortest.
  void growRuns() {
    llvm::SmallVector<Role, 3> growing = large;

    const auto runOf = [&](Role role) { return dims.run(role, counts); };
    while (!growing.empty()) {
      const auto shortest =
          llvm::min_element(growing, [&](Role a, Role b) { return runOf(a) < runOf(b); });
      const std::optional<std::size_t> end = endOfRun(*shortest);
      if (runOf(*shortest) * toDouble(elementBytes) >= toDouble(kWantedRun) || !end || !grow(*end))
        growing.erase(shortest);
    }
    growSide(DimClass::K, kWantedSums);
    for (const Role role : large)
      while (volume() < kLeastVolume) {
        const std::optional<std::size_t> end = endOfRun(role);
        if (!end || !grow(*end))
          break;
      }
    if (dims.extentOf(DimClass::K) > 1)
      for (const DimClass side : {DimClass::N, DimClass::M})
        growSide(side, kWantedSide);
    for (std::size_t dim = 0; dim < dims.size(); ++dim)
      counts[dim] = evenPart(dim);
  }

  /// As many indices of a dim as a block has, or a few fewer, for even parts; whole lines of one
  /// along which a large tensor is contiguous.
  int64_t evenPart(std::size_t dim) const {
    constexpr int64_t kManyLines = 8;
    const int64_t extent = dims.extent(dim), even = ceilDiv(extent, ceilDiv(extent, counts[dim]));
    const int64_t line = copies::kLineBytes / elementBytes;
    const bool isAlong = llvm::any_of(large, [&](Role role) { return dims.isUnit(role, dim); });
    return isAlong && even < extent && even >= kManyLines * line ? roundUp(even, line) : even;
  }

  /// The fastest dims of a tensor as what kernels go along.
  void considerMixed(Role role) {
    DimIndices vectors;
    int64_t length = 1;
    for (const std::size_t dim : dims.inOrder(role)) {
      if (length >= kWantedVectors)
        break;
      vectors.push_back(dim);
      length *= counts[dim];
    }
    if (vectors.size() > 1)
      consider(vectors, vectors.size());
  }

  /// Blocks whose innermost dims are \p vectors, followed by the others class by class.
  void consider(const DimIndices &vectors, std::size_t vectorDims) {
    ReorderChoice choice;
    choice.counts = counts;
    choice.order = vectors;
    choice.vectorDims = vectorDims;
    for (const DimClass dimClass : {DimClass::K, DimClass::M, DimClass::N, DimClass::C})
      for (const std::size_t dim : dims.bySpeed(dimClass, largestWith(dimClass)))
        if (!llvm::is_contained(vectors, dim))
          choice.order.push_back(dim);
    constexpr unsigned kAll = 1U << kRoles.size();
    for (unsigned packed = 0; packed < kAll; ++packed) {
      for (std::size_t role = 0; role < kRoles.size(); ++role)
        choice.packs[role] = ((packed >> role) & 1U) != 0;
      if (!isPossible(choice))
        continue;
      choice.cost = costOf(choice);
      if (!best || choice.cost.seconds() < best->cost.seconds())
        best = choice;
    }
  }

  Role largestWith(DimClass dimClass) const {
    Role largest = Role::C;
    for (const Role role : kRoles)
      if (hasClass(role, dimClass) &&
          (!hasClass(largest, dimClass) || dims.elements(role) > dims.elements(largest)))
        largest = role;
    return largest;
  }

  /// Whether kernels find all tensors contiguous along the innermost dim, or the same all along it.
  bool isPossible(const ReorderChoice &choice) const {
    return llvm::all_of(kRoles, [&](Role role) {
      if (choice.isPacked(role))
        return true;
      for (std::size_t v = 0; v < choice.vectorDims; ++v)
        if (hasDim(role, choice.order[v]) != hasDim(role, choice.order.front()))
          return false;
      return !hasDim(role, choice.order.front()) || dims.isUnit(role, choice.order.front());
    });
  }

  /// The loops of a block, those as one that continue each other in all tensors.
  llvm::SmallVector<Step, 8> steps(const ReorderChoice &choice) const {
    llvm::SmallVector<Step, 8> result;
    std::array<int64_t, 3> sizes = {1, 1, 1};
    for (const std::size_t dim : choice.order) {
      Step next{choice.counts[dim], {}};
      for (const Role role : kRoles) {
        const auto index = static_cast<std::size_t>(role);
        const int64_t count = choice.packedCount(dims, role, dim);
        const bool isIn = hasDim(role, dim) || count > 1;
        next.strides[index] = !choice.isPacked(role) ? dims.stride(role, dim)
                              : isIn                 ? sizes[index]
                                                     : 0;
        sizes[index] *= count;
      }
      if (!result.empty() && next.count == 1)
        continue;
      const bool continues = !result.empty() && llvm::all_of(kRoles, [&](Role role) {
        const auto index = static_cast<std::size_t>(role);
        return next.strides[index] == result.back().strides[index] * result.back().count;
      });
      if (continues)
        result.back().count *= next.count;
      else
        result.push_back(next);
    }
    return result;
  }

  LocalCost costOf(const ReorderChoice &choice) const {
    LocalCost cost;
    const double threads = toDouble(machine.threads);
    for (const Role role : kRoles) {
      cost.memorySeconds += memory.stream(dims.elements(role));
      cost.packSeconds +=
          choice.isPacked(role) ? packSeconds(choice, role) : inPlaceSeconds(choice, role);
    }
    const llvm::SmallVector<Step, 8> loops = steps(choice);
    // One loop of each class is inside a call.
    double inCall = 1, sumsInCall = 1;
    constexpr std::size_t kRows = 0b101, kColumns = 0b110, kAll = 0b111; // A, B and C from the last
    std::array<int64_t, kAll + 1> counts = {};
    const auto kindOf = [](const Step &step) {
      std::size_t kind = 0;
      for (std::size_t role = 0; role < kRoles.size(); ++role)
        kind += step.strides[role] != 0 ? std::size_t{1} << role : 0;
      return kind;
    };
    for (const Step &step : loops) {
      if (counts[kindOf(step)] > 0)
        continue;
      counts[kindOf(step)] = step.count;
      inCall *= toDouble(step.count);
      if (step.strides[2] == 0)
        sumsInCall = toDouble(step.count);
    }
    const bool isDot = loops.front().strides[2] == 0;
    const std::size_t several =
        kindOf(loops.front()) != kAll
            ? 0
            : (counts[kRows] > 1 ? 1U : 0U) + (counts[kColumns] > 1 ? 1U : 0U);
    const bool areDots = isDot && counts[kRows] > 1 && counts[kColumns] > 1; // Not single ones.
    const double share =
        areDots ? std::min(kShareOfDots * reuse(counts[kRows], counts[kColumns]), kMostOfDots)
                : kLoopShares[several];
    const int64_t lanes = machine.vectorBytes / elementBytes;
    const double length = toDouble(loops.front().count);
    const double padded = toDouble(roundUp(loops.front().count, lanes)) / length;
    // Where vectors begin and end, in calls of a kernel: each time, and when sums are complete.
    constexpr double kOfDot = 0.5, kOfDots = 0.2, kOfVectors = 0.125, kOfResult = 0.5;
    const double overheads = (areDots ? kOfDots
                              : isDot ? kOfDot
                                      : kOfVectors + kOfResult / sumsInCall) /
                                 length +
                             1 / inCall;
    cost.kernelSeconds = 2 * dims.iterations() * padded / (share * machine.flopsPerSecond(type)) +
                         dims.iterations() * overheads * machine.kernelOverhead / threads;
    return cost;
  }

  /// How many times as many products as a single dot blocks of dots make of each loaded vector.
  double reuse(int64_t rows, int64_t columns) const {
    const double r = toDouble(std::min(rows, tiles::kDotRows));
    const double c = toDouble(std::min(columns, tiles::dotColumns(machine.vectorBytes)));
    return 2 * r * c / (r + c);
  }

  /// Whether the result goes past the caches where it lies: written once, along a batch or what is
  /// repeated as if it were one, by kernels whose rows all begin in the same place of a line, if
  /// they have sums.
  bool goesPastCaches(const ReorderChoice &choice) const {
    const int64_t line = copies::kLineBytes / elementBytes;
    const bool isInRows = llvm::all_of(llvm::seq(dims.size()), [&](std::size_t dim) {
      switch (dims[dim].dimClass) {
      case DimClass::C:
        return true;
      case DimClass::M:
      case DimClass::N:
        return dims.stride(Role::C, dim) % line == 0 || dims.extentOf(DimClass::K) == 1;
      case DimClass::K:
        return choice.counts[dim] == dims.extent(dim);
      }
      return false;
    });
    const bool isAlongBatch = llvm::all_of(kRoles, [&](Role role) {
      const std::size_t front = choice.order.front();
      return hasDim(role, front) || choice.packedCount(dims, role, front) > 1;
    });
    return isInRows && isAlongBatch &&
           dims.elements(Role::C) * toDouble(elementBytes) >= tiles::kPastCachesBytes;
  }

  /// Kernels wait for operands from memory, the longer the shorter the pieces are; lines of the
  /// result that are written in place through the caches are read before, and wait for the rest of
  /// them where pieces are short.
  double inPlaceSeconds(const ReorderChoice &choice, Role role) const {
    constexpr double kShort = 1024;
    const double elements = dims.elements(role), run = dims.run(role, choice.counts);
    const double more = role != Role::C          ? kShort / (run * toDouble(elementBytes))
                        : goesPastCaches(choice) ? 0
                        : piece(choice, role) < kShortPiece ? 2
                                                            : 1;
    return (1 + more) * memory.stream(elements) + memory.rows(elements / run);
  }

  /// Neighbours in a tensor that are neighbours in the order of the block.
  int64_t piece(const ReorderChoice &choice, Role role) const {
    int64_t length = 1;
    for (const std::size_t dim : choice.order) {
      if (!hasDim(role, dim))
        continue;
      if (dims.stride(role, dim) != length)
        break;
      length *= choice.counts[dim];
      if (choice.counts[dim] < dims.extent(dim))
        break;
    }
    return length;
  }

  double packSeconds(const ReorderChoice &choice, Role role) const {
    // Few rows or columns go through registers almost as squares do, repeats along whole rows as
    // well; parts of sums are added one by one.
    constexpr double kOfOperand = 1, kOfResult = 1.5, kOfRepeats = 2, kOfParts = 5;
    const bool isResult = role == Role::C, isTransposed = piece(choice, role) < kShortPiece;
    const double elements = packedElements(choice, role);
    const double again = std::max(elements - dims.elements(role), 0.0);
    double squares = isTransposed ? (isResult ? kOfResult : kOfOperand) : 0;
    if (isRepeated(choice, role))
      squares = isResult ? kOfParts : kOfRepeats;
    return memory.pack(
               {dims.elements(role), dims.run(role, choice.counts), isTransposed, !isResult}) +
           memory.pieces(again, 1) + memory.pieces(elements, squares);
  }

  /// Of all blocks together. Nests have their loops from C's to K's: inside of the last one that
  /// moves on in an operand, its block stays the same, for each thread once. Where the threads
  /// share sums, whose loops are the outermost then, that is too much for some.
  double packedElements(const ReorderChoice &choice, Role role) const {
    double inBlock = 1, blocks = 1, inside = 1;
    for (const DimClass dimClass : {DimClass::C, DimClass::N, DimClass::M, DimClass::K})
      for (std::size_t dim = 0; dim < dims.size(); ++dim) {
        if (dims[dim].dimClass != dimClass)
          continue;
        inBlock *= toDouble(choice.packedCount(dims, role, dim));
        if (choice.counts[dim] == dims.extent(dim))
          continue;
        // The last block of a dim may be smaller.
        if (hasDim(role, dim))
          blocks *=
              std::exchange(inside, 1) * toDouble(dims.extent(dim)) / toDouble(choice.counts[dim]);
        else
          inside *= toDouble(ceilDiv(dims.extent(dim), choice.counts[dim]));
      }
    const bool isEachTime = role == Role::C || choice.isPackedEachTime(dims, role);
    const double again = toDouble(machine.threads) - 1;
    return inBlock * (isEachTime ? blocks * inside : std::min(blocks * inside, blocks + again));
  }

  /// Whether a packed block has elements several times, or parts of sums.
  bool isRepeated(const ReorderChoice &choice, Role role) const {
    return llvm::any_of(llvm::seq(dims.size()), [&](std::size_t dim) {
      return !hasDim(role, dim) && choice.packedCount(dims, role, dim) > 1;
    });
  }

  const WorkDims &dims;
  ElementType type;
  const Machine &machine;
  int64_t elementBytes;
  MemoryModel memory;
  const llvm::SmallVector<Role, 3> large;
  DimCounts counts;
  std::optional<ReorderChoice> best;
};

} // namespace

bool ReorderChoice::areDotsInPlace(const WorkDims &dims) const {
  return dims[order.front()].dimClass == DimClass::K && !isPacked(largestTensor(dims)) &&
         !isPacked(Role::C);
}

bool ReorderChoice::hasTasks(const WorkDims &dims, const Machine &machine) const {
  int64_t ofResult = 1, ofSums = 1;
  for (std::size_t dim = 0; dim < dims.size(); ++dim)
    (dims[dim].dimClass == DimClass::K ? ofSums : ofResult) *=
        ceilDiv(dims.extent(dim), counts[dim]);
  return ofResult >= machine.threads && std::max(ofResult, ofSums) >= enoughTasks(machine);
}

int64_t ReorderChoice::packedCount(const WorkDims &dims, Role role, std::size_t dim) const {
  const auto has = [&](std::size_t d) { return dims.stride(role, d) != 0; };
  const auto vectors = llvm::ArrayRef(order).take_front(vectorDims);
  const bool isRepeated = llvm::is_contained(vectors, dim) && llvm::any_of(vectors, has);
  return has(dim) || isRepeated ? counts[dim] : 1;
}

bool ReorderChoice::isPackedEachTime(const WorkDims &dims, Role role) const {
  const auto lacks = [&](std::size_t dim) { return dims.stride(role, dim) == 0; };
  const auto isCut = [&](std::size_t dim) { return counts[dim] < dims.extent(dim); };
  const llvm::ArrayRef<std::size_t> all = order;
  if (llvm::all_of(all.take_front(vectorDims), lacks))
    return false; // Nothing repeats.
  for (std::size_t v = 0; v < vectorDims; ++v) {
    const bool isLast = v + 1 == vectorDims && llvm::all_of(all.drop_front(v + 1), lacks);
    if (isCut(all[v]) && lacks(all[v]) && !isLast)
      return true;
  }
  return false;
}

ReorderChoice chooseReordering(const WorkDims &dims, ElementType type, const Machine &machine) {
  return ReorderChooser(dims, type, machine).run();
}

} // namespace einsumc
