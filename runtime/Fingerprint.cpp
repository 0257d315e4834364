//===- Fingerprint.cpp - whether a block has changed ------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "Fingerprint.h"

#include "LocalSums.h"

#include <bit>

namespace einsumc {

namespace {

template <class Bits, class T> uint64_t fingerprintOf(std::span<const T> elements) {
  uint64_t sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (std::size_t i = 0; i < elements.size(); ++i)
    sum += mixBits(mixBits(i) ^ std::bit_cast<Bits>(elements[i]));
  return sum;
}

} // namespace

uint64_t fingerprint(const TensorView &view) {
  return view.dtype == DType::F32 ? fingerprintOf<uint32_t, float>(view.elements<float>())
                                  : fingerprintOf<uint64_t, double>(view.elements<double>());
}

} // namespace einsumc
