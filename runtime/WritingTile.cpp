//===- WritingTile.cpp - a tile product that writes the tile before it ------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
// Blocks of some vectors of m by some columns of n are summed over k in registers. A processor has
// few places for lines on their way to memory, and computes nothing while it waits for one: so a
// line of the tile before is written every few steps of the sums, as many as spread them evenly
// over the product.
//
//===------------------------------------------------------------------------------------------===//

#include "WritingTile.h"

#include "EvenPieces.h"
#include "RegisterBlock.h"

#include <algorithm>

namespace einsumc {

namespace {

/// Steps of the sums after which lines are written.
constexpr int64_t kPace = 12;
/// The most columns that a block in registers has.
constexpr int kMostInBlock = 12;

constexpr int64_t columnsFor(int64_t vectors) {
  return std::min<int64_t>(kMostInBlock, simd::kSums / vectors);
}

int64_t lengthOf(std::span<const tiles::Run> runs) { return runs.back().at + runs.back().length; }

} // namespace

template <class T>
bool TileWriter<T>::canWrite(std::span<const tiles::Run> rows, std::span<const tiles::Run> columns,
                             int64_t length) {
  return lengthOf(rows) <= kMostRows && lengthOf(columns) <= kMostColumns &&
         rows.size() * columns.size() <= kMostPieces &&
         (length == 0 || std::all_of(rows.begin(), rows.end(),
                                     [&](const tiles::Run &run) { return run.length == length; }));
}

//===- Lines on their way ---------------------------------------------------------------------===//

/// Has the waiting tile written during so many steps: at once what pieces have of the lines at
/// their ends, line by line the rest.
template <class T> void TileWriter<T>::beginWriting(int64_t steps) {
  Slot &slot = slots[current];
  int64_t vectors = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < slot.count; ++i) {
    Piece &at = slot.pieces[i];
    if (at.jump == 0)
      writeEnds(at);
    else
      writeColumnEnds(at);
    vectors += at.count;
    if (at.count > 0)
      slot.pieces[count++] = at;
  }
  slot.count = count;
  pace = std::min(kPace, steps);
  atOnce = roundUp(ceilDiv(vectors * pace, steps), kVectorsOfLine);
  piece = 0;
  left = count > 0 ? slot.pieces[0] : Piece();
}

/// Leaves the whole lines of a piece without gaps, counted in vectors.
template <class T> void TileWriter<T>::writeEnds(Piece &at) {
  const int64_t head = std::min((kLine - pastLine(at.to)) % kLine, at.count);
  const int64_t whole = (at.count - head) / kLine;
  copyElements(at, head);
  Piece end = at;
  end.to += whole * kLine;
  end.row += whole * kLine;
  end.from += end.row / end.run * kMostRows;
  end.row %= end.run;
  copyElements(end, at.count - head - whole * kLine);
  at.count = whole * kVectorsOfLine;
}

template <class T> void TileWriter<T>::copyElements(Piece &at, int64_t elements) {
  for (int64_t i = 0; i < elements; ++i) {
    *at.to++ = at.from[at.row++];
    if (at.row == at.run) {
      at.row = 0;
      at.from += kMostRows;
    }
  }
}

/// Leaves the whole vectors of columns, if these are aligned.
template <class T> void TileWriter<T>::writeColumnEnds(Piece &at) {
  const int64_t columns = at.count / at.run, stride = at.run + at.jump;
  const bool isAligned = reinterpret_cast<std::uintptr_t>(at.to) % simd::kVectorBytes == 0;
  const int64_t whole = isAligned ? at.run / kLanes * kLanes : 0;
  if (whole < at.run)
    for (int64_t column = 0; column < columns; ++column)
      std::copy(at.from + column * kMostRows + whole, at.from + column * kMostRows + at.run,
                at.to + column * stride + whole);
  at.count = columns * whole / kLanes;
  at.run = whole;
  at.jump = stride - whole;
}

