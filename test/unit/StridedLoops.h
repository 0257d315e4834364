//===- StridedLoops.h - loops through strided tensors for tests -------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_TEST_STRIDEDLOOPS_H
#define EINSUMC_TEST_STRIDEDLOOPS_H

#include "einsumc/StridedCopy.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace einsumc {

inline constexpr double kUntouched = 12345;

inline std::string print(const std::vector<CopyLoop> &loops) {
  std::ostringstream out;
  for (const CopyLoop &loop : loops)
    out << "{" << loop.extent << ", " << loop.to << ", " << loop.from << "} ";
  return out.str();
}

/// Calls body(to, from) for every step, in the order the loops are given.
template <class Body>
void forEach(const std::vector<CopyLoop> &loops, Body body, std::size_t depth = 0, int64_t to = 0,
             int64_t from = 0) {
  if (depth == loops.size())
    return body(static_cast<std::size_t>(to), static_cast<std::size_t>(from));
  for (int64_t i = 0; i < loops[depth].extent; ++i)
    forEach(loops, body, depth + 1, to + i * loops[depth].to, from + i * loops[depth].from);
}

/// One past the last element reached.
inline std::size_t sizeOf(const std::vector<CopyLoop> &loops, int64_t CopyLoop::*step) {
  int64_t last = 0;
  for (const CopyLoop &loop : loops)
    last += std::max<int64_t>(loop.extent - 1, 0) * (loop.*step);
  return static_cast<std::size_t>(last + 1);
}

/// Strides of dims stored in a random order, \p padding() elements behind each.
template <class Padding>
std::vector<int64_t> stridesWith(const std::vector<int64_t> &extents, int64_t first,
                                 std::mt19937 &random, Padding padding) {
  std::vector<std::size_t> order(extents.size());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  std::vector<int64_t> strides(extents.size());
  int64_t stride = first;
  for (const std::size_t dim : order) {
    strides[dim] = stride;
    stride = stride * extents[dim] + padding();
  }
  return strides;
}

/// The same with some rows padded.
inline std::vector<int64_t> randomStrides(const std::vector<int64_t> &extents,
                                          std::mt19937 &random) {
  return stridesWith(extents, random() % 6 == 0 ? 2 : 1, random,
                     [&] { return random() % 4 == 0 ? static_cast<int64_t>(random() % 3) : 0; });
}

inline std::vector<int64_t> denseStrides(const std::vector<int64_t> &extents,
                                         std::mt19937 &random) {
  return stridesWith(extents, 1, random, [] { return int64_t{0}; });
}

/// Up to six loops of at most \p most steps together; some walk a diagonal of the source.
inline std::vector<CopyLoop> randomLoops(int64_t most, std::mt19937 &random) {
  std::vector<int64_t> extents;
  int64_t steps = 1;
  for (std::size_t dim = random() % 7; dim > 0 && steps < most; --dim) {
    const int64_t widest = random() % 3 == 0 ? 200 : random() % 2 ? 40 : 5;
    extents.push_back(1 + static_cast<int64_t>(random()) % std::min(widest, most / steps));
    steps *= extents.back();
  }
  std::vector<int64_t> sourceExtents = extents;
  const bool hasDiagonal = !extents.empty() && random() % 4 == 0;
  if (hasDiagonal)
    sourceExtents.push_back(extents.front());
  const std::vector<int64_t> to = randomStrides(extents, random);
  std::vector<int64_t> from = randomStrides(sourceExtents, random);
  if (hasDiagonal)
    from.front() += from.back();
  std::vector<CopyLoop> loops;
  for (std::size_t d = 0; d < extents.size(); ++d)
    loops.push_back({extents[d], to[d], from[d]});
  return loops;
}

/// Loops of short extents, about \p most steps together, through dense tensors or such with gaps.
inline std::vector<CopyLoop> shortLoops(int64_t most, std::mt19937 &random) {
  std::vector<int64_t> extents;
  const int64_t widest = 2 + static_cast<int64_t>(random() % 8);
  for (int64_t steps = 1; steps * widest <= most; steps *= extents.back())
    extents.push_back(2 + static_cast<int64_t>(random()) % (widest - 1));
  const bool isDense = random() % 4 != 0;
  const auto to = isDense ? denseStrides(extents, random) : randomStrides(extents, random);
  const auto from = isDense ? denseStrides(extents, random) : randomStrides(extents, random);
  std::vector<CopyLoop> loops;
  for (std::size_t d = 0; d < extents.size(); ++d)
    loops.push_back({extents[d], to[d], from[d]});
  return loops;
}

/// About \p most steps through a part of a tensor, as blocks of operands are packed.
inline std::vector<CopyLoop> partOfTensor(int64_t most, std::mt19937 &random) {
  std::vector<int64_t> extents, parts;
  const int64_t widest = 2 + static_cast<int64_t>(random() % 40);
  for (int64_t steps = 1; steps * widest <= most; steps *= parts.back()) {
    extents.push_back(2 + static_cast<int64_t>(random()) % (widest - 1));
    const auto some = 1 + static_cast<int64_t>(random()) % extents.back();
    parts.push_back(random() % 2 ? extents.back() : some);
    if (extents.size() == 12)
      break;
  }
  const auto to = random() % 4 ? denseStrides(parts, random) : randomStrides(parts, random);
  const auto from = denseStrides(extents, random);
  std::vector<CopyLoop> loops;
  for (std::size_t d = 0; d < parts.size(); ++d)
    loops.push_back({parts[d], to[d], from[d]});
  return loops;
}

/// Turns a random part of the loops into summed ones.
inline std::vector<CopyLoop> withSums(std::vector<CopyLoop> loops, std::mt19937 &random) {
  for (CopyLoop &loop : loops)
    if (random() % 2)
      loop.to = 0;
  return loops;
}

/// What copies and sums are tested with.
template <class T> class StridedLoopsTest : public testing::Test {
protected:
  void TearDown() override { omp_set_num_threads(threads); }

  /// Integers so small that every sum is exact in every order.
  std::vector<T> randomSource(const std::vector<CopyLoop> &loops) {
    std::vector<T> result(sizeOf(loops, &CopyLoop::from));
    std::generate(result.begin(), result.end(),
                  [&] { return static_cast<T>(static_cast<int>(random() % 9) - 4); });
    return result;
  }

  std::mt19937 random{20240607};
  const int threads = omp_get_max_threads();
};

} // namespace einsumc

#endif // EINSUMC_TEST_STRIDEDLOOPS_H
