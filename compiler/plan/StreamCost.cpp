//===- StreamCost.cpp - the estimate for nodes that memory limits -----------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/StreamCost.h"

#include "compiler/plan/KernelRate.h"
#include "compiler/plan/MemoryModel.h"
#include "compiler/plan/Streaming.h"

#include "einsumc/StridedCopy.h"

#include <algorithm>

namespace einsumc {

namespace {

/// The side of squares, in elements, in which a tensor is read that is contiguous along other dims
/// than the result.
constexpr double kCrossed = 128;

class StreamCost {
public:
  StreamCost(const WorkDims &dims, ElementType type, const Machine &machine)
      : dims(dims), type(type), machine(machine), inner(dims.fastest(Role::C)),
        memory(machine, elementBytes(), elementBytes() * dims.footprint()) {}

  LocalCost contraction() const {
    LocalCost cost;
    const DimCounts counts = streamedCounts(dims);
    double calls = dims.iterations();
    for (std::size_t dim = 0; dim < dims.size(); ++dim)
      calls /= toDouble(counts[dim]);
    cost.kernelSeconds =
        2 * dims.iterations() / (machine.flopsPerSecond(type) * efficiency(counts)) +
        calls * machine.kernelOverhead / toDouble(machine.threads);
    for (const Role role : {Role::A, Role::B, Role::C}) {
      const double elements = dims.elements(role), run = dims.run(role, counts);
      cost.packSeconds +=
          isCrossed(role) ? memory.pack({elements, kCrossed, true}) : memory.rows(elements / run);
      cost.memorySeconds += memory.stream(elements);
      if (role != Role::C)
        cost.memorySeconds += memoryOf(role).waitsForRows(elements, run);
    }
    return cost;
  }

  LocalCost unary() const {
    LocalCost cost;
    for (const Role role : {Role::A, Role::C})
      cost.memorySeconds += memory.stream(dims.elements(role));
    const double elements = dims.elements(Role::A);
    if (dims.extentOf(DimClass::K) > 1) {
      cost.kernelSeconds = sumSeconds();
      return cost;
    }
    if (dims.fastest(Role::A) < dims.size())
      cost.packSeconds = isCrossed(Role::A) ? memory.pack({elements, rowOf(Role::A), true})
                                            : memory.rows(elements / rowOf(Role::A));
    if (inner < dims.size())
      cost.packSeconds += memory.rows(dims.elements(Role::C) / rowOf(Role::C));
    return cost;
  }

private:
  double elementBytes() const { return static_cast<double>(sizeInBytes(type)); }

  /// Of one tensor alone, which may stay in a cache although the others do not.
  MemoryModel memoryOf(Role role) const {
    double all = 0;
    for (const Role other : {Role::A, Role::B, Role::C})
      all += dims.elements(other);
    return {machine, elementBytes(),
            elementBytes() * dims.footprint() * dims.elements(role) / std::max(all, 1.0)};
  }

  /// What the kernels of sums take beside their memory: so much for each row of neighbours in the
  /// operand that are all summed, or all not.
  double sumSeconds() const {
    constexpr double kMostCyclesOfTerms = 20, kCyclesOfSums = 3;
    constexpr double kFlopsPerCycle = 4; // of each lane: two multiplications, two additions
    const auto isTerm = [&](std::size_t dim) { return dims[dim].dimClass == DimClass::K; };
    const bool areTerms = isTerm(dims.fastest(Role::A));
    DimCounts row(dims.size(), 1);
    for (std::size_t dim = 0; dim < dims.size(); ++dim)
      if (isTerm(dim) == areTerms)
        row[dim] = dims.extent(dim);
    const double run = dims.run(Role::A, row);
    const double lanes = toDouble(machine.vectorBytes) / elementBytes();
    // Few terms are added one by one.
    const double cycles = areTerms ? std::min(run + 2, kMostCyclesOfTerms) : kCyclesOfSums;
    return dims.elements(Role::A) / run * cycles * kFlopsPerCycle * lanes /
           machine.flopsPerSecond(type);
  }

  /// Elements that a permutation takes along a tensor at a time: those of the fastest dim, or,
  /// where that one is short, of those that follow it, too.
  double rowOf(Role role) const {
    const double row = toDouble(dims.extent(dims.fastest(role)));
    if (row * elementBytes() >= copies::kLineBytes)
      return row;
    DimCounts whole(dims.size(), 1);
    for (std::size_t dim = 0; dim < dims.size(); ++dim)
      if (dims.extent(dim) <= copies::kMostRun)
        whole[dim] = dims.extent(dim);
    return std::min(dims.run(role, whole), copies::kRunBytes / elementBytes());
  }

  /// Whether the tensor and the result have both of each other's fastest dims.
  bool isCrossed(Role role) const {
    const std::size_t unit = dims.fastest(role);
    return unit != inner && inner < dims.size() && unit < dims.size() &&
           dims.stride(Role::C, unit) != 0 && dims.stride(role, inner) != 0;
  }

  /// Of a kernel that vectorises along the fastest dim of the result; sums of a scalar or of
  /// batches have as many operands a flop as products with k = 1. Sums of one column are several
  /// for each row, and tiny products wait for their calls: neither waits for few sums under way.
  double efficiency(const DimCounts &counts) const {
    TileSize tile;
    for (std::size_t dim = 0; dim < dims.size(); ++dim) {
      if (dims[dim].dimClass == DimClass::K)
        tile.k *= toDouble(counts[dim]);
      if (dim == inner)
        tile.m = toDouble(counts[dim]);
      else if (dims[dim].dimClass == DimClass::N)
        tile.n *= toDouble(counts[dim]);
    }
    const std::size_t unit = dims.fastest(Role::A);
    const bool isAlongK = unit < dims.size() && dims[unit].dimClass == DimClass::K &&
                          dims.elements(Role::C) * 4 < dims.iterations();
    if (inner < dims.size() && dims[inner].dimClass != DimClass::C && !isAlongK)
      return tileEfficiency(machine, type, tile) *
             (mayBeBlocks(dims) ? occupancy(machine, type, tile) : 1);
    tile.m = std::max(tile.m, isAlongK ? tile.k : 1);
    tile.k = 1;
    return tileEfficiency(machine, type, tile);
  }

  const WorkDims &dims;
  ElementType type;
  const Machine &machine;
  std::size_t inner; ///< the fastest dim of the result
  MemoryModel memory;
};

} // namespace

LocalCost streamCost(const WorkDims &dims, ElementType type, const Machine &machine) {
  return StreamCost(dims, type, machine).contraction();
}

LocalCost unaryCost(const WorkDims &dims, ElementType type, const Machine &machine) {
  return StreamCost(dims, type, machine).unary();
}

} // namespace einsumc
