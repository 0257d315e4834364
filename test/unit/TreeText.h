//===- TreeText.h - trees from the text of a test ---------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_TEST_TREETEXT_H
#define EINSUMC_TEST_TREETEXT_H

#include "compiler/frontend/ReadEin.h"
#include "compiler/order/GreedyOrder.h"
#include "compiler/order/Normalise.h"

#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace einsumc {

/// The tree of a file in the einsum language, in contractions of two operands.
/// \throws std::runtime_error where the text has mistakes
inline Tree treeOf(const std::string &text) {
  Diagnostics diagnostics(llvm::errs());
  const std::optional<Tree> tree = readEin(diagnostics.addText("t.ein", text), diagnostics);
  if (!tree)
    throw std::runtime_error(text);
  return *orderGreedily(normalise(*tree), diagnostics);
}

template <class T> T pick(std::mt19937 &random, const std::vector<T> &from) {
  return from[std::uniform_int_distribution<std::size_t>(0, from.size() - 1)(random)];
}

/// Dims a, b, ... of extents that are drawn from some.
inline std::string randomDims(std::mt19937 &random, int count, const std::vector<int> &extents) {
  std::string text = "dim ";
  for (char dim = 'a'; dim < 'a' + count; ++dim)
    text +=
        std::string(dim == 'a' ? "" : ", ") + dim + " = " + std::to_string(pick(random, extents));
  return text + "; ";
}

} // namespace einsumc

#endif // EINSUMC_TEST_TREETEXT_H
