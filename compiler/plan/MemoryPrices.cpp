//===- MemoryPrices.cpp - the cheapest choices that fit the memory ----------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/MemoryPrices.h"

#include <algorithm>

namespace einsumc {

namespace {

using Choices = std::vector<std::size_t>;

class Market {
public:
  Market(const ChoiceTables &tables, double memory,
         const std::function<double(const Choices &)> &bytes)
      : tables(tables), memory(memory), bytes(bytes) {}

  Choices run(bool isThorough) {
    best = tables.cheapest();
    bestBytes = bytes(best);
    if (bestBytes <= memory)
      return best;
    BytePrices prices = raise();
    if (bestBytes <= memory)
      prices = lower(prices);
    if (isThorough)
      improve(prices);
    return best;
  }

private:
  /// Prices at which everything fits, or high ones if there are none.
  BytePrices raise() {
    constexpr int kRounds = 40;
    const double seconds = tables.seconds(best);
    Choices chosen = best;
    BytePrices prices;
    double step = seconds / memory / 16;
    for (int round = 0; round < kRounds; ++round, step *= 2) {
      const std::vector<double> at = tables.bytesAt(chosen);
      prices.resize(at.size());
      const double most = *std::max_element(at.begin(), at.end());
      for (std::size_t node = 0; node < at.size(); ++node)
        // The estimate may miss what the exact count finds: the fullest node always pays.
        prices[node] += step * std::max(at[node] / memory - 1, at[node] == most ? 0.01 : 0.0);
      chosen = tables.cheapest(prices);
      if (offer(chosen))
        break;
    }
    return prices;
  }

  /// Halves the interval of factors between those that fit and those that do not; the least prices
  /// that do.
  BytePrices lower(const BytePrices &high) {
    constexpr int kRounds = 12;
    double fits = 1, fails = 0;
    for (int round = 0; round < kRounds; ++round) {
      const double factor = (fits + fails) / 2;
      BytePrices prices = high;
      for (double &price : prices)
        price *= factor;
      (offer(tables.cheapest(prices)) ? fits : fails) = factor;
    }
    BytePrices least = high;
    for (double &price : least)
      price *= fits;
    return least;
  }

  /// Prices find the best choices only where less memory costs more and more time. So each tensor's
  /// choices are tried too, with the others' best, with prices and without.
  void improve(const BytePrices &prices) {
    constexpr int kMostTries = 400;
    int tries = 0;
    for (NodeId tensor = 0; tensor < tables.size(); ++tensor)
      for (std::size_t choice = 0; choice < tables.of(tensor).candidates.size(); ++choice)
        for (const BytePrices &at : {BytePrices(prices.size()), prices}) {
          if (tries++ == kMostTries)
            return;
          offer(tables.cheapestWith(tensor, choice, at));
        }
  }

  /// Takes choices if they are better than the best so far; whether they fit.
  bool offer(const Choices &chosen) {
    const double needed = bytes(chosen);
    const bool fits = needed <= memory, fitted = bestBytes <= memory;
    const bool isBetter =
        fits && fitted ? tables.seconds(chosen) < tables.seconds(best) : needed < bestBytes;
    if (isBetter) {
      best = chosen;
      bestBytes = needed;
    }
    return fits;
  }

  const ChoiceTables &tables;
  const double memory;
  const std::function<double(const Choices &)> &bytes;
  Choices best;
  double bestBytes = 0;
};

} // namespace

Choices cheapestWithin(const ChoiceTables &tables, double memory,
                       const std::function<double(const Choices &)> &bytes, bool isThorough) {
  return Market(tables, memory, bytes).run(isThorough);
}

} // namespace einsumc
