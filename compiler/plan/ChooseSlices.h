//===- ChooseSlices.h - the dims along which a tree is evaluated part by part -----------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_CHOOSESLICES_H
#define EINSUMC_PLAN_CHOOSESLICES_H

#include "compiler/ir/Slices.h"

#include <functional>
#include <optional>

namespace einsumc {

/// What a tree takes with some slices.
struct SlicedCost {
  double bytes = 0;   ///< of the busiest rank
  double seconds = 0; ///< of all slices
};

/// The slices with which a tree that needs too much memory fits, or, if no dims help enough, those
/// with which it needs the least.
/// Greedy (J. Gray and S. Kourtis, "Hyper-optimized tensor network contraction", Quantum 5,
/// 2021): one more cut of a dim at a time, into the next number of parts that divides it; of
/// those that fit the fastest, else the one that saves the most bytes for the seconds that it
/// costs. Dims that outputs have are the outer loops, so that sums are held for one part of them
/// at a time.
/// \param whole bytes that it needs without slices
/// \param compared plans the tree with slices, as one of many that are compared with each other
/// \param bytes what the tree needs with slices that it is planned for with all care; called for a
/// few, since that takes long
Slices chooseSlices(const Tree &tree, double memory, double whole,
                    const std::function<SlicedCost(const Slices &)> &compared,
                    const std::function<double(const Slices &)> &bytes);

} // namespace einsumc

#endif // EINSUMC_PLAN_CHOOSESLICES_H
