//===- AlgorithmText.h - algorithms as users name them ----------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_ALGORITHMTEXT_H
#define EINSUMC_PLAN_ALGORITHMTEXT_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace einsumc {

/// A name with what it leaves open: `ring_m(dim=i,t=j,pace=2)`, `summa(grid=2x3,dim=i+j)`. What is
/// empty is chosen by the compiler.
struct AlgorithmText {
  std::string name;
  std::vector<std::string> dims;   ///< the loop dim of each axis
  std::vector<std::string> chunks; ///< of each axis whose traveller moves: the dim that cuts it
  std::vector<int64_t> grid;       ///< the extent of each axis
  int64_t pace = 0;                ///< parts of a chunk; 0: chosen
};

/// Reads such a text; on failure what is wrong with it. Names are not looked up.
std::variant<AlgorithmText, std::string> parseAlgorithm(llvm::StringRef text);

} // namespace einsumc

#endif // EINSUMC_PLAN_ALGORITHMTEXT_H
