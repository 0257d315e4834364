//===- WholeLines.cpp - products that leave the registers by whole lines of C -----------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "WholeLines.h"

#include "EvenPieces.h"
#include "PastCaches.h"
#include "Prefetch.h"
#include "RegisterBlock.h"
#include "RegisterTranspose.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace einsumc {

ColumnsInLines::ColumnsInLines(std::span<const int64_t> begins, int64_t rows, int64_t lanes,
                               int64_t groupSize) {
  std::vector<Column> inOrder, heads, tails;
  for (std::size_t j = 0; j < begins.size(); ++j)
    inOrder.push_back({static_cast<int64_t>(j), begins[j], static_cast<int64_t>(j)});
  std::sort(inOrder.begin(), inOrder.end(),
            [](const Column &x, const Column &y) { return x.toC < y.toC; });
  for (std::size_t j = 0; j < inOrder.size(); ++j) {
    Column &column = inOrder[j];
    if (j == 0 || !inOrder[j - 1].isFollowed)
      heads.push_back(column);
    column.isFollowed = j + 1 < inOrder.size() && inOrder[j + 1].toC == column.toC + rows;
    if (column.isFollowed)
      column.next = inOrder[j + 1].inB;
    else
      tails.push_back(column);
  }
  ofAll = groupsOf(inOrder, lanes, groupSize);
  ofHeads = groupsOf(heads, lanes, groupSize);
  ofTails = groupsOf(tails, lanes, groupSize);
}

/// About as many groups of those that begin at each element; first the first ones of all, then
/// their next ones: mostly those that follow them.
std::vector<ColumnsInLines::Group> ColumnsInLines::groupsOf(std::span<const Column> columns,
                                                            int64_t lanes, int64_t groupSize) {
  std::vector<std::vector<Column>> kinds(static_cast<std::size_t>(lanes)), closed;
  for (const Column &column : columns)
    kinds[static_cast<std::size_t>(column.toC % lanes)].push_back(column);
  std::size_t most = 0;
  for (const std::vector<Column> &kind : kinds)
    most = std::max(most, kind.size());
  const int64_t pieces = ceilDiv(static_cast<int64_t>(most), groupSize);
  for (const std::vector<Column> &kind : kinds)
    if (!kind.empty())
      EvenPieces(std::ssize(kind), ceilDiv(std::ssize(kind), pieces))
          .forEach([&](int64_t first, int64_t count) {
            closed.emplace_back(kind.begin() + first, kind.begin() + first + count);
          });
  std::sort(closed.begin(), closed.end(),
            [](const auto &x, const auto &y) { return x.front().toC < y.front().toC; });
  std::vector<Group> groups;
  for (std::size_t g = 0; g < closed.size(); ++g) {
    const auto isNext = [](const Column &column, const Column &next) {
      return column.next == next.inB;
    };
    const bool comesNext =
        g + 1 < closed.size() && closed[g].size() <= closed[g + 1].size() &&
        std::equal(closed[g].begin(), closed[g].end(), closed[g + 1].begin(), isNext);
    groups.push_back({inGroups.size(), closed[g].size(), comesNext});
    inGroups.insert(inGroups.end(), closed[g].begin(), closed[g].end());
  }
  return groups;
}

