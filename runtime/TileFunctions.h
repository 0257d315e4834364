//===- TileFunctions.h - tile products, each vectorised over another role ---------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_TILEFUNCTIONS_H
#define EINSUMC_RUNTIME_TILEFUNCTIONS_H

#include "einsumc/TileKernel.h"

#include <cstdint>

namespace einsumc {

/// Computes the product of a shape with no extent of 0.
template <class T>
using TileFunction = void (*)(const TileShape &s, const T *a, const T *b, T *c) noexcept;

/// Vectorised over m, with blocks of m x n in registers. \pre aM == 1 and cM == 1
template <class T> void multiplyPanels(const TileShape &s, const T *a, const T *b, T *c) noexcept;

/// Vectorised over c, with blocks of m x n in registers. \pre aC == 1, bC == 1 and cC == 1
template <class T> void multiplyBatch(const TileShape &s, const T *a, const T *b, T *c) noexcept;

/// Vectorised over k, with blocks of m x n in registers. \pre aK == 1 and bK == 1
template <class T> void multiplyDots(const TileShape &s, const T *a, const T *b, T *c) noexcept;

/// Any strides: packs blocks of A, and of C when it has to, for multiplyPanels.
template <class T> void multiplyPacked(const TileShape &s, const T *a, const T *b, T *c) noexcept;

/// Any strides, element by element: for tiles with too little to do for anything else.
template <class T> void multiplyPlain(const TileShape &s, const T *a, const T *b, T *c) noexcept;

/// A loop around a block in registers, done inside it because a call costs as much as a small
/// block.
struct BlockLoop {
  int64_t count, a, b, c;
};

/// An extent cut into pieces of at most some size, as even as can be: the first `longer` pieces
/// have `size + 1` elements, the others `size`.
struct EvenPieces {
  EvenPieces(int64_t extent, int64_t most) {
    if (extent > most) { // small tiles must not wait for divisions
      pieces = (extent + most - 1) / most;
      size = extent / pieces;
      longer = extent % pieces;
    } else {
      size = extent;
    }
  }

  /// Calls body(begin, size) for every piece.
  template <class Body> void forEach(Body &&body) const {
    int64_t begin = 0;
    for (int64_t i = 0; i < pieces; ++i) {
      const int64_t mine = size + (i < longer ? 1 : 0);
      body(begin, mine);
      begin += mine;
    }
  }

  int64_t largest() const { return size + (longer > 0 ? 1 : 0); }

  int64_t pieces = 1, size = 0, longer = 0;
};

} // namespace einsumc

#endif // EINSUMC_RUNTIME_TILEFUNCTIONS_H
