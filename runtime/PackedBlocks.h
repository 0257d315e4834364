//===- PackedBlocks.h - two packed blocks and the block of C that they are multiplied into ----===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_PACKEDBLOCKS_H
#define EINSUMC_RUNTIME_PACKEDBLOCKS_H

#include <cstdint>

namespace einsumc {

/// C = A * B for blocks that lie as kernels for columns of C go through them.
template <class T> struct PackedBlocks {
  int64_t rows = 0, k = 0; ///< of a column of C; sums
  const T *a = nullptr;    ///< contiguous along the rows
  int64_t aK = 0;          ///< elements between neighbours along k
  const T *b = nullptr;    ///< contiguous along k
  int64_t bN = 0;          ///< elements between columns
  T *c = nullptr;
};

} // namespace einsumc

#endif // EINSUMC_RUNTIME_PACKEDBLOCKS_H