/// Writes some lines, if any are left, and returns after how many of \p steps the next are due.
/// Inlined, as the sums of a block are in all of the registers.
template <class T> [[gnu::always_inline]] inline int64_t TileWriter<T>::write(int64_t steps) {
  if (left.count == 0)
    return steps;
  const int64_t count = std::min(atOnce, left.count), run = left.run, jump = left.jump;
  T *to = left.to;
  const T *from = left.from;
  int64_t row = left.row;
  for (int64_t i = count; i > 0; --i) {
    simd::Vector<T> vector = simd::load(from + row);
    T *const target = to;
    to += kLanes;
    for (row += kLanes; row >= run; to += jump) {
      row -= run; // Elements of the next column.
      from += kMostRows;
      vector = simd::loadBehind<T>(vector, from - (kLanes - row), kLanes - row);
    }
    simd::storePastCaches(target, vector);
  }
  left = {to, from, left.count - count, run, row, jump};
  if (left.count == 0 && ++piece < slots[current].count)
    left = slots[current].pieces[piece];
  return std::min(pace, steps);
}

template <class T> void TileWriter<T>::finish() noexcept {
  beginWriting(1);
  while (left.count > 0)
    write(1);
  slots[current].count = 0;
}

//===- Products -------------------------------------------------------------------------------===//

/// A block in registers; its last vector has \p tail elements.
template <class T>
template <int Vectors, int Columns, bool HasTail>
void TileWriter<T>::sumBlock(const WritingTile<T> &tile, const T *b, T *to, int tail,
                             TileWriter &writer) {
  const simd::LaneMask<T> mask(tail);
  const int64_t aK = tile.aK, bN = tile.bN;
  RegisterBlock<T, Vectors, Columns> sums = {};
  const T *row = tile.a;
  for (int64_t left = tile.k; left > 0;) {
    int64_t steps = writer.write(left);
    left -= steps;
    for (; steps > 0; --steps, row += aK, ++b)
      addProduct<HasTail, T, Vectors, Columns>(sums, row, mask, [&](int j) { return b[j * bN]; });
  }
  putSums<false, false, T, Vectors, Columns>(sums, mask, [&](int j) { return to + j * kMostRows; });
}

template <class T> template <bool HasTail> const auto &TileWriter<T>::blocks() {
  static constexpr auto kTable = tableOfBlocks<Block, kMostVectors, kMostInBlock>(
      []<int Vectors, int Columns>() { return sumBlock<Vectors, Columns, HasTail>; });
  return kTable;
}

/// Where the results of a tile go from a slot.
template <class T> void TileWriter<T>::place(const WritingTile<T> &tile, Slot &slot) {
  slot.count = 0;
  for (const tiles::Run &columns : tile.columns)
    for (const tiles::Run &rows : tile.rows) {
      T *const to = tile.c + rows.toC + columns.toC;
      const int64_t count = rows.length * columns.length, jump = tile.columnStride - rows.length;
      slot.pieces[slot.count++] = {
          to, slot.elements + columns.at * kMostRows + rows.at, count, rows.length, 0, jump};
      if (jump == 0) {
        fetchEnd(to);
        fetchEnd(to + count);
      }
    }
}

template <class T> void TileWriter<T>::multiply(const WritingTile<T> &tile) noexcept {
  const int64_t m = lengthOf(tile.rows), vectors = ceilDiv(m, kLanes);
  const int tail = tile.hasPadding ? kLanes : static_cast<int>(m - (vectors - 1) * kLanes);
  const Block *const ofVectors =
      (tail < kLanes ? blocks<true>() : blocks<false>())[static_cast<std::size_t>(vectors - 1)]
          .data();
  const EvenPieces columns(lengthOf(tile.columns), columnsFor(vectors));
  beginWriting(columns.pieces * tile.k);
  Slot &slot = slots[1 - current];
  place(tile, slot);
  columns.forEach([&](int64_t column, int64_t count) {
    ofVectors[count - 1](tile, tile.b + column * tile.bN, slot.elements + column * kMostRows, tail,
                         *this);
  });
  while (left.count > 0)
    write(1);
  current = 1 - current;
}

template class TileWriter<float>;
template class TileWriter<double>;

} // namespace einsumc
