//===- roofline.cpp - what the machine can do at this moment ----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
// Prints one JSON object: the peak of fused multiply-adds (flops a second, f32 and f64) and the
// bandwidth of the triad a = b + s * c (bytes a second, each array counted once) of a team of
// OMP_NUM_THREADS threads, each the best of several short runs.
//
//===------------------------------------------------------------------------------------------===//

#include "../../runtime/SimdVector.h"

#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>

using namespace einsumc;

namespace {

constexpr int kRounds = 5;

/// The largest of several results.
template <class Measure> double best(Measure measure) {
  double result = 0;
  for (int round = 0; round < kRounds; ++round)
    result = std::max(result, measure());
  return result;
}

/// Independent chains of multiply-adds in registers, enough to cover their latency.
template <class T> double peakFlops() {
  constexpr int kChains = 10;
  constexpr int64_t kSteps = 3'000'000;
  using Vector = simd::Vector<T>;
  return best([] {
    const double start = omp_get_wtime();
    int team = 1;
    T kept = 0;
#pragma omp parallel reduction(+ : kept)
    {
#pragma omp single
      team = omp_get_num_threads();
      Vector sums[kChains] = {};
      Vector factor = Vector{} + T(0.999);
      Vector term = Vector{} + T(0.001);
      for (int64_t step = 0; step < kSteps; ++step) {
        asm volatile("" : "+x"(factor), "+x"(term)); // No step is known from the one before.
#pragma GCC unroll 10
        for (Vector &sum : sums)
          sum = sum * factor + term;
      }
      for (const Vector &sum : sums)
        kept += sum[0];
    }
    const double seconds = omp_get_wtime() - start;
    if (kept == T(42))
      std::puts("");
    return 2.0 * kChains * kSteps * simd::kLanes<T> * team / seconds;
  });
}

double triadBandwidth() {
  constexpr int64_t kElements = 32 << 20; // 128 MiB an array: more than any cache
  const auto allocate = [] {
    std::unique_ptr<float[]> array(new float[kElements]);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < kElements; ++i)
      array[static_cast<std::size_t>(i)] = 1;
    return array;
  };
  const auto aOwner = allocate(), bOwner = allocate(), cOwner = allocate();
  float *const a = aOwner.get();
  const float *const b = bOwner.get();
  const float *const c = cOwner.get();
  return best([&] {
    const double start = omp_get_wtime();
#pragma omp parallel for simd schedule(static)
    for (int64_t i = 0; i < kElements; ++i)
      a[i] = b[i] + 3.0F * c[i];
    return 3.0 * kElements * sizeof(float) / (omp_get_wtime() - start);
  });
}

} // namespace

int main() {
  std::printf("{\"peak_f32\": %.4g, \"peak_f64\": %.4g, \"triad\": %.4g}\n", peakFlops<float>(),
              peakFlops<double>(), triadBandwidth());
}
