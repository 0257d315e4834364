//===- ProductRate.cpp - how fast a whole product is ------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "ProductRate.h"

#include "compiler/plan/BlockChoice.h"

#include "einsumc/BlockKernel.h"
#include "einsumc/BlockTiles.h"

#include <omp.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace einsumc {

namespace {

using measure::Array;

enum : std::size_t { kM, kN, kK };

class Product {
public:
  Product(int64_t extent, const Machine &machine)
      : extent(extent), limits(machine, sizeof(float)),
        // Adding, as it does here, takes panels of the usual size.
        blocks(chooseBlocks(dimsOf(extent), ElementType::F32, machine, {.adds = true})),
        left(extent * extent), right(extent * extent), result(extent * extent) {
    scratch.resize(static_cast<std::size_t>(omp_get_max_threads()));
#pragma omp parallel
    scratch[static_cast<std::size_t>(omp_get_thread_num())] = std::make_unique<Scratch>(
        ceilDiv(blocks.counts[kM], limits.panelRows) * panelStride(),
        blocks.counts[kK] * roundUp(blocks.counts[kN], tiles::kPanelColumns));
  }

  void run() const {
    const int64_t stepM = blocks.counts[kM], stepN = blocks.counts[kN], stepK = blocks.counts[kK];
#pragma omp parallel
    {
      const Scratch &packed = *scratch[static_cast<std::size_t>(omp_get_thread_num())];
      const float *inLeft = nullptr, *inRight = nullptr;
      for (int64_t k = 0; k < extent; k += stepK)
#pragma omp for collapse(2) schedule(static) nowait
        for (int64_t n = 0; n < extent; n += stepN)
          for (int64_t m = 0; m < extent; m += stepM) {
            const int64_t ms = std::min(stepM, extent - m), ns = std::min(stepN, extent - n),
                          ks = std::min(stepK, extent - k);
            const float *const b = right.get() + n * extent + k;
            if (inRight != b)
              kernel.packB(packed.right.get(), inRight = b, {ks}, {ns});
            const float *const a = left.get() + k * extent + m;
            if (inLeft != a)
              kernel.packA(packed.left.get(), inLeft = a, {ms}, {ks});
            kernel(packed.left.get(), packed.right.get(), result.get() + n * extent + m, nullptr,
                   {ms}, {ns}, {ks}, k > 0);
          }
    }
  }

private:
  /// A thread's packed blocks; programs have them before they are timed, too.
  struct Scratch {
    Scratch(int64_t left, int64_t right) : left(left), right(right) {}
    Array<float> left, right;
  };

  static WorkDims dimsOf(int64_t extent) {
    const LocalWork work = squareProduct(extent);
    return WorkDims({work.dims.begin(), work.dims.end()});
  }

  /// Panels do not compete for the same cache lines.
  int64_t panelStride() const { return limits.panelRows * blocks.counts[kK] + 16; }

  const int64_t extent;
  const BlockLimits limits;
  const BlockChoice blocks;
  const Array<float> left, right, result;
  std::vector<std::unique_ptr<Scratch>> scratch; ///< by thread
  const BlockKernel<float> kernel{
      {{.count = blocks.counts[kM], .extent = extent, .inA = 1, .inC = 1}},
      {{.count = blocks.counts[kN], .extent = extent, .inB = extent, .inC = extent}},
      {{.count = blocks.counts[kK], .extent = extent, .inA = extent, .inB = 1}},
      {.aK = limits.panelRows,
       .bN = blocks.counts[kK],
       .bInPanels = limits.hasFewRegisters,
       .panelDims = 1,
       .panelCount = limits.panelRows,
       .aPanel = panelStride(),
       .accumulates = true}};
};

} // namespace

LocalWork squareProduct(int64_t extent) {
  return {{{DimClass::M, extent, {1, 0, 1}},
           {DimClass::N, extent, {0, extent, extent}},
           {DimClass::K, extent, {extent, 1, 0}}}};
}

double productSeconds(int64_t extent, const Machine &machine, const measure::Effort &effort) {
  const Product product(extent, machine);
  return measure::secondsOf([&] { product.run(); }, measure::wallSeconds, effort);
}

} // namespace einsumc
