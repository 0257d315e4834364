//===- JitKernel.cpp - tile products that LIBXSMM generates -----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
// LIBXSMM's matrices are column-major: its rows are our consecutive role m.
//
//===------------------------------------------------------------------------------------------===//

#include "JitKernel.h"

#ifdef EINSUMC_WITH_LIBXSMM

#include <libxsmm.h>

#include <algorithm>
#include <limits>
#include <mutex>

namespace einsumc {

namespace {

/// A column-major matrix; a stride of a single row or column is chosen to suit.
struct Matrix {
  int64_t rows, columns, rowStride, leading;

  bool isUsable() const { return (rows == 1 || rowStride == 1) && leading >= rows; }
  int64_t elements() const { return leading * columns; }
};

Matrix makeMatrix(int64_t rows, int64_t columns, int64_t rowStride, int64_t columnStride) {
  return {rows, columns, rowStride, columns == 1 ? rows : columnStride};
}

/// Whether LIBXSMM 1.17, which computes them in 32 bits, gets the sizes of all matrices right.
bool isInRange(std::initializer_list<Matrix> matrices, std::size_t elementSize) {
  return std::all_of(matrices.begin(), matrices.end(), [&](const Matrix &matrix) {
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    return matrix.leading <= kMost && matrix.columns <= kMost &&
           matrix.elements() <= kMost / static_cast<int64_t>(elementSize);
  });
}

template <class T>
JitFunction<T> dispatch(const Matrix &a, const Matrix &b, const Matrix &c, bool isBTransposed,
                        bool accumulate) {
  static std::once_flag started;
  std::call_once(started, libxsmm_init);
  const auto m = static_cast<libxsmm_blasint>(c.rows), n = static_cast<libxsmm_blasint>(c.columns);
  const auto k = static_cast<libxsmm_blasint>(a.columns);
  const auto lda = static_cast<libxsmm_blasint>(a.leading);
  const auto ldb = static_cast<libxsmm_blasint>(b.leading);
  const auto ldc = static_cast<libxsmm_blasint>(c.leading);
  const T alpha = 1, beta = accumulate ? 1 : 0;
  const int flags = isBTransposed ? LIBXSMM_GEMM_FLAG_TRANS_B : LIBXSMM_GEMM_FLAG_NONE;
  const int prefetch = LIBXSMM_GEMM_PREFETCH_NONE;
  // LIBXSMM's type of function has room for operands to prefetch, which these do not take.
  if constexpr (sizeof(T) == sizeof(float))
    return reinterpret_cast<JitFunction<T>>(
        libxsmm_smmdispatch(m, n, k, &lda, &ldb, &ldc, &alpha, &beta, &flags, &prefetch));
  else
    return reinterpret_cast<JitFunction<T>>(
        libxsmm_dmmdispatch(m, n, k, &lda, &ldb, &ldc, &alpha, &beta, &flags, &prefetch));
}

} // namespace

template <class T> JitFunction<T> generateTile(const TileShape &s) {
  const Matrix a = makeMatrix(s.m, s.k, s.aM, s.aK), c = makeMatrix(s.m, s.n, s.cM, s.cN);
  const Matrix b = makeMatrix(s.k, s.n, s.bK, s.bN), bTransposed = makeMatrix(s.n, s.k, s.bN, s.bK);
  if (!a.isUsable() || !c.isUsable() || !isInRange({a, b, bTransposed, c}, sizeof(T)))
    return nullptr;
  if (b.isUsable())
    return dispatch<T>(a, b, c, false, s.accumulate);
  if (bTransposed.isUsable())
    return dispatch<T>(a, bTransposed, c, true, s.accumulate);
  return nullptr;
}

#else

namespace einsumc {

template <class T> JitFunction<T> generateTile(const TileShape & /*shape*/) { return nullptr; }

#endif

template JitFunction<float> generateTile<float>(const TileShape &);
template JitFunction<double> generateTile<double>(const TileShape &);

} // namespace einsumc
