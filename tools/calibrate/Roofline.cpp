//===- Roofline.cpp - what the machine can do at this moment ----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "Roofline.h"

#include "../../runtime/SimdVector.h"
#include "Timing.h"

#include <omp.h>

#include <algorithm>

namespace einsumc::measure {

template <class T> double peakFlops(const Effort &effort) {
  // Independent chains of multiply-adds in registers, enough to cover their latency.
  constexpr int kChains = 10;
  constexpr int64_t kSteps = 10'000;
  using Vector = simd::Vector<T>;
  const double seconds = teamSecondsOf(
      [] {
        return [] {
          Vector sums[kChains] = {};
          for (Vector &sum : sums)
            asm volatile("" : "+x"(sum)); // Chains that are known to be equal become one.
          Vector factor = Vector{} + T(0.999);
          Vector term = Vector{} + T(0.001);
          for (int64_t step = 0; step < kSteps; ++step) {
            asm volatile("" : "+x"(factor), "+x"(term)); // No step is known from the one before.
#pragma GCC unroll 10
            for (Vector &sum : sums)
              sum = sum * factor + term;
          }
          for (Vector &sum : sums)
            asm volatile("" : : "x"(sum)); // The sums are needed.
        };
      },
      effort);
  return 2.0 * kChains * kSteps * simd::kLanes<T> * omp_get_max_threads() / seconds;
}

template double peakFlops<float>(const Effort &effort);
template double peakFlops<double>(const Effort &effort);

double triadBandwidth(int64_t bytes, const Effort &effort) {
  const int64_t elements = std::max<int64_t>(bytes / (3 * int64_t{sizeof(float)}), 64);
  const double seconds = teamSecondsOf(
      [&] {
        return [a = Array<float>(elements), b = Array<float>(elements), c = Array<float>(elements),
                elements] {
          float *const to = a.get();
          const float *const first = b.get();
          const float *const second = c.get();
#pragma omp simd
          for (int64_t i = 0; i < elements; ++i)
            to[i] = first[i] + 3.0F * second[i];
          asm volatile("" : : "r"(to) : "memory"); // Every pass counts.
        };
      },
      effort);
  return 3.0 * static_cast<double>(elements) * sizeof(float) * omp_get_max_threads() / seconds;
}

} // namespace einsumc::measure
