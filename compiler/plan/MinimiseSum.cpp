//===- MinimiseSum.cpp - choices that depend on few others, the cheapest together -------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/MinimiseSum.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>

namespace einsumc {

namespace {

using Choices = std::vector<std::size_t>;
constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
constexpr int kRounds = 4;

/// How far apart a variable's choices are in a table; 0 if it is none of the table's.
std::size_t strideIn(const CostTable &table, const Choices &extents, std::size_t variable) {
  std::size_t stride = 1;
  for (std::size_t v : llvm::reverse(table.variables)) {
    if (v == variable)
      return stride;
    stride *= extents[v];
  }
  return 0;
}

/// Steps through all combinations of some variables' choices, and through the places of these in
/// several tables, with choice 0 of the tables' other variables.
class Combinations {
public:
  Combinations(const Choices &extents, std::vector<std::size_t> variables,
               const std::vector<const CostTable *> &tables)
      : extents(extents), variables(std::move(variables)), choice(this->variables.size()),
        places(tables.size()) {
    for (const CostTable *table : tables) {
      std::vector<std::size_t> strides;
      for (std::size_t v : this->variables)
        strides.push_back(strideIn(*table, extents, v));
      steps.push_back(std::move(strides));
    }
  }

  const std::vector<std::size_t> &at() const { return places; }
  std::size_t of(std::size_t variable) const { return choice[variable]; }

  /// The next combination, the last variable's choice the fastest; false after the last one.
  bool next() {
    for (std::size_t i = variables.size(); i-- > 0;) {
      const bool wraps = ++choice[i] == extents[variables[i]];
      for (std::size_t t = 0; t < places.size(); ++t)
        places[t] = wraps ? places[t] - (choice[i] - 1) * steps[t][i] : places[t] + steps[t][i];
      if (!wraps)
        return true;
      choice[i] = 0;
    }
    return false;
  }

private:
  const Choices &extents;
  std::vector<std::size_t> variables;
  Choices choice;
  std::vector<std::size_t> places;
  std::vector<std::vector<std::size_t>> steps; ///< by table, then by variable
};

/// The value of a table for some choices.
double lookUp(const CostTable &table, const Choices &extents, const Choices &chosen) {
  std::size_t place = 0;
  for (std::size_t v : table.variables)
    place = place * extents[v] + chosen[v];
  return table.values[place];
}

class Elimination {
public:
  Elimination(Choices extents, std::vector<CostTable> given, std::size_t largestTable)
      : extents(std::move(extents)), tables(std::move(given)), largestTable(largestTable),
        users(this->extents.size()), isLeft(this->extents.size(), true) {
    for (std::size_t t = 0; t < tables.size(); ++t)
      for (std::size_t v : tables[t].variables)
        users[v].insert(t);
    for (std::size_t v = 0; v < this->extents.size(); ++v)
      jointSizes.push_back(jointSize(v));
  }

  /// Chooses for all variables but the held ones, which keep their part of \p chosen: those of
  /// \p first, and as many more as it takes.
  void run(Choices &chosen, const std::vector<std::size_t> &first = {}) {
    for (std::size_t variable : first)
      hold(variable, chosen);
    for (std::size_t step = first.size(); step < extents.size(); ++step) {
      const std::size_t variable = smallestBucket();
      if (jointSizes[variable] <= largestTable)
        eliminate(variable);
      else
        hold(mostNeighbours(), chosen);
    }
    for (const Bucket &bucket : llvm::reverse(buckets)) {
      std::size_t place = 0;
      for (std::size_t v : bucket.scope)
        place = place * extents[v] + chosen[v];
      chosen[bucket.variable] = bucket.best[place];
    }
  }

  const std::vector<std::size_t> &heldVariables() const { return held; }
  /// Entries of the joint tables that were gone through.
  std::size_t work() const { return entries; }

private:
  /// A variable that is gone, and its best choice by those of its neighbours.
  struct Bucket {
    std::size_t variable;
    std::vector<std::size_t> scope;
    std::vector<std::size_t> best;
  };

  std::vector<std::size_t> neighbours(std::size_t variable) const {
    std::set<std::size_t> scope;
    for (std::size_t t : users[variable])
      scope.insert(tables[t].variables.begin(), tables[t].variables.end());
    scope.erase(variable);
    return {scope.begin(), scope.end()};
  }

  std::size_t jointSize(std::size_t variable) const {
    std::size_t product = extents[variable];
    for (std::size_t v : neighbours(variable))
      if (__builtin_mul_overflow(product, extents[v], &product))
        return kNone;
    return product;
  }

