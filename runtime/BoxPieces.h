//===- BoxPieces.h - large boxes in bounded pieces --------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_BOXPIECES_H
#define EINSUMC_RUNTIME_BOXPIECES_H

#include "einsumc/Layout.h"

#include <cstdint>
#include <vector>

namespace einsumc {

/// Cuts a box into boxes of at most \p maxVolume elements, in row-major order; the elements of a
/// piece, and the pieces one after the other, are contiguous in a row-major array of the box. No
/// pieces for an empty box.
/// \pre maxVolume >= 1
std::vector<Box> piecesOf(const Box &box, int64_t maxVolume);

} // namespace einsumc

#endif // EINSUMC_RUNTIME_BOXPIECES_H
