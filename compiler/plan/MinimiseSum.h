//===- MinimiseSum.h - choices that depend on few others, the cheapest together ---------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_MINIMISESUM_H
#define EINSUMC_PLAN_MINIMISESUM_H

#include <cstddef>
#include <vector>

namespace einsumc {

/// A term of a sum: what it costs by the choices made for a few variables.
struct CostTable {
  std::vector<std::size_t> variables; ///< distinct
  /// One value for each combination of choices, the last variable's choice the fastest.
  std::vector<double> values;
};

/// How far to search, in entries of joint tables.
struct SearchLimits {
  std::size_t largestTable = std::size_t{1} << 14;
  std::size_t mostWork = std::size_t{1} << 25; ///< to try choices of what is held
};

/// The choice for every variable with which the sum of the tables is least, by bucket elimination
/// (R. Dechter, "Bucket elimination: a unifying framework for reasoning", Artificial Intelligence
/// 113, 1999): of the variables left, the one whose tables together are the smallest is minimised
/// out of them. On the tables of a tree this is dynamic programming from the leaves to the root.
///
/// The result is exact as long as no joint table exceeds the limit. Where one would, the variable
/// with the most neighbours is held, and all choices of what is held are tried, each with the
/// others eliminated (cutset conditioning), if that is not too much work: then the result is exact,
/// too. Else the held variables are improved one by one, from choices 0 and from those that would
/// be best if all neighbours suited them; the sum never exceeds that of choices 0.
///
/// Of equal sums the smaller choice of each variable wins, so that ties go to choices 0.
/// \param choices how many each variable has, at least 1
std::vector<std::size_t> minimiseSum(const std::vector<std::size_t> &choices,
                                     const std::vector<CostTable> &tables,
                                     const SearchLimits &limits = {});

} // namespace einsumc

#endif // EINSUMC_PLAN_MINIMISESUM_H
