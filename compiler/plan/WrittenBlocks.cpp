//===- WrittenBlocks.cpp - blocks of contractions that mostly write ---------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/WrittenBlocks.h"

#include "compiler/plan/BlockCounts.h"
#include "compiler/plan/BlockPanels.h"

#include "einsumc/BlockTiles.h"
#include "einsumc/StridedCopy.h"

#include <algorithm>

namespace einsumc {

namespace {

/// A result of fewer bytes stays in the caches.
constexpr double kLeastResult = 4 << 20;
/// With longer sums, writing takes little of the time.
constexpr int64_t kMostSums = 256;
/// Where the estimate is not asked: with results of so many bytes that are so many times as large
/// as both operands, sums so short, and batches only where tiles write runs of so few bytes.
constexpr double kLargeResult = 16 << 20, kByFar = 2, kShortTile = 512;
constexpr int64_t kFewSums = 128;
/// Bytes of runs that are worth the way through scratch, and how many times as long as those of a
/// kernel's tile they are: long ones, or a line instead of a few elements; bytes of runs that tiles
/// write as well by themselves.
constexpr double kLongRun = 160, kLonger = 2, kShortRun = 64, kMuchLonger = 8;
constexpr int64_t kLongTile = 1536;
/// With such vectors that also holds for columns of three of them and more, and batches are only
/// where tiles write single elements.
constexpr int64_t kLongVectorBytes = 64;
/// Bytes of runs that are not worth thinner products, and that these are to have.
constexpr double kEnoughRun = 256;
constexpr int64_t kThinRun = 512;
/// Bytes of runs that blocks have first, then, and as far as there is room.
constexpr int64_t kShortestRun = 256, kMiddleRun = 4096, kLongestRun = 65536;
/// An operand that is a smaller part of all is not worth a block's shape.
constexpr double kMuchSmaller = 8;
/// Elements of a product along n that there is room for, as for a panel along m, or half as many
/// if runs are too short then; and the most along m.
constexpr int64_t kLeastN = 24, kMostM = 4096;
/// The same along n where whole lines are written, as some columns begin at each element of a
/// vector; and the most.
constexpr int64_t kLeastNInLines = 128, kMostNInLines = 16384;

class Blocks {
public:
  /// \param most elements of a block of the operands, and of C unless it is written by lines
  /// \param mostOfC elements of its block of C, if it is
  Blocks(const WorkDims &dims, int64_t elementBytes, int64_t vector, int64_t most, int64_t mostOfC)
      : dims(dims), elementBytes(elementBytes), vector(vector),
        panelRows(tiles::kPanelVectors * vector), most(most), mostOfC(mostOfC), block(dims) {}

  std::optional<WrittenBlocks> run() {
    if (!isLarge())
      return std::nullopt;
    const Neighbours ofTile = neighboursOfTiles();
    if (ofTile.areWritten)
      return std::nullopt;
    // Thinner products leave room for longer runs.
    std::optional<WrittenBlocks> best;
    double longest = 0;
    for (const Product &product :
         {Product{panelRows, kLeastN, kShortestRun}, Product{2 * vector, kLeastN / 2, kThinRun}}) {
      least = product;
      block.counts.assign(dims.size(), 1);
      grow();
      const double run = dims.run(Role::C, block.counts);
      if (isWorthIt(run, ofTile) && run >= kLonger * longest) {
        best = WrittenBlocks{block.counts, isMostlyWritten(ofTile)};
        longest = run;
      }
      if (longest * toDouble(elementBytes) >= kEnoughRun)
        break;
    }
    return best;
  }

  std::optional<DimCounts> runInLines() {
    if (!areVectorsLong() || bytesOfResult() < tiles::kPastCachesBytes ||
        dims.extentOf(DimClass::K) > tiles::kMostSumsInLines)
      return std::nullopt;
    inLines = true;
    least = {panelRows, kLeastNInLines, kShortestRun};
    grow();
    return runOfColumns(dims, block.counts).rows >= vector ? std::optional(block.counts)
                                                           : std::nullopt;
  }

private:
  /// Elements of a product along m and n that there is room for in any case, also for the sake of
  /// runs of so many bytes.
  struct Product {
    int64_t m, n, run;
  };

  /// What tiles of kernels have of C.
  struct Neighbours {
    double run = 1;
    bool areWritten = false; ///< whole vectors in place, or long enough runs
  };

  double bytesOfResult() const { return dims.elements(Role::C) * toDouble(elementBytes); }

  bool isWorthIt(double run, const Neighbours &ofTile) const {
    const int64_t m = block.sizeOf(DimClass::M);
    const bool hasRows = m > 1 && m >= std::min(least.m, dims.extentOf(DimClass::M));
    const auto isLongEnough = [&](double bytes, double times) {
      return run * toDouble(elementBytes) >= bytes && run >= times * ofTile.run;
    };
    const bool isLong = isLongEnough(kLongRun, kLonger) || isLongEnough(kShortRun, kMuchLonger);
    return hasRows && isLong;
  }

  bool isLarge() const {
    return bytesOfResult() >= kLeastResult && dims.extentOf(DimClass::K) <= kMostSums;
  }

