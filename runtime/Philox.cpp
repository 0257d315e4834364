//===- Philox.cpp - reproducible random inputs ------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "Philox.h"

#include <algorithm>

namespace einsumc {
namespace {

constexpr int kRounds = 10;
constexpr uint64_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;

/// The words of N counters at once: words[w][lane]. The lanes are what the compiler vectorises.
template <int N> using Lanes = uint32_t[4][N];

template <int N> void philoxRounds(Lanes<N> &words, uint32_t key0, uint32_t key1) {
  for (int round = 0; round < kRounds; ++round) {
    for (int lane = 0; lane < N; ++lane) {
      const uint64_t product0 = kMultiplier0 * words[0][lane];
      const uint64_t product1 = kMultiplier1 * words[2][lane];
      const uint32_t word1 = words[1][lane], word3 = words[3][lane];
      words[0][lane] = static_cast<uint32_t>(product1 >> 32) ^ word1 ^ key0;
      words[1][lane] = static_cast<uint32_t>(product1);
      words[2][lane] = static_cast<uint32_t>(product0 >> 32) ^ word3 ^ key1;
      words[3][lane] = static_cast<uint32_t>(product0);
    }
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
}

/// Elements that one counter yields.
template <class T> constexpr int64_t kPerCounter = 16 / sizeof(T);

template <int N> void toValues(const Lanes<N> &words, float *values) {
  for (int lane = 0; lane < N; ++lane)
    for (int w = 0; w < 4; ++w)
      values[4 * lane + w] =
          static_cast<float>(static_cast<int32_t>(words[w][lane] >> 8)) * 0x1p-23F - 1.0F;
}

template <int N> void toValues(const Lanes<N> &words, double *values) {
  for (int lane = 0; lane < N; ++lane)
    for (int w = 0; w < 2; ++w) {
      const uint64_t bits =
          static_cast<uint64_t>(words[2 * w + 1][lane]) << 32 | words[2 * w][lane];
      values[2 * lane + w] = static_cast<double>(static_cast<int64_t>(bits >> 11)) * 0x1p-52 - 1.0;
    }
}

struct Stream {
  uint64_t seed;
  uint64_t name;
};

/// Elements [begin, end) of the stream, N counters at a time.
template <int N, class T> void fillBy(const Stream &stream, int64_t begin, int64_t end, T *target) {
  constexpr int64_t kStep = N * kPerCounter<T>;
  for (int64_t base = begin / kPerCounter<T> * kPerCounter<T>; base < end; base += kStep) {
    Lanes<N> words;
    const auto firstGroup = static_cast<uint64_t>(base / kPerCounter<T>);
    for (int lane = 0; lane < N; ++lane) {
      const uint64_t group = firstGroup + static_cast<uint64_t>(lane);
      words[0][lane] = static_cast<uint32_t>(group);
      words[1][lane] = static_cast<uint32_t>(group >> 32);
      words[2][lane] = static_cast<uint32_t>(stream.name);
      words[3][lane] = static_cast<uint32_t>(stream.name >> 32);
    }
    philoxRounds<N>(words, static_cast<uint32_t>(stream.seed),
                    static_cast<uint32_t>(stream.seed >> 32));
    T values[kStep];
    toValues<N>(words, values);
    const int64_t from = std::max(begin, base), to = std::min(end, base + kStep);
    std::copy(values + (from - base), values + (to - base), target + (from - begin));
  }
}

template <class T> void fillRun(const Stream &stream, int64_t begin, int64_t end, T *target) {
  constexpr int kLanes = 16;
  if (end - begin >= kLanes * kPerCounter<T>)
    fillBy<kLanes>(stream, begin, end, target);
  else
    fillBy<1>(stream, begin, end, target);
}

/// A block as runs that are contiguous in the whole tensor.
struct Runs {
  int64_t count = 1;
  int64_t length = 1;
  std::size_t outer = 0; ///< the positions that count the runs: [0, outer)
};

Runs runsOf(const Box &box, const std::vector<int64_t> &extents) {
  Runs runs;
  runs.outer = box.size();
  while (runs.outer > 0) {
    --runs.outer;
    runs.length *= box[runs.outer].size();
    if (box[runs.outer].size() != extents[runs.outer])
      break;
  }
  for (std::size_t p = 0; p < runs.outer; ++p)
    runs.count *= box[p].size();
  return runs;
}

/// The global row-major index of the first element of a run.
int64_t startOf(int64_t run, const Runs &runs, const Box &box,
                const std::vector<int64_t> &extents) {
  int64_t start = 0, stride = 1;
  for (std::size_t p = box.size(); p-- > 0; stride *= extents[p]) {
    start += stride * box[p].begin;
    if (p < runs.outer) {
      start += stride * (run % box[p].size());
      run /= box[p].size();
    }
  }
  return start;
}

template <class T> void fill(const TensorView &view, const Stream &stream, const Region &region) {
  const std::vector<int64_t> &extents = region.extents;
  const Box box = region.shifted(view.box);
  const Runs runs = runsOf(box, extents);
  // Long runs are cut, so that every thread has work and each a contiguous part of the memory.
  constexpr int64_t kSegment = 1 << 14;
  const int64_t segments = (runs.length + kSegment - 1) / kSegment;
  T *data = reinterpret_cast<T *>(view.data);
#pragma omp parallel for schedule(static) if (runs.count * runs.length >= kSegment)
  for (int64_t task = 0; task < runs.count * segments; ++task) {
    const int64_t run = task / segments;
    const int64_t from = task % segments * kSegment;
    const int64_t to = std::min(runs.length, from + kSegment);
    const int64_t start = startOf(run, runs, box, extents);
    fillRun(stream, start + from, start + to, data + run * runs.length + from);
  }
}

} // namespace

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  Lanes<1> words = {{counter[0]}, {counter[1]}, {counter[2]}, {counter[3]}};
  philoxRounds<1>(words, key[0], key[1]);
  return {words[0][0], words[1][0], words[2][0], words[3][0]};
}

uint64_t hashName(std::string_view name) {
  uint64_t hash = 0xCBF29CE484222325;
  for (const char c : name)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return hash;
}

void fillRandom(const TensorView &view, uint64_t seed, std::string_view name) {
  fillRandom(view, seed, name, Region(*view.layout));
}

void fillRandom(const TensorView &view, uint64_t seed, std::string_view name,
                const Region &region) {
  if (!view.held || volume(view.box) == 0)
    return;
  const Stream stream{seed, hashName(name)};
  if (view.dtype == DType::F32)
    fill<float>(view, stream, region);
  else
    fill<double>(view, stream, region);
}

} // namespace einsumc