namespace {

using Column = ColumnsInLines::Column;

/// The element of its vector that an address is.
template <class T> int64_t pastVector(const T *at) {
  return static_cast<int64_t>(reinterpret_cast<std::uintptr_t>(at) / sizeof(T)) % simd::kLanes<T>;
}

constexpr int kVectors = tiles::kVectorsInLines;
template <class T> constexpr int kColumns = static_cast<int>(kColumnsInLines<T>);

/// The factors of a group's columns, side by side for every k. A packet may be written behind them.
template <class T>
using Factors = std::array<T, tiles::kMostSumsInLines * kColumnsInLines<T> + kPacket<T>>;

/// \param number of the column in B
template <class T>
void gatherFactors(const ProductInLines<T> &work, std::span<const Column> columns,
                   int64_t Column::*number, T *target) {
  constexpr int64_t kSize = kPacket<T>, kStep = kColumns<T>;
  const auto factorsOf = [&](int64_t column) {
    const auto last = std::ssize(columns) - 1;
    return work.b + columns[static_cast<std::size_t>(std::min(column, last))].*number * work.bN;
  };
  if (work.k < kSize) {
    for (int64_t j = 0; j < std::ssize(columns); ++j)
      for (int64_t k = 0; k < work.k; ++k)
        target[k * kStep + j] = simd::byItself(factorsOf(j)[k]);
    return;
  }
  for (int64_t column = 0; column < std::ssize(columns); column += kSize) {
    std::array<const T *, kSize> from;
    for (int64_t j = 0; j < kSize; ++j)
      from[static_cast<std::size_t>(j)] = factorsOf(column + j);
    // By growing k: what packets have beyond the columns is overwritten by the next ones.
    for (int64_t first = 0; first < work.k; first += kSize) {
      const int64_t k = std::min(first, work.k - kSize);
      Packet<T> packets[kSize];
#pragma GCC unroll 16
      for (std::size_t j = 0; j < kSize; ++j)
        packets[j] = simd::loadAs<Packet<T>>(from[j] + k);
      transposeRegisters<T>(packets);
#pragma GCC unroll 16
      for (int64_t i = 0; i < kSize; ++i)
        simd::store(target + (k + i) * kStep + column, packets[i]);
    }
  }
}

/// Vectors in the midst of columns, so many at a time, from a row on.
template <class T, int Vectors, int Count>
void multiplyVectors(const ProductInLines<T> &work, int64_t row, int64_t times, const T *factors,
                     const Column *columns) {
  constexpr int64_t kStep = Vectors * simd::kLanes<T>;
  const int64_t aK = work.aK;
  for (; times > 0; --times, row += kStep) {
    RegisterBlock<T, Vectors, Count> sums = {};
    const T *a = work.a + row, *b = factors;
    for (int64_t k = work.k; k > 0; --k, a += aK, b += kColumns<T>)
      addProducts<Vectors, Count>([&](int v) { return simd::load(a + v * simd::kLanes<T>); },
                                  [&](int j) { return simd::broadcast<T>(b[j]); },
                                  [&](int v, int j) -> auto & { return sums[j][v]; });
    putSumsPastCaches<T, Vectors, Count>(sums,
                                         [&](int j) { return work.c + columns[j].toC + row; });
  }
}

/// Vectors with rows of two columns, the last of each and the first of the next.
/// \param ofFirst lanes of the former
template <class T, int Count>
void multiplyJoints(const ProductInLines<T> &work, int64_t ofFirst, const T *factors,
                    const T *ofNext, const Column *columns) {
  const simd::LaneMask<T> mask(static_cast<int>(ofFirst));
  RegisterBlock<T, 1, Count> sums = {};
  const int64_t row = work.rows - ofFirst;
  const T *a = work.a;
  for (int64_t k = work.k; k > 0;
       --k, a += work.aK, factors += kColumns<T>, ofNext += kColumns<T>) {
    const simd::Vector<T> rows = mask.loadOthers(mask.load(a + row), a - ofFirst);
#pragma GCC unroll 32
    for (int j = 0; j < Count; ++j)
      sums[j][0] +=
          rows * mask.select(simd::broadcast<T>(factors[j]), simd::broadcast<T>(ofNext[j]));
  }
  putSumsPastCaches<T, 1, Count>(sums, [&](int j) { return work.c + columns[j].toC + row; });
}

/// A few rows at an end of columns, in vectors that are not the block's alone.
template <class T, int Count>
void multiplyEnds(const ProductInLines<T> &work, int64_t row, int64_t rows, const T *factors,
                  const Column *columns) {
  const simd::LaneMask<T> mask(static_cast<int>(rows));
  RegisterBlock<T, 1, Count> sums = {};
  const T *a = work.a + row;
  for (int64_t k = work.k; k > 0; --k, a += work.aK, factors += kColumns<T>) {
    const simd::Vector<T> ofA = mask.load(a);
#pragma GCC unroll 32
    for (int j = 0; j < Count; ++j)
      sums[j][0] += ofA * simd::broadcast<T>(factors[j]);
  }
#pragma GCC unroll 32
  for (int j = 0; j < Count; ++j)
    mask.template put<false>(work.c + columns[j].toC + row, sums[j][0]);
}

template <class T>
using VectorsOf = void (*)(const ProductInLines<T> &work, int64_t row, int64_t times,
                           const T *factors, const Column *columns);
template <class T>
constexpr auto kVectorsOf = tableOfBlocks<VectorsOf<T>, kVectors, kColumns<T>>(
    []<int Vectors, int Count>() { return multiplyVectors<T, Vectors, Count>; });

template <class T>
using JointsOf = void (*)(const ProductInLines<T> &work, int64_t ofFirst, const T *factors,
                          const T *ofNext, const Column *columns);
template <class T>
constexpr auto kJointsOf = tableOfBlocks<JointsOf<T>, 1, kColumns<T>>(
    []<int One, int Count>() { return multiplyJoints<T, Count>; });

template <class T>
using EndsOf = void (*)(const ProductInLines<T> &work, int64_t row, int64_t rows, const T *factors,
                        const Column *columns);
template <class T>
constexpr auto kEndsOf = tableOfBlocks<EndsOf<T>, 1, kColumns<T>>(
    []<int One, int Count>() { return multiplyEnds<T, Count>; });

/// How the rows of a column fall into vectors.
template <class T> struct RowsOfColumn {
  static constexpr int64_t kLanes = simd::kLanes<T>;
  RowsOfColumn(int64_t rows, const T *column)
      : head((kLanes - pastVector(column)) % kLanes), vectors((rows - head) / kLanes),
        end(head + vectors * kLanes), tail(rows - end) {}

  int64_t head, vectors, end, tail; ///< in elements but for `vectors`
};

/// The whole vectors of a run of rows of a group.
/// \param ofNext the factors of the columns that follow
template <class T>
void multiplyWhole(const ProductInLines<T> &work, const T *factors, const T *ofNext,
                   std::span<const Column> columns) {
  const RowsOfColumn<T> rows(work.rows, work.c + columns.front().toC);
  const EvenPieces pieces(rows.vectors, kVectors);
  int64_t row = rows.head;
  const auto multiply = [&](int64_t size, int64_t times) {
    if (size > 0 && times > 0)
      kVectorsOf<T>[static_cast<std::size_t>(size - 1)][columns.size() - 1](
          work, row, times, factors, columns.data());
    row += size * times * simd::kLanes<T>;
  };
  multiply(pieces.size + 1, pieces.longer);
  multiply(pieces.size, pieces.pieces - pieces.longer);
  const auto isFollowed = [](const Column &column) { return column.isFollowed; };
  for (auto first = columns.begin(); rows.tail > 0;) {
    first = std::find_if(first, columns.end(), isFollowed);
    if (first == columns.end())
      return;
    const auto last = std::find_if_not(first, columns.end(), isFollowed);
    const auto j = first - columns.begin();
    kJointsOf<T>[0][static_cast<std::size_t>(last - first) - 1](work, rows.tail, factors + j,
                                                                ofNext + j, columns.data() + j);
    first = last;
  }
}

template <class T>
ProductInLines<T> productOfRun(const ProductInLines<T> &work, const RowsInLines &run) {
  ProductInLines<T> result = work;
  result.a += run.inA;
  result.c += run.toC;
  return result;
}

/// The rows at one end of columns of which no others have the rest of a vector, in all runs.
template <class T>
void multiplyEndsOf(const ProductInLines<T> &work, const ColumnsInLines &columns, bool areHeads) {
  alignas(64) Factors<T> factors;
  for (const ColumnsInLines::Group &group : areHeads ? columns.heads() : columns.tails()) {
    const std::span<const Column> members = columns.columns(group);
    bool areThere = false; // The factors.
    for (const RowsInLines &run : work.runs) {
      const ProductInLines<T> ofRun = productOfRun(work, run);
      const RowsOfColumn<T> rows(work.rows, ofRun.c + members.front().toC);
      const int64_t count = areHeads ? rows.head : rows.tail;
      if (count == 0)
        continue;
      if (!areThere)
        gatherFactors(work, members, &Column::inB, factors.data());
      areThere = true;
      kEndsOf<T>[0][members.size() - 1](ofRun, areHeads ? 0 : rows.end, count, factors.data(),
                                        members.data());
    }
  }
}

/// Whether such a column, in any of the runs, ends in the midst of a vector.
template <class T> bool hasTails(const ProductInLines<T> &work, const Column &column) {
  return std::any_of(work.runs.begin(), work.runs.end(), [&](const RowsInLines &run) {
    return RowsOfColumn<T>(work.rows, work.c + run.toC + column.toC).tail > 0;
  });
}

/// Fetches what a group's factors will be gathered from.
template <class T>
void fetchFactors(const ProductInLines<T> &work, std::span<const Column> columns) {
  for (const Column &column : columns)
    for (int64_t k = 0; k < work.k; k += kCacheLine<T>)
      prefetchToUse(work.b + column.inB * work.bN + k);
}

} // namespace

