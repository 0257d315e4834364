//===- CommunicationBound.cpp - how little a contraction can send -----------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/CommunicationBound.h"

#include "compiler/ir/Schedule.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

namespace einsumc {

double communicationBound(const Tree &tree, NodeId node, int64_t ranks) {
  if (tree.node(node).kind != NodeKind::Product)
    return 0;
  std::array<double, 4> products = {1, 1, 1, 1}; // By class.
  for (const DimId dim : tree.iterationDims(node))
    products[static_cast<std::size_t>(classOf(tree, node, dim))] *=
        static_cast<double>(tree.dim(dim).extent);
  const double p = static_cast<double>(ranks) / products[static_cast<std::size_t>(DimClass::C)];
  if (p <= 1)
    return 0;
  std::array<double, 3> d = {products[1], products[2], products[3]};
  std::sort(d.begin(), d.end(), std::greater<>());
  const double share = (d[0] * d[1] + d[0] * d[2] + d[1] * d[2]) / p;
  double elements = 0;
  if (p <= d[0] / d[1])
    elements = d[1] * d[2] * (1 - 1 / p);
  else if (p <= d[0] * d[1] / (d[2] * d[2]))
    elements = 2 * std::sqrt(d[0] * d[1] * d[2] * d[2] / p) + d[0] * d[1] / p - share;
  else
    elements = 3 * std::pow(d[0] * d[1] * d[2] / p, 2.0 / 3) - share;
  return std::max(elements, 0.0) * static_cast<double>(sizeInBytes(tree.elementType()));
}

} // namespace einsumc
