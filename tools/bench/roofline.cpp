//===- roofline.cpp - what the machine can do at this moment ----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
// Prints one JSON object: the peak of fused multiply-adds (flops a second, f32 and f64) and the
// bandwidth of the triad a = b + s * c from memory (bytes a second, each array counted once) of a
// team of OMP_NUM_THREADS threads, each the best of several short runs.
//
//===------------------------------------------------------------------------------------------===//

#include "../calibrate/Roofline.h"
#include "../../runtime/TeamBinding.h"

#include <omp.h>

#include <cstdio>

using namespace einsumc;
using namespace einsumc::measure;

int main() {
  const TeamBinding binding(coresOfThreads(omp_get_max_threads())); // As programs do.
  constexpr Effort kEffort = {0.005, 5};
  const int64_t bytes = (int64_t{384} << 20) / omp_get_max_threads(); // more than any cache holds
  std::printf("{\"peak_f32\": %.4g, \"peak_f64\": %.4g, \"triad\": %.4g}\n",
              peakFlops<float>(kEffort), peakFlops<double>(kEffort),
              triadBandwidth(bytes, kEffort));
}