  Neighbours neighboursOfTiles() const {
    int64_t alongM = 1, alongN = 1; // Neighbours in C along m, then along n.
    for (const std::size_t dim : dims.inOrder(Role::C)) {
      const int64_t stride = dims.stride(Role::C, dim);
      const DimClass dimClass = dims[dim].dimClass;
      if (dimClass == DimClass::M && alongN == 1 && stride == alongM)
        alongM *= dims.extent(dim);
      else if (dimClass == DimClass::N && stride == alongM * alongN)
        alongN *= dims.extent(dim);
    }
    const int64_t together = alongM * std::min(alongN, tiles::kMostN);
    const bool areLong = together * elementBytes >= kLongTile;
    if (alongM < tiles::kLeastRunVectorsM * vector)
      return {toDouble(together), areLong};
    const bool areColumns = areVectorsLong() && alongM <= tiles::kMostM;
    const bool areVectors = dims.areRowsAt(Role::C, dims.extent(dims.fastest(Role::C)), vector);
    return {toDouble(std::min(alongM, tiles::kMostM)), areVectors || (areColumns && areLong)};
  }

  bool areVectorsLong() const { return vector * elementBytes >= kLongVectorBytes; }

  bool isMostlyWritten(const Neighbours &ofTile) const {
    const bool areTilesShort =
        areVectorsLong() ? ofTile.run == 1 : ofTile.run * toDouble(elementBytes) < kShortTile;
    return bytesOfResult() >= kLargeResult && dims.extentOf(DimClass::K) <= kFewSums &&
           (block.sizeOf(DimClass::C) == 1 || areTilesShort) &&
           dims.elements(Role::C) >= kByFar * (dims.elements(Role::A) + dims.elements(Role::B));
  }

  void grow() {
    for (std::size_t dim = 0; dim < dims.size(); ++dim)
      if (dims[dim].dimClass == DimClass::K)
        block.counts[dim] = dims.extent(dim);
    for (const int64_t bytes : {least.run, kMiddleRun, kLongestRun}) {
      growRun(Role::C, bytes / elementBytes, [&](DimClass of) { return room(of); });
      // Lines of operands, or as much of them as a product has room for.
      for (const Role role : {Role::A, Role::B})
        if (isRead(role))
          growRun(role, copies::kLineBytes / elementBytes,
                  [&](DimClass of) { return ofProduct(of); });
      for (const DimClass dimClass : {DimClass::M, DimClass::N})
        block.fill(dimClass, Role::C, ofProduct(dimClass), {1});
    }
    block.fill(DimClass::M, Role::C, room(DimClass::M), {1, vector});
    block.fill(DimClass::N, Role::C, room(DimClass::N), {tiles::kStepN});
  }

  /// Takes neighbours in a tensor, at most so many of each class; of batches for the result alone.
  template <class MostOf> void growRun(Role role, int64_t wanted, MostOf &&mostOf) {
    int64_t run = 1;
    for (const std::size_t dim : dims.inOrder(role)) {
      const bool isBatch = dims[dim].dimClass == DimClass::C;
      if (dims.stride(role, dim) != run || run >= wanted ||
          (isBatch && (inLines || role != Role::C)))
        return;
      block.grow(dim, ceilDiv(wanted, run), mostOf(dims[dim].dimClass));
      if (isBatch)
        block.even(dim);
      if (block.counts[dim] < dims.extent(dim))
        return;
      run *= dims.extent(dim);
    }
  }

  /// Whether an operand is so large that it matters how its lines are read.
  bool isRead(Role role) const { return kMuchSmaller * dims.elements(role) >= dims.footprint(); }

  /// Elements of a product along m or n that suffice until runs are long.
  int64_t ofProduct(DimClass dimClass) const {
    return std::min(dimClass == DimClass::M ? 2 * panelRows : 2 * kLeastN, room(dimClass));
  }

  /// Elements along a class for which there is room beside those of the others.
  int64_t room(DimClass dimClass) const {
    const auto sizeOf = [&](DimClass of, int64_t least) {
      return std::max(block.sizeOf(of), std::min(dims.extentOf(of), least));
    };
    const int64_t m = sizeOf(DimClass::M, least.m);
    const int64_t n = sizeOf(DimClass::N, least.n);
    const int64_t k = block.sizeOf(DimClass::K);
    if (inLines) {
      const int64_t other = dimClass == DimClass::M ? n : m;
      const int64_t beside = std::min(most / k - other, mostOfC / other);
      return std::clamp<int64_t>(beside, 1, dimClass == DimClass::M ? kMostM : kMostNInLines);
    }
    if (dimClass == DimClass::C)
      return std::max<int64_t>(1, most / (m * n + (m + n) * k));
    const int64_t ofProduct = most / block.sizeOf(DimClass::C);
    const auto beside = [&](int64_t other) {
      return std::max<int64_t>(1, (ofProduct - other * k) / (other + k));
    };
    return dimClass == DimClass::M ? std::min(kMostM, beside(n)) : beside(m);
  }

  const WorkDims &dims;
  const int64_t elementBytes, vector, panelRows, most, mostOfC;
  bool inLines = false; ///< no block of C is kept
  Product least = {};
  BlockCounts block;
};

} // namespace

std::optional<DimCounts> blocksInLines(const WorkDims &dims, int64_t elementBytes, int64_t vector,
                                       int64_t most, int64_t tasks) {
  const auto share = static_cast<int64_t>(dims.elements(Role::C) / toDouble(tasks));
  return Blocks(dims, elementBytes, vector, most, share).runInLines();
}

std::optional<WrittenBlocks> writtenBlocks(const WorkDims &dims, int64_t elementBytes,
                                           int64_t vector, int64_t most, int64_t tasks) {
  const auto share = static_cast<int64_t>(dims.elements(Role::C) / toDouble(tasks));
  return Blocks(dims, elementBytes, vector, std::min(most, share), share).run();
}

} // namespace einsumc
