//===- PassTimer.h - how long every pass took -------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_TOOLS_PASSTIMER_H
#define EINSUMC_TOOLS_PASSTIMER_H

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace einsumc {

/// Runs passes and, if asked to, prints on stderr at the end how long each took.
class PassTimer {
public:
  explicit PassTimer(bool enabled) : enabled(enabled) {}
  ~PassTimer() {
    if (!enabled)
      return;
    double total = 0;
    for (const auto &[name, seconds] : passes) {
      llvm::errs() << llvm::format("%10.3f ms  ", seconds * 1e3) << name << "\n";
      total += seconds;
    }
    llvm::errs() << llvm::format("%10.3f ms  total\n", total * 1e3);
  }
  PassTimer(const PassTimer &) = delete;
  PassTimer &operator=(const PassTimer &) = delete;

  template <class Pass> auto run(const char *name, Pass &&pass) {
    const auto start = std::chrono::steady_clock::now();
    auto result = pass();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    passes.emplace_back(name, seconds.count());
    return result;
  }

private:
  bool enabled;
  std::vector<std::pair<std::string, double>> passes;
};

} // namespace einsumc

#endif // EINSUMC_TOOLS_PASSTIMER_H
