//===- EvenPieces.h - extents cut into pieces -------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_EVENPIECES_H
#define EINSUMC_RUNTIME_EVENPIECES_H

#include <cstdint>

namespace einsumc {

constexpr int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t roundUp(int64_t a, int64_t unit) { return ceilDiv(a, unit) * unit; }

/// An extent cut into pieces of at most some size, as even as can be: the first `longer` pieces
/// have `size + 1` elements, the others `size`.
struct EvenPieces {
  EvenPieces(int64_t extent, int64_t most) {
    if (extent > most) { // small tiles must not wait for divisions
      pieces = ceilDiv(extent, most);
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

#endif // EINSUMC_RUNTIME_EVENPIECES_H
