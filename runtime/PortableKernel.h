//===- PortableKernel.h - tile products in plain C++ ------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_PORTABLEKERNEL_H
#define EINSUMC_RUNTIME_PORTABLEKERNEL_H

#include "TileFunctions.h"

namespace einsumc {

/// Whether a loop is worth vectorising: longer than 1, and through consecutive elements.
inline bool isRow(int64_t extent, int64_t stride) { return extent > 1 && stride == 1; }

/// The same product with A and B, and with them m and n, exchanged. \pre B is in no panels
TileShape exchangeOperands(const TileShape &shape);

/// Whether n, rather than m, is the role that kernels should go along.
bool shouldExchange(const TileShape &shape);

/// The function of plain C++ that suits \p shape best; it goes along m rather than n, so
/// exchange the operands first when that is better. \pre no extent is 0, and B is in no panels
template <class T> TileFunction<T> portableTile(const TileShape &shape);

} // namespace einsumc

#endif // EINSUMC_RUNTIME_PORTABLEKERNEL_H