  /// The variable left with the least measure, the first of equals.
  template <class Measure> std::size_t best(Measure measure) const {
    std::size_t found = kNone;
    for (std::size_t v = 0; v < extents.size(); ++v)
      if (isLeft[v] && (found == kNone || measure(v) < measure(found)))
        found = v;
    return found;
  }
  std::size_t smallestBucket() const {
    return best([&](std::size_t v) { return jointSizes[v]; });
  }
  std::size_t mostNeighbours() const {
    return best([&](std::size_t v) { return -static_cast<int64_t>(neighbours(v).size()); });
  }

  void eliminate(std::size_t variable) {
    entries += jointSizes[variable];
    Bucket bucket{variable, neighbours(variable), {}};
    std::vector<const CostTable *> joined;
    for (std::size_t t : users[variable])
      joined.push_back(&tables[t]);
    std::vector<std::size_t> strides;
    for (const CostTable *table : joined)
      strides.push_back(strideIn(*table, extents, variable));
    CostTable rest{bucket.scope, {}};
    std::vector<double> sums(extents[variable]);
    Combinations combinations(extents, bucket.scope, joined);
    do {
      std::ranges::fill(sums, 0.0);
      for (std::size_t t = 0; t < joined.size(); ++t) {
        const double *const values = joined[t]->values.data() + combinations.at()[t];
        for (std::size_t choice = 0; choice < sums.size(); ++choice)
          sums[choice] += values[choice * strides[t]];
      }
      const auto least = std::ranges::min_element(sums); // The first of equals.
      rest.values.push_back(*least);
      bucket.best.push_back(static_cast<std::size_t>(least - sums.begin()));
    } while (combinations.next());
    buckets.push_back(std::move(bucket));
    replaceTables(variable, {std::move(rest)});
  }

  /// Leaves of the variable's tables what its choice so far selects.
  void hold(std::size_t variable, const Choices &chosen) {
    std::vector<CostTable> slices;
    for (std::size_t t : users[variable]) {
      CostTable slice;
      for (std::size_t v : tables[t].variables)
        if (v != variable)
          slice.variables.push_back(v);
      std::vector<std::size_t> all{variable};
      all.insert(all.end(), slice.variables.begin(), slice.variables.end());
      Combinations combinations(extents, all, {&tables[t]});
      std::size_t number = 0;
      std::size_t size = tables[t].values.size() / extents[variable];
      do {
        if (number / size == chosen[variable])
          slice.values.push_back(tables[t].values[combinations.at()[0]]);
        ++number;
      } while (combinations.next());
      slices.push_back(std::move(slice));
    }
    held.push_back(variable);
    replaceTables(variable, std::move(slices));
  }

  void replaceTables(std::size_t variable, std::vector<CostTable> by) {
    isLeft[variable] = false;
    const std::vector<std::size_t> affected = neighbours(variable);
    const std::set<std::size_t> old = users[variable];
    for (std::size_t t : old) {
      for (std::size_t v : tables[t].variables)
        users[v].erase(t);
      tables[t] = {};
    }
    for (CostTable &table : by) {
      for (std::size_t v : table.variables)
        users[v].insert(tables.size());
      tables.push_back(std::move(table));
    }
    for (std::size_t v : affected)
      jointSizes[v] = jointSize(v);
  }

