//===- kernels.cpp - how fast the runtime's kernels and copies are ----------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
// Prints three tables, each number the best of several runs: GFLOPS of tile products on one
// thread, by TileKernel, by LIBXSMM alone and by the portable kernel alone; GB/s of copies and
// sums (bytes read and written), over those of memcpy; nanoseconds of the smallest calls.
//
//===------------------------------------------------------------------------------------------===//

#include "../../runtime/JitKernel.h"
#include "../../runtime/PortableKernel.h"
#include "../../runtime/TeamBinding.h"
#include "../calibrate/Timing.h"
#include "einsumc/StridedCopy.h"
#include "einsumc/TileKernel.h"

#include <omp.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

using namespace einsumc;
using namespace einsumc::measure;

namespace {

struct NamedShape {
  std::string name;
  TileShape shape;
};

/// C[m,n] (+)= A B, all row-major.
TileShape rowMajor(int64_t m, int64_t n, int64_t k) {
  return {1, m, n, k, 0, k, 1, 0, n, 1, 0, n, 1, true};
}
/// B stored by columns, so that both are consecutive along k.
TileShape byDots(int64_t m, int64_t n, int64_t k) {
  return {1, m, n, k, 0, k, 1, 0, 1, k, 0, n, 1, true};
}
/// A stored by columns: with B's rows, sums of outer products.
TileShape byOuter(int64_t m, int64_t n, int64_t k) {
  return {1, m, n, k, 0, 1, m, 0, n, 1, 0, n, 1, true};
}

std::vector<NamedShape> shapes() {
  std::vector<NamedShape> result;
  const auto add = [&](const char *kind, const TileShape &s) {
    std::array<char, 64> name = {};
    std::snprintf(name.data(), name.size(), "%s %ldx%ldx%ld", kind, long(s.m), long(s.n),
                  long(s.k));
    result.push_back({name.data() + (s.c > 1 ? " c " + std::to_string(s.c) : std::string()), s});
  };
  for (const auto &[m, n, k] : std::vector<std::array<int64_t, 3>>{
           {64, 64, 256}, {32, 32, 32}, {128, 128, 128}, {61, 67, 71}, {30, 30, 30}, {16, 16, 16},
           {8, 8, 8},     {7, 7, 7},    {5, 5, 5},       {4, 4, 4},    {3, 3, 3},    {2, 2, 2},
           {64, 3, 64},   {64, 5, 64},  {64, 9, 64},     {64, 12, 64}, {64, 20, 64}, {3, 64, 64},
           {2, 64, 64},   {1, 64, 64},  {64, 1, 64},     {64, 64, 1},  {64, 64, 2},  {64, 64, 4},
           {4, 4, 1000},  {8, 8, 1000}, {1, 8, 1000},    {1000, 8, 8}, {8, 1000, 8}})
    add("rows", rowMajor(m, n, k));
  for (const auto &[m, n, k] : std::vector<std::array<int64_t, 3>>{{64, 64, 256},
                                                                   {32, 32, 32},
                                                                   {16, 16, 16},
                                                                   {8, 8, 8},
                                                                   {8, 8, 64},
                                                                   {8, 8, 1000},
                                                                   {4, 4, 1000},
                                                                   {1, 8, 1000},
                                                                   {1, 64, 64},
                                                                   {1, 1, 1000},
                                                                   {64, 1, 256},
                                                                   {64, 2, 256},
                                                                   {64, 4, 256},
                                                                   {64, 64, 4}})
    add("dots", byDots(m, n, k));
  for (const auto &[m, n, k] : std::vector<std::array<int64_t, 3>>{
           {64, 64, 256}, {61, 67, 71}, {16, 16, 16}, {8, 8, 8}, {2, 1000, 2}})
    add("outer", byOuter(m, n, k));
  add("strided", {1, 64, 64, 64, 0, 2, 128, 0, 128, 2, 0, 128, 2, true});
  add("mixed", {1, 64, 64, 64, 0, 64, 1, 0, 1, 64, 0, 1, 64, true});
  for (const auto &[m, n, k] :
       std::vector<std::array<int64_t, 3>>{{1, 1, 1}, {2, 2, 2}, {4, 4, 4}, {1, 1, 8}, {8, 8, 1}})
    add("inner c", {512, m, n, k, 1, k * 512, 512, 1, n * 512, 512, 1, n * 512, 512, true});
  for (const auto &[m, n, k] : std::vector<std::array<int64_t, 3>>{
           {2, 2, 2}, {4, 4, 4}, {8, 8, 8}, {1, 1, 8}, {1, 1, 64}, {4, 1, 4}, {8, 1, 8}}) {
    TileShape s = rowMajor(m, n, k);
    s.c = 256, s.aC = m * k, s.bC = k * n, s.cC = m * n;
    add("outer c", s);
  }
  return result;
}

template <class T> void printTile(const NamedShape &named) {
  const TileShape &s = named.shape;
  std::vector<T> a(static_cast<std::size_t>(2 * s.c * s.m * s.k + 64), T(0.5));
  std::vector<T> b(static_cast<std::size_t>(2 * s.c * s.k * s.n + 64), T(0.25));
  std::vector<T> c(static_cast<std::size_t>(2 * s.c * s.m * s.n + 64), T(0));
  const double flops = 2e-9 * static_cast<double>(s.c * s.m * s.n * s.k);
  const TileKernel<T> kernel(s);
  std::printf("  %8.2f%c", flops / secondsOf([&] { kernel(a.data(), b.data(), c.data()); }),
              kernel.isJit() ? '*' : ' ');
  const bool isExchanged = shouldExchange(s);
  const TileShape work = isExchanged ? exchangeOperands(s) : s;
  const T *const first = isExchanged ? b.data() : a.data();
  const T *const second = isExchanged ? a.data() : b.data();
  if (const auto jit = generateTile<T>(work))
    std::printf(" %8.2f", flops / secondsOf([&] {
                            for (int64_t i = 0; i < s.c; ++i)
                              jit(first + i * work.aC, second + i * work.bC, c.data() + i * s.cC);
                          }));
  else
    std::printf(" %8s", "-");
  const auto portable = portableTile<T>(work);
  std::printf(" %8.2f", flops / secondsOf([&] { portable(work, first, second, c.data()); }));
}

void printTiles() {
  std::printf("GFLOPS of accumulating tiles m x n x k, one thread (* LIBXSMM)\n"
              "%-24s  %8s  %8s %8s  %8s  %8s %8s\n",
              "", "f32 tile", "LIBXSMM", "portable", "f64 tile", "LIBXSMM", "portable");
  for (const NamedShape &named : shapes()) {
    std::printf("%-24s", named.name.c_str());
    printTile<float>(named);
    printTile<double>(named);
    std::printf("\n");
  }
}

/// Products beyond the cache, which should run as fast as memory: GB/s of what they read and write.
template <class T> void printStreams() {
  const auto print = [](const char *name, const TileShape &s, double elements) {
    std::vector<T> a(static_cast<std::size_t>(s.c * s.m * s.k), T(0.5));
    std::vector<T> b(static_cast<std::size_t>(s.c * s.k * s.n), T(0.25));
    std::vector<T> c(static_cast<std::size_t>(s.c * s.m * s.n), T(0));
    const TileKernel<T> kernel(s);
    const double seconds = secondsOf([&] { kernel(a.data(), b.data(), c.data()); });
    std::printf("  %-30s %6.1f%s\n", name, elements * sizeof(T) / seconds * 1e-9,
                kernel.isJit() ? " *" : "");
  };
  const int64_t n = 4000, all = n * n;
  const auto size = static_cast<double>(all);
  std::printf("GB/s of products of %zu-byte elements beyond the cache, one thread\n", sizeof(T));
  print("outer product", {1, n, n, 1, 0, 1, 0, 0, 0, 1, 0, n, 1}, size);
  print("outer product, 16 terms", {1, n, n, 16, 0, 1, n, 0, n, 1, 0, n, 1}, size);
  print("outer product, accumulating", {1, n, n, 1, 0, 1, 0, 0, 0, 1, 0, n, 1, true}, 2 * size);
  print("matrix by rows x vector", {1, n, 1, n, 0, n, 1, 0, 1, 0, 0, 1, 0}, size);
  print("matrix by columns x vector", {1, n, 1, n, 0, 1, n, 0, 1, 0, 0, 1, 0}, size);
  print("matrix by columns x 2 vectors", {1, n, 2, n, 0, 1, n, 0, 1, n, 0, 1, n}, size);
  print("vector x matrix by rows", {1, 1, n, n, 0, 0, 1, 0, n, 1, 0, 0, 1}, size);
  print("dot product", {1, 1, 1, all, 0, 0, 1, 0, 1, 0, 0, 0, 0}, 2 * size);
  print("element-wise product", {all, 1, 1, 1, 1, 0, 0, 1, 0, 0, 1, 0, 0}, 3 * size);
  print("batch of 4 x 4 x 4, c inside",
        {all / 16, 4, 4, 4, 1, all / 4, all / 16, 1, all / 4, all / 16, 1, all / 4, all / 16},
        3 * size);
  print("batch of 4 x 4 x 4, c outside", {all / 16, 4, 4, 4, 16, 4, 1, 16, 4, 1, 16, 4, 1},
        3 * size);
}

enum class Kind { CopySerial, CopyParallel, Add, Sum };

template <class T> class CopyBench {
public:
  CopyBench()
      : source(allocate(T(0.5))), target(allocate(T(0))),
        memcpySerial(rate(threadSeconds, 2,
                          [&] { std::memcpy(target.get(), source.get(), kElements * sizeof(T)); })),
        memcpyParallel(rate(wallSeconds, 2, [&] {
#pragma omp parallel
          {
            const auto piece = kElements / static_cast<std::size_t>(omp_get_num_threads());
            const auto begin = piece * static_cast<std::size_t>(omp_get_thread_num());
            std::memcpy(target.get() + begin, source.get() + begin, piece * sizeof(T));
          }
        })) {
    std::printf("GB/s of %zu-byte elements, %zu MB (of memcpy: %.1f GB/s, %d threads %.1f GB/s)\n",
                sizeof(T), kElements * sizeof(T) >> 20, memcpySerial, omp_get_max_threads(),
                memcpyParallel);
  }

  void print(const char *name, Kind kind, const std::vector<CopyLoop> &loops) {
    double touched = kind == Kind::Add ? 3 : kind == Kind::Sum ? 1 : 2;
    double steps = 1;
    for (const CopyLoop &loop : loops)
      steps *= static_cast<double>(loop.extent);
    touched *= steps / static_cast<double>(kElements);
    const bool isSerial = kind == Kind::CopySerial || kind == Kind::Add;
    const double speed =
        rate(isSerial ? threadSeconds : wallSeconds, touched, [&] { run(kind, loops); });
    const double peer = isSerial ? memcpySerial : memcpyParallel;
    std::printf("  %-44s %6.1f  %3.0f %%\n", name, speed, 100 * speed / peer);
  }

private:
  static constexpr std::size_t kElements = 1U << 24;

  /// GB/s when `touched` arrays are read or written.
  template <class Call> double rate(double (*clock)(), double touched, Call call) {
    return touched * kElements * sizeof(T) / secondsOf(call, clock) * 1e-9;
  }

  void run(Kind kind, const std::vector<CopyLoop> &loops) {
    switch (kind) {
    case Kind::CopySerial:
      return copyStrided<T>(target.get(), source.get(), loops);
    case Kind::CopyParallel:
      return copyParallel<T>(target.get(), source.get(), loops);
    case Kind::Add:
      return addStrided<T>(target.get(), source.get(), loops);
    case Kind::Sum:
      return sumParallel<T>(target.get(), source.get(), loops);
    }
  }

  /// As the runtime's tensors: aligned.
  struct Free {
    void operator()(T *memory) const { std::free(memory); }
  };
  using Memory = std::unique_ptr<T, Free>;
  static Memory allocate(T value) {
    Memory memory(static_cast<T *>(std::aligned_alloc(4096, kElements * sizeof(T))));
    std::fill_n(memory.get(), kElements, value);
    return memory;
  }

  Memory source, target;
  double memcpySerial, memcpyParallel;
};

/// A permutation of a row-major tensor: dim i of the target is dim order[i] of the source.
std::vector<CopyLoop> permutation(const std::vector<int64_t> &extents,
                                  const std::vector<std::size_t> &order) {
  std::vector<CopyLoop> loops(extents.size());
  int64_t stride = 1;
  for (std::size_t d = extents.size(); d-- > 0; stride *= extents[d])
    loops[d] = {extents[d], 0, stride};
  stride = 1;
  for (std::size_t i = order.size(); i-- > 0; stride *= extents[order[i]])
    loops[order[i]].to = stride;
  return loops;
}

template <class T> void printCopies() {
  CopyBench<T> bench;
  const int64_t all = 1 << 24;
  struct Case {
    const char *name;
    std::vector<CopyLoop> loops;
  };
  std::vector<int64_t> twos(24, 2);
  const std::vector<std::size_t> mixed = {0,  13, 2,  15, 4,  17, 6,  19, 8,  21, 10, 23,
                                          12, 1,  14, 3,  16, 5,  18, 7,  20, 9,  22, 11};
  const std::vector<Case> cases = {
      {"contiguous", {{all, 1, 1}}},
      {"rows of 1000 of 1024", {{1 << 14, 1024, 1024}, {1000, 1, 1}}},
      {"rows of 30 of 32", {{1 << 19, 32, 32}, {30, 1, 1}}},
      {"rows of 7 of 8", {{1 << 21, 8, 8}, {7, 1, 1}}},
      {"rows of 3 of 4", {{1 << 22, 4, 4}, {3, 1, 1}}},
      {"transpose 4096 x 4096", permutation({4096, 4096}, {1, 0})},
      {"transpose 4000 x 4100", permutation({4000, 4100}, {1, 0})},
      {"transpose 3 x 5000000", permutation({3, 5000000}, {1, 0})},
      {"transpose 5000000 x 3", permutation({5000000, 3}, {1, 0})},
      {"transpose 16 x 2^20", permutation({16, 1 << 20}, {1, 0})},
      {"transpose 2^20 x 16", permutation({1 << 20, 16}, {1, 0})},
      {"abc -> cba, 256", permutation({256, 256, 256}, {2, 1, 0})},
      {"abc -> bca, 250", permutation({250, 250, 250}, {1, 2, 0})},
      {"abc -> bac, 256", permutation({256, 256, 256}, {1, 0, 2})},
      {"abcd -> dcba, 64", permutation({64, 64, 64, 64}, {3, 2, 1, 0})},
      {"abcd -> acbd, 64 x 64 x 64 x 8", permutation({128, 128, 128, 8}, {0, 2, 1, 3})},
      {"abcdefgh -> hgfedcba, 8",
       permutation(std::vector<int64_t>(8, 8), {7, 6, 5, 4, 3, 2, 1, 0})},
      {"24 dims of 2", permutation(twos, mixed)},
      {"every other element", {{all / 2, 1, 2}}},
  };
  for (const Case &c : cases) {
    bench.print((c.name + std::string(", one thread")).c_str(), Kind::CopySerial, c.loops);
    bench.print(c.name, Kind::CopyParallel, c.loops);
  }
  bench.print("add contiguous, one thread", Kind::Add, {{all, 1, 1}});
  bench.print("add transpose 4096 x 4096, one thread", Kind::Add,
              permutation({4096, 4096}, {1, 0}));
  bench.print("sum to a scalar", Kind::Sum, {{all, 0, 1}});
  bench.print("sum of rows 4096 x 4096", Kind::Sum, {{4096, 1, 4096}, {4096, 0, 1}});
  bench.print("sum of columns 4096 x 4096", Kind::Sum, {{4096, 0, 4096}, {4096, 1, 1}});
  bench.print("sum of columns 2^20 x 16", Kind::Sum, {{1 << 20, 0, 16}, {16, 1, 1}});
  bench.print("sum of columns 2^22 x 4", Kind::Sum, {{1 << 22, 0, 4}, {4, 1, 1}});
  bench.print("sum of columns 5000000 x 3", Kind::Sum, {{5000000, 0, 3}, {3, 1, 1}});
  bench.print("sum of columns 4 x 2^22", Kind::Sum, {{4, 0, 1 << 22}, {1 << 22, 1, 1}});
  bench.print("sum of rows 2^22 x 4", Kind::Sum, {{1 << 22, 1, 4}, {4, 0, 1}});
  bench.print("sum of rows 5000000 x 3", Kind::Sum, {{5000000, 1, 3}, {3, 0, 1}});
  bench.print("sum of the middle, 256^3", Kind::Sum,
              {{256, 256, 65536}, {256, 0, 256}, {256, 1, 1}});
  bench.print("sum of the ends, 256^3", Kind::Sum, {{256, 0, 65536}, {256, 1, 256}, {256, 0, 1}});
}

void printOverheads() {
  float a[64] = {}, b[64] = {}, c[64] = {};
  const auto print = [](const char *name, double seconds) {
    std::printf("  %-44s %6.0f\n", name, seconds * 1e9);
  };
  std::printf("ns of small calls\n");
  print("copyStrided, one element", secondsOf([&] { copyStrided<float>(a, b, {}); }));
  print("copyStrided, 8 consecutive", secondsOf([&] { copyStrided<float>(a, b, {{8, 1, 1}}); }));
  print("copyStrided, 4 x 4 transposed",
        secondsOf([&] { copyStrided<float>(a, b, {{4, 1, 4}, {4, 4, 1}}); }));
  print("copyStrided, 8 x 8 transposed",
        secondsOf([&] { copyStrided<float>(a, b, {{8, 1, 8}, {8, 8, 1}}); }));
  print("copyStrided, 2 x 2 x 2 x 2 x 2 reversed", secondsOf([&] {
          copyStrided<float>(a, b, {{2, 1, 16}, {2, 2, 8}, {2, 4, 4}, {2, 8, 2}, {2, 16, 1}});
        }));
  print("addStrided, 8 consecutive", secondsOf([&] { addStrided<float>(a, b, {{8, 1, 1}}); }));
  const TileKernel<float> one({1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, true});
  print("TileKernel, 1 x 1 x 1", secondsOf([&] { one(a, b, c); }));
  const TileKernel<float> two({1, 2, 2, 2, 0, 2, 1, 0, 2, 1, 0, 2, 1, true});
  print("TileKernel, 2 x 2 x 2", secondsOf([&] { two(a, b, c); }));
}

} // namespace

int main(int argc, char **argv) {
  const std::string what = argc > 1 ? argv[1] : "all";
  if (what != "all" && what != "tiles" && what != "streams" && what != "copies" &&
      what != "calls") {
    std::fprintf(stderr, "usage: %s [all | tiles | streams | copies | calls]\n", argv[0]);
    return 2;
  }
  const TeamBinding binding(coresOfThreads(omp_get_max_threads())); // As programs do.
  const bool isAll = what == "all";
  if (isAll || what == "tiles")
    printTiles();
  if (isAll || what == "streams") {
    printStreams<float>();
    printStreams<double>();
  }
  if (isAll || what == "copies") {
    printCopies<float>();
    printCopies<double>();
  }
  if (isAll || what == "calls")
    printOverheads();
}
