//===- Philox.h - reproducible random inputs --------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
// Philox4x32-10 of J. Salmon, M. Moraes, R. Dror and D. Shaw, "Parallel Random Numbers: As Easy as
// 1, 2, 3" (SC'11). docs/programs.md gives the same numbers in NumPy.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_PHILOX_H
#define EINSUMC_RUNTIME_PHILOX_H

#include "Region.h"
#include "einsumc/Program.h"

#include <array>
#include <cstdint>
#include <string_view>

namespace einsumc {

/// The four random words that belong to a counter and a key, least significant words first.
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

/// The 64-bit FNV-1a hash of a tensor's name, which tells the tensors' numbers apart.
uint64_t hashName(std::string_view name);

/// Fills this rank's block with numbers uniform in [-1, 1). An element depends on the seed, the
/// name and its row-major global index alone. The memory is first touched by the OpenMP team, each
/// thread a contiguous part.
/// \param region what the tensor is of the one whose indices count
void fillRandom(const TensorView &view, uint64_t seed, std::string_view name, const Region &region);
void fillRandom(const TensorView &view, uint64_t seed, std::string_view name);

} // namespace einsumc

#endif // EINSUMC_RUNTIME_PHILOX_H