template <class T>
void multiplyInLines(const ProductInLines<T> &work, const ColumnsInLines &columns) noexcept {
  alignas(64) std::array<Factors<T>, 2> factors;
  const auto groups = columns.groups();
  bool areThere = false; // The factors, as those of the next columns before.
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::span<const Column> members = columns.columns(groups[g]);
    T *const ofGroup = factors[g % 2].data(), *const ofNext = factors[(g + 1) % 2].data();
    if (!areThere)
      gatherFactors(work, members, &Column::inB, ofGroup);
    areThere = groups[g].comesNext;
    if (areThere)
      gatherFactors(work, columns.columns(groups[g + 1]), &Column::inB, ofNext);
    else if (hasTails(work, members.front()))
      gatherFactors(work, members, &Column::next, ofNext);
    if (g + 2 < groups.size())
      fetchFactors(work, columns.columns(groups[g + 2]));
    for (const RowsInLines &run : work.runs)
      multiplyWhole(productOfRun(work, run), ofGroup, ofNext, members);
  }
  multiplyEndsOf(work, columns, true);
  multiplyEndsOf(work, columns, false);
}

template void multiplyInLines(const ProductInLines<float> &, const ColumnsInLines &) noexcept;
template void multiplyInLines(const ProductInLines<double> &, const ColumnsInLines &) noexcept;

} // namespace einsumc
