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

/// The most vectors of m that a block in registers of multiplyPanels has.
inline constexpr int kMostPanelBlock = 8;

/// Vectorised over m, with blocks of m x n in registers. \pre aM == 1 and cM == 1
template <class T> void multiplyPanels(const TileShape &s, const T *a, const T *b, T *c) noexcept;

/// The same with B in panels. \pre aM == 1 and cM == 1, and there is one c
template <class T>
void multiplyColumnPanels(const TileShape &s, const T *a, const T *b, T *c) noexcept;

/// Vectorised over c, with blocks of m x n in registers. \pre aC == 1, bC == 1 and cC == 1
template <class T> void multiplyBatch(const TileShape &s, const T *a, const T *b, T *c) noexcept;

/// Rows of A, each times one element of B. \pre aM == 1, cM == 1, and n and k are 1
template <class T> void multiplyScaled(const TileShape &s, const T *a, const T *b, T *c) noexcept;

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

} // namespace einsumc

#endif // EINSUMC_RUNTIME_TILEFUNCTIONS_H