  Choices extents;
  std::vector<CostTable> tables;
  std::size_t largestTable;
  std::vector<std::set<std::size_t>> users; ///< by variable: its tables
  std::vector<std::size_t> jointSizes; ///< entries of the table that eliminating it goes through
  std::vector<bool> isLeft;
  std::vector<Bucket> buckets;
  std::vector<std::size_t> held;
  std::size_t entries = 0;
};

/// Gives a variable its best choice for those of the others; whether that changes it.
bool improve(std::size_t variable, const Choices &extents, const std::vector<CostTable> &tables,
             Choices &chosen) {
  const std::size_t before = chosen[variable];
  double least = std::numeric_limits<double>::infinity();
  std::size_t best = 0;
  for (std::size_t choice = 0; choice < extents[variable]; ++choice) {
    chosen[variable] = choice;
    double sum = 0;
    for (const CostTable &table : tables)
      if (llvm::is_contained(table.variables, variable))
        sum += lookUp(table, extents, chosen);
    if (sum < least || (sum == least && choice == before)) {
      least = sum;
      best = choice;
    }
  }
  chosen[variable] = best;
  return best != before;
}

/// For each variable the choice that would be best if all others suited it.
Choices optimisticChoices(const Choices &extents, const std::vector<CostTable> &tables) {
  std::vector<std::vector<double>> sums;
  for (const std::size_t extent : extents)
    sums.emplace_back(extent, 0.0);
  for (const CostTable &table : tables) {
    std::size_t stride = table.values.size();
    for (const std::size_t v : table.variables) {
      stride /= extents[v];
      std::vector<double> least(extents[v], std::numeric_limits<double>::infinity());
      for (std::size_t place = 0; place < table.values.size(); ++place) {
        double &of = least[place / stride % extents[v]];
        of = std::min(of, table.values[place]);
      }
      for (std::size_t choice = 0; choice < extents[v]; ++choice)
        sums[v][choice] += least[choice];
    }
  }
  Choices best;
  for (const std::vector<double> &of : sums)
    best.push_back(static_cast<std::size_t>(std::min_element(of.begin(), of.end()) - of.begin()));
  return best;
}

double sumOf(const Choices &extents, const std::vector<CostTable> &tables, const Choices &chosen) {
  double sum = 0;
  for (const CostTable &table : tables)
    sum += lookUp(table, extents, chosen);
  return sum;
}

/// Choices of which some are held, improved.
class HeldSearch {
public:
  HeldSearch(const Choices &extents, const std::vector<CostTable> &tables,
             const SearchLimits &limits)
      : extents(extents), tables(tables), limits(limits) {}

  /// Whether the result is exact: nothing had to be held, or all choices of what was were tried.
  bool run(Choices &chosen) {
    for (int round = 0; round < kRounds; ++round) {
      Elimination elimination(extents, tables, limits.largestTable);
      elimination.run(chosen);
      held = elimination.heldVariables();
      workOfRun = elimination.work();
      if (held.empty())
        return true;
      bool changed = false;
      for (std::size_t variable : held)
        changed = improve(variable, extents, tables, chosen) || changed;
      if (!changed)
        break;
    }
    least = sumOf(extents, tables, chosen);
    if (combinationsOfHeld() <= mostRuns()) {
      tryAll(chosen);
      return true;
    }
    tryEach(chosen);
    return false;
  }

private:
  std::size_t mostRuns() const { return limits.mostWork / std::max<std::size_t>(workOfRun, 1); }

  std::size_t combinationsOfHeld() const {
    std::size_t product = 1;
    for (std::size_t variable : held)
      if (__builtin_mul_overflow(product, extents[variable], &product))
        return kNone;
    return product;
  }

  /// Takes the best choices with the held ones given, if they are better.
  bool tryWith(Choices tried, Choices &chosen) {
    Elimination elimination(extents, tables, limits.largestTable);
    elimination.run(tried, held);
    const double sum = sumOf(extents, tables, tried);
    if (sum >= least)
      return false;
    least = sum;
    chosen = std::move(tried);
    return true;
  }

  void tryAll(Choices &chosen) {
    Combinations combinations(extents, held, {});
    Choices tried = chosen;
    do {
      for (std::size_t i = 0; i < held.size(); ++i)
        tried[held[i]] = combinations.of(i);
      tryWith(tried, chosen);
    } while (combinations.next());
  }

  /// One held variable after the other, with the best of all that are not held, as long as that is
  /// not too much work.
  void tryEach(Choices &chosen) {
    std::size_t left = mostRuns();
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t variable : held)
        for (std::size_t choice = 0; choice < extents[variable]; ++choice) {
          if (left-- == 0)
            return;
          Choices tried = chosen;
          tried[variable] = choice;
          changed = tryWith(std::move(tried), chosen) || changed;
        }
    }
  }

  const Choices &extents;
  const std::vector<CostTable> &tables;
  const SearchLimits limits;
  std::vector<std::size_t> held;
  std::size_t workOfRun = 0;
  double least = 0;
};

} // namespace

std::vector<std::size_t> minimiseSum(const std::vector<std::size_t> &choices,
                                     const std::vector<CostTable> &tables,
                                     const SearchLimits &limits) {
  Choices chosen(choices.size(), 0);
  HeldSearch search(choices, tables, limits);
  if (search.run(chosen))
    return chosen;
  Choices other = optimisticChoices(choices, tables);
  search.run(other);
  return sumOf(choices, tables, other) < sumOf(choices, tables, chosen) ? other : chosen;
}

} // namespace einsumc
