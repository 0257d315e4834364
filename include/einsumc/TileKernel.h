//===- TileKernel.h - the product of two small strided tiles ----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_TILEKERNEL_H
#define EINSUMC_TILEKERNEL_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace einsumc {

/// Extents and strides (in elements) of one tile product
///   C[c,m,n] = (accumulate ? C[c,m,n] : 0) + sum over k of A[c,m,k] * B[c,k,n].
struct TileShape {
  int64_t c = 1, m = 1, n = 1, k = 1;
  int64_t aC = 0, aM = 0, aK = 0;
  int64_t bC = 0, bK = 0, bN = 0;
  int64_t cC = 0, cM = 0, cN = 0;
  bool accumulate = false;
  /// C is too large to be found in a cache later: kernels that do little else than write it do so
  /// past the caches, unless they accumulate. endStoresPastCaches must follow.
  bool pastCaches = false;
  /// B lies in panels, one after the other, of tiles::kPanelColumns columns: these side by side for
  /// every k. bK and bN mean nothing then, A and C are contiguous along m, and there is one c.
  bool bInPanels = false;
  /// B comes from memory: kernels of no more rows than a vector has fetch its next columns while
  /// they compute, also where these rows are the rest of more.
  bool bFetched = false;
  /// Of a ReorderingKernel's dots of several rows and columns, which fetch such operands, and may
  /// know how far from this product's those of the next one begin; else 0.
  bool aFetched = false;
  int64_t aAhead = 0, bAhead = 0;
};

/// Must follow on each thread that wrote past the caches, before other threads may read it.
void endStoresPastCaches() noexcept;

/// A kernel for one shape, fetched (and generated) once. Copies are cheap. Where LIBXSMM has a
/// kernel for the shape it is used; else a portable one that vectorises over the role (m, n, c or
/// k) that is contiguous. Any strides and extents are right; an extent c, m or n of 0 does
/// nothing, an extent k of 0 zeroes C unless it accumulates.
template <class T> class TileKernel {
public:
  /// An empty kernel; must not be called.
  TileKernel() = default;
  explicit TileKernel(const TileShape &shape);

  /// Computes one tile on the calling thread. The tiles of C must not overlap A or B.
  void operator()(const T *a, const T *b, T *c) const noexcept { run(*this, a, b, c); }

  const TileShape &shape() const { return tile; }
  /// Whether LIBXSMM computes this tile.
  bool isJit() const { return jit != nullptr; }

private:
  using Run = void (*)(const TileKernel &, const T *, const T *, T *) noexcept;
  struct Runs;

  TileShape tile;
  TileShape work; ///< as the kernel sees it: A and B may be exchanged
  Run run = nullptr;
  void (*portable)(const TileShape &, const T *, const T *, T *) noexcept = nullptr;
  void (*jit)(const T *, const T *, T *) = nullptr; ///< LIBXSMM's function, for one c
};

/// The sizes of tiles that occur along one role of a loop nest: `tile` indices at a time out of
/// `extent`.
struct TileRange {
  int64_t tile = 1;
  int64_t extent = 1;
};

/// The kernels of one loop nest: up to two sizes a role (whole tiles and the remainder), each
/// once overwriting and once accumulating.
template <class T> class TileKernelSet {
public:
  TileKernelSet() = default;
  /// \param strides the strides of the tiles; its extents and `accumulate` are ignored.
  TileKernelSet(TileRange c, TileRange m, TileRange n, TileRange k, const TileShape &strides);

  /// The kernel for tiles of so many indices (not elements) along each role, which must be the
  /// whole tile or the remainder.
  const TileKernel<T> &select(int64_t c, int64_t m, int64_t n, int64_t k,
                              bool accumulate) const noexcept {
    return kernels[static_cast<std::size_t>(
        ((((c != tileC) * 2 + (m != tileM)) * 2 + (n != tileN)) * 2 + (k != tileK)) * 2 +
        accumulate)];
  }

private:
  int64_t tileC = 0, tileM = 0, tileN = 0, tileK = 0;
  std::vector<TileKernel<T>> kernels; ///< by select's index; empty where no such tile occurs
};

} // namespace einsumc

#endif // EINSUMC_TILEKERNEL_H
