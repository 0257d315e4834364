//===- StreamCost.cpp - the estimate for nodes that memory limits -----------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/StreamCost.h"

#include "compiler/plan/MemoryModel.h"

#include <algorithm>

namespace einsumc {

namespace {

class StreamCost {
public:
  StreamCost(const WorkDims &dims, ElementType type, const Machine &machine)
      : dims(dims), type(type), machine(machine), inner(dims.fastest(Role::C)),
        memory(machine, elementBytes(),
               elementBytes() *
                   (dims.elements(Role::A) + dims.elements(Role::B) + dims.elements(Role::C))) {}

  LocalCost contraction() const {
    LocalCost cost = traffic({Role::A, Role::B, Role::C});
    cost.kernelSeconds = 2 * dims.iterations() / machine.flopsPerSecond(type) +
                         calls() * machine.kernelOverhead / static_cast<double>(machine.threads);
    return cost;
  }

  LocalCost unary() const { return traffic({Role::A, Role::C}); }

private:
  double elementBytes() const { return static_cast<double>(sizeInBytes(type)); }

  /// Every tensor once, in memorySeconds; what rows and crossing them take beyond in packSeconds.
  LocalCost traffic(std::initializer_list<Role> roles) const {
    LocalCost cost;
    for (const Role role : roles) {
      const double elements = dims.elements(role);
      const std::size_t unit = dims.fastest(role);
      cost.memorySeconds += memory.stream(elements);
      if (unit == dims.size())
        continue;
      const double row = static_cast<double>(dims.extent(unit));
      cost.packSeconds +=
          isCrossed(role, unit) ? memory.pack({elements, row, true}) : memory.rows(elements / row);
    }
    return cost;
  }

  /// Whether the tensor and the result have both of each other's fastest dims.
  bool isCrossed(Role role, std::size_t unit) const {
    return unit != inner && inner != dims.size() && dims.stride(Role::C, unit) != 0 &&
           dims.stride(role, inner) != 0;
  }

  /// Calls of tile kernels: each goes along one dim of each class.
  double calls() const {
    constexpr int64_t kStream = 2048;
    double product = dims.iterations();
    for (const DimClass dimClass : {DimClass::C, DimClass::M, DimClass::N, DimClass::K}) {
      const DimIndices candidates =
          dims.bySpeed(dimClass, dimClass == DimClass::K ? Role::A : Role::C);
      if (!candidates.empty())
        product /= static_cast<double>(std::min(dims.extent(candidates.front()), kStream));
    }
    return product;
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
