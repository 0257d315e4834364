//===- Finding.h - an error and how large it may be -------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_FINDING_H
#define EINSUMC_RUNTIME_FINDING_H

#include "einsumc/Program.h"

#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace einsumc {

struct Finding {
  double error = 0;
  double bound = 0;
  std::string where;

  bool passed() const { return std::isfinite(error) && error <= bound; }
  /// The error in units of its bound; infinite for a NaN.
  double severity() const {
    if (error == 0)
      return 0;
    const double ratio = error / bound;
    return std::isnan(ratio) ? std::numeric_limits<double>::infinity() : ratio;
  }
};

/// Keeps the worse of two findings.
inline void keepWorse(Finding &worst, Finding other) {
  if (worst.where.empty() || other.severity() > worst.severity())
    worst = std::move(other);
}

/// The relative precision of an element type: the gap between 1 and the next number.
inline double epsilonOf(DType dtype) {
  return dtype == DType::F32 ? std::numeric_limits<float>::epsilon()
                             : std::numeric_limits<double>::epsilon();
}

/// What a flush of subnormal numbers to zero may lose.
inline double tiniestOf(DType dtype) {
  return dtype == DType::F32 ? std::numeric_limits<float>::min()
                             : std::numeric_limits<double>::min();
}

} // namespace einsumc

#endif // EINSUMC_RUNTIME_FINDING_H
