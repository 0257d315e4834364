//===- PieceTable.h - copies of pieces in several short loops ---------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_PIECETABLE_H
#define EINSUMC_RUNTIME_PIECETABLE_H

#include "CopyKernels.h"
#include "CopyLoops.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

namespace einsumc {

/// The inner part of a copy in which a few elements are neighbours in both tensors and the loops
/// around these are short, too: a list of where pieces lie, in the order of the target, as a call
/// of a kernel for a few pieces would take longer than they do.
template <class T> class PieceTable {
public:
  /// Whether the innermost loops of a nest are such, and a table is used several times.
  static bool isFor(const LoopNest &nest) noexcept {
    const auto loops = nest.loops();
    if (loops.size() < 3 || loops[0].to != 1 || loops[0].from != 1 ||
        loops[0].extent > kMostUnrolled || loops[1].extent >= kShort)
      return false;
    int64_t pieces = 1;
    for (const Loop &loop : loops.subspan(1))
      pieces *= goesIn(loop, pieces) ? loop.extent : 1;
    return pieces >= kEnough && nest.steps() >= kUses * pieces * loops[0].extent;
  }

  /// Takes these loops out of the nest, and what other short ones there is room for.
  /// \pre they are such
  template <class Op>
  PieceTable(LoopNest &nest, Op /*operation*/) noexcept
      : PieceTable(nest, nest.take(0).extent, Op()) {}

  void copy(T *target, const T *source) const noexcept {
    kernel(target, source, to.data(), from.data(), {count, run});
  }

private:
  /// Pieces of a table; as many of them and so many uses as are worth making it; loops of fewer
  /// steps are short.
  static constexpr int64_t kMost = 256, kEnough = 16, kUses = 4, kShort = 16;

  /// Pieces, and so many of them after each other that are neighbours in the target.
  struct Counts {
    int64_t pieces, run;
  };

  using Kernel = void (*)(T *__restrict target, const T *__restrict source, const int64_t *to,
                          const int64_t *from, Counts counts) noexcept;

  template <class Op>
  PieceTable(LoopNest &nest, int64_t piece, Op /*operation*/) noexcept
      : kernel(kernelFor<Op>(piece)) {
    to[0] = from[0] = 0;
    bool isRun = true; // So far: neighbours in the target, with more behind each in the source.
    for (std::size_t d = 0; d < nest.loops().size();)
      if (goesIn(nest.loops()[d], count)) {
        const Loop loop = nest.take(d);
        isRun = isRun && loop.to == count * piece && loop.from >= piece;
        extend(loop);
        run = isRun ? count : run;
      } else {
        ++d;
      }
  }

  static bool goesIn(const Loop &loop, int64_t pieces) {
    return loop.extent < kShort && pieces * loop.extent <= kMost;
  }

  void extend(const Loop &loop) {
    for (int64_t i = count; i < count * loop.extent; ++i) {
      to[i] = to[i - count] + loop.to;
      from[i] = from[i - count] + loop.from;
    }
    count *= loop.extent;
  }

  /// Pieces of a run but its last are written as whole vectors: what these have beyond is
  /// overwritten by the next one. What they read is not behind the last one in the source.
  template <class Op, int Piece>
  static void copyPieces(T *__restrict target, const T *__restrict source, const int64_t *to,
                         const int64_t *from, Counts counts) noexcept {
    constexpr int kWhole = kInVectors<T, Piece>;
    for (int64_t i = 0; i < counts.pieces;) {
      if constexpr (Op::isIdempotent && kWhole > Piece)
        for (const int64_t last = i + counts.run - 1; i < last; ++i)
          std::memcpy(target + to[i], source + from[i], kWhole * sizeof(T));
      copyPiece<T, Op, Piece>(target + to[i], source + from[i]);
      ++i;
    }
  }

  template <class Op> static Kernel kernelFor(int64_t piece) {
    return [&]<int... E>(std::integer_sequence<int, E...>) {
      static constexpr Kernel kTable[] = {copyPieces<Op, E + 1>...};
      return kTable[piece - 1];
    }(std::make_integer_sequence<int, kMostUnrolled>());
  }

  Kernel kernel;
  int64_t count = 1, run = 1;
  std::array<int64_t, kMost> to, from; ///< by piece: where it begins
};

} // namespace einsumc

#endif // EINSUMC_RUNTIME_PIECETABLE_H
