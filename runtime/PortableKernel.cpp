//===- PortableKernel.cpp - tile products in plain C++ ----------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "PortableKernel.h"

#include "SimdVector.h"

namespace einsumc {

namespace {

/// Extents from which on a packed element is used often enough to pay for packing it.
constexpr int64_t kPacking = 8;

} // namespace

TileShape exchangeOperands(const TileShape &s) {
  TileShape result = s;
  result.m = s.n, result.n = s.m;
  result.aC = s.bC, result.aM = s.bN, result.aK = s.bK;
  result.bC = s.aC, result.bN = s.aM, result.bK = s.aK;
  result.cM = s.cN, result.cN = s.cM;
  result.bFetched = result.aFetched = false;
  result.aAhead = result.bAhead = 0;
  return result;
}

bool shouldExchange(const TileShape &s) {
  const bool isMRow = isRow(s.m, s.cM), isNRow = isRow(s.n, s.cN);
  return isMRow != isNRow ? isNRow : s.m == 1 && s.n > 1;
}

template <class T> TileFunction<T> portableTile(const TileShape &s) {
  if (isRow(s.m, s.aM) && s.cM == 1) {
    const bool areLongRows = s.n == 1 && s.k == 1 && s.m > kMostPanelBlock * simd::kLanes<T>;
    return areLongRows ? multiplyScaled<T> : multiplyPanels<T>;
  }
  if (isRow(s.c, s.aC) && s.bC == 1 && s.cC == 1)
    return multiplyBatch<T>;
  const bool isPackable = s.m >= kPacking && s.n >= kPacking;
  if (isRow(s.k, s.aK) && s.bK == 1 && !isPackable)
    return multiplyDots<T>;
  return isPackable ? multiplyPacked<T> : multiplyPlain<T>;
}

template TileFunction<float> portableTile<float>(const TileShape &);
template TileFunction<double> portableTile<double>(const TileShape &);

} // namespace einsumc
