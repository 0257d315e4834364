//===- SteppingSchedules.h - all stepping loops of a small product ----------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_TEST_UNIT_STEPPINGSCHEDULES_H
#define EINSUMC_TEST_UNIT_STEPPINGSCHEDULES_H

#include "compiler/frontend/ReadEin.h"
#include "compiler/ir/Schedule.h"
#include "compiler/order/GreedyOrder.h"
#include "compiler/order/Normalise.h"
#include "compiler/support/Diagnostics.h"

#include <optional>
#include <vector>

namespace einsumc::test {

/// A product of two batches of matrices, node 2; no extent divides evenly.
inline Tree batchedProduct() {
  Diagnostics diagnostics(llvm::errs());
  const std::optional<Tree> tree =
      readEin(diagnostics.addText("c.ein", "dim b = 3, m = 53, n = 29, k = 37; input A[b, m, k];"
                                           "input B[b, k, n];"
                                           "output C[b, m, n] = A[b, m, k] * B[b, k, n];"),
              diagnostics);
  return *orderGreedily(normalise(*tree), diagnostics);
}

/// Calls visit(stepping, schedule) for the valid schedules with stepping loops on a grid whose
/// travellers have up to three positions, all loop dims, movements and some paces.
template <class Visit>
void forEachLoop(const Tree &tree, NodeId node, const Grid &grid, Visit &&visit) {
  std::vector<AxisSchedule> options;
  for (const DimId dim : tree.iterationDims(node)) {
    options.push_back({dim, copied(), Movement::None, 1});
    options.push_back({dim, partial(), Movement::None, 1});
    options.push_back({dim, atRoot(), Movement::Stream, 2});
    for (const Movement movement : {Movement::Ring, Movement::Bcast, Movement::Get})
      for (int position = 0; position < 3; ++position)
        for (const int64_t pace : {1, 2, 5})
          options.push_back({dim, split(position, 1), movement, pace});
  }
  NodeSchedule on{grid, {}};
  auto add = [&](auto &&addNext) -> void {
    if (on.axes.size() < grid.extents.size()) {
      for (const AxisSchedule &option : options) {
        on.axes.push_back(option);
        addNext(addNext);
        on.axes.pop_back();
      }
    } else if (checkNodeSchedule(tree, node, on, grid.size()).empty()) {
      if (const std::optional<Stepping> stepping = steppingOf(tree, node, on))
        visit(*stepping, on);
    }
  };
  add(add);
}

} // namespace einsumc::test

#endif // EINSUMC_TEST_UNIT_STEPPINGSCHEDULES_H
