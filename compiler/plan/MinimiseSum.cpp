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

/// Steps through all combinations of some variables' choices, and through the places of these in
/// several tables.
class Combinations {
public:
  Combinations(const Choices &extents, std::vector<std::size_t> variables,
               const std::vector<const CostTable *> &tables)
      : extents(extents), variables(std::move(variables)), choice(this->variables.size()),
        places(tables.size()) {
    for (const CostTable *table : tables) {
      std::vector<std::size_t> strides(this->variables.size());
      std::size_t stride = 1;
      for (std::size_t v : llvm::reverse(table->variables)) {
        const auto at = llvm::find(this->variables, v) - this->variables.begin();
        strides[static_cast<std::size_t>(at)] = stride;
        stride *= extents[v];
      }
      steps.push_back(std::move(strides));
    }
  }

  const std::vector<std::size_t> &at() const { return places; }
  std::size_t last() const { return choice.back(); }

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

  /// Chooses for all variables but the held ones, which keep their part of \p chosen.
  void run(Choices &chosen) {
    for (std::size_t step = 0; step < extents.size(); ++step) {
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
    Bucket bucket{variable, neighbours(variable), {}};
    std::vector<const CostTable *> joined;
    for (std::size_t t : users[variable])
      joined.push_back(&tables[t]);
    std::vector<std::size_t> all = bucket.scope;
    all.push_back(variable);
    CostTable rest{bucket.scope, {}};
    Combinations combinations(extents, all, joined);
    do {
      double sum = 0;
      for (std::size_t t = 0; t < joined.size(); ++t)
        sum += joined[t]->values[combinations.at()[t]];
      if (combinations.last() == 0) {
        rest.values.push_back(sum);
        bucket.best.push_back(0);
      } else if (sum < rest.values.back()) {
        rest.values.back() = sum;
        bucket.best.back() = combinations.last();
      }
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

/// Improves choices until nothing gets better. Returns whether the result is exact.
bool improveAll(const Choices &extents, const std::vector<CostTable> &tables,
                std::size_t largestTable, Choices &chosen) {
  for (int round = 0; round < kRounds; ++round) {
    Elimination elimination(extents, tables, largestTable);
    elimination.run(chosen);
    if (elimination.heldVariables().empty())
      return true;
    bool changed = false;
    for (std::size_t variable : elimination.heldVariables())
      changed = improve(variable, extents, tables, chosen) || changed;
    if (!changed)
      break;
  }
  return false;
}

double sumOf(const Choices &extents, const std::vector<CostTable> &tables, const Choices &chosen) {
  double sum = 0;
  for (const CostTable &table : tables)
    sum += lookUp(table, extents, chosen);
  return sum;
}

} // namespace

std::vector<std::size_t> minimiseSum(const std::vector<std::size_t> &choices,
                                     const std::vector<CostTable> &tables,
                                     std::size_t largestTable) {
  Choices chosen(choices.size(), 0);
  if (improveAll(choices, tables, largestTable, chosen))
    return chosen;
  Choices other = optimisticChoices(choices, tables);
  improveAll(choices, tables, largestTable, other);
  return sumOf(choices, tables, other) < sumOf(choices, tables, chosen) ? other : chosen;
}

} // namespace einsumc
