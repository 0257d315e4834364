//===- VerifyWhole.cpp - small trees, every element -------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "VerifyWhole.h"

#include "Format.h"
#include "GatherBlocks.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace einsumc {
namespace {

const TensorDescription &tensorAt(const ProgramDescription &description, int index) {
  return description.tensors[static_cast<std::size_t>(index)];
}

/// The dims of a node, each once: those of the result first.
std::vector<int> dimsOf(const ProgramDescription &description, const NodeDescription &node) {
  std::vector<int> dims;
  const auto add = [&](const std::vector<int> &more) {
    for (const int dim : more)
      if (std::find(dims.begin(), dims.end(), dim) == dims.end())
        dims.push_back(dim);
  };
  add(tensorAt(description, node.tensor).dims);
  for (const OperandDescription &operand : node.operands)
    add(operand.dims);
  return dims;
}

/// A whole tensor in f64.
struct Dense {
  std::vector<double> values;
  /// The same evaluated on absolute values: what a relative error of each operation is worth.
  std::vector<double> magnitudes;
  /// Relative roundings that an element has met: error <= roundings * epsilon * magnitude.
  double roundings = 0;
};

/// How far an index of each dim steps in a row-major tensor.
std::vector<int64_t> strideOfDims(const std::vector<int64_t> &extents,
                                  const std::vector<int> &dimOfPosition,
                                  const std::vector<int> &dims) {
  std::vector<int64_t> strides(dims.size());
  int64_t stride = 1;
  for (std::size_t p = extents.size(); p-- > 0; stride *= extents[p])
    for (std::size_t d = 0; d < dims.size(); ++d)
      if (dims[d] == dimOfPosition[p])
        strides[d] += stride;
  return strides;
}

/// A node's loops: the offsets of the result and its operands, stepped through all dims.
class NodeLoops {
public:
  NodeLoops(const ProgramDescription &description, const NodeDescription &node) {
    const std::vector<int> dims = dimsOf(description, node);
    for (const int dim : dims)
      extents.push_back(description.dims[static_cast<std::size_t>(dim)].extent);
    const TensorDescription &result = tensorAt(description, node.tensor);
    strides.push_back(strideOfDims(result.layout.extents, result.dims, dims));
    for (const OperandDescription &operand : node.operands)
      strides.push_back(
          strideOfDims(tensorAt(description, operand.tensor).layout.extents, operand.dims, dims));
  }

  /// Calls \p visit with the offsets of result and operands for every index of all dims.
  template <class Visit> void run(Visit &&visit) const {
    std::vector<std::size_t> offsets(strides.size());
    descend(0, offsets, visit);
  }

private:
  template <class Visit>
  void descend(std::size_t depth, std::vector<std::size_t> &offsets, Visit &visit) const {
    if (depth == extents.size()) {
      visit(offsets);
      return;
    }
    const std::vector<std::size_t> start = offsets;
    for (int64_t i = 0; i < extents[depth]; ++i) {
      descend(depth + 1, offsets, visit);
      for (std::size_t t = 0; t < strides.size(); ++t)
        offsets[t] += static_cast<std::size_t>(strides[t][depth]);
    }
    offsets = start;
  }

  std::vector<int64_t> extents;
  std::vector<std::vector<int64_t>> strides; ///< of the result and each operand, by dim
};

std::size_t elementsOf(const ProgramDescription &description, int tensor) {
  double elements = 1;
  for (const int64_t extent : tensorAt(description, tensor).layout.extents)
    elements *= static_cast<double>(extent);
  return static_cast<std::size_t>(std::min(elements, 1e18));
}

/// The number of multiplications, as a double as it may be huge.
double iterationsOf(const ProgramDescription &description, const NodeDescription &node) {
  double iterations = 1;
  for (const int dim : dimsOf(description, node))
    iterations *= static_cast<double>(description.dims[static_cast<std::size_t>(dim)].extent);
  return iterations;
}

Dense evaluate(const ProgramDescription &description, const NodeDescription &node,
               const std::vector<Dense> &tensors) {
  const std::size_t elements = elementsOf(description, node.tensor);
  Dense result{std::vector<double>(elements), std::vector<double>(elements), 0};
  if (elements == 0)
    return result;
  const auto operand = [&](std::size_t i) -> const Dense & {
    return tensors[static_cast<std::size_t>(node.operands[i].tensor)];
  };
  NodeLoops(description, node).run([&](const std::vector<std::size_t> &offsets) {
    double value = 1, magnitude = 1;
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      value *= operand(i).values[offsets[i + 1]];
      magnitude *= operand(i).magnitudes[offsets[i + 1]];
    }
    result.values[offsets[0]] += value;
    result.magnitudes[offsets[0]] += magnitude;
  });
  // One rounding for each term of the sum, one for its product, one to store it.
  result.roundings = iterationsOf(description, node) / static_cast<double>(elements) + 2;
  for (std::size_t i = 0; i < node.operands.size(); ++i)
    result.roundings += operand(i).roundings;
  return result;
}

Dense gatherInput(const Communicator &comm, const ProgramDescription &description, int tensor,
                  Program &program) {
  const TensorView view = program.tensor(tensor);
  const std::vector<int64_t> &extents = view.layout->extents;
  Dense dense;
  if (comm.rank() == 0)
    dense.values.resize(elementsOf(description, tensor));
  gatherBlocks(
      comm, view, [&](int64_t rank) { return view.layout->isPrimary(rank); },
      [&](int64_t rank, std::span<const double> block) {
        forEachElement(view.layout->box(rank), extents,
                       [&](std::size_t i, std::size_t offset, const std::vector<int64_t> &) {
                         dense.values[offset] += block[i];
                       });
      });
  for (const double value : dense.values)
    dense.magnitudes.push_back(std::abs(value));
  return dense;
}

/// Inputs with a NaN or an infinity make results of which only that much is known.
Finding compare(double found, double expected, double bound) {
  if (!std::isfinite(expected))
    return {std::isfinite(found) ? HUGE_VAL : 0, 0, ""};
  return {std::abs(found - expected), bound, ""};
}

/// Compares what the ranks hold of an output, replicas too. The finding is rank 0's.
Finding compareOutput(const Communicator &comm, const ProgramDescription &description, int tensor,
                      const Dense &expected, Program &program) {
  const TensorView view = program.output(tensor);
  const std::string &name = tensorAt(description, tensor).name;
  const double relative = expected.roundings * epsilonOf(description.dtype);
  const double absolute = expected.roundings * tiniestOf(description.dtype);
  Finding worst;
  gatherBlocks(
      comm, view, [&](int64_t rank) { return view.layout->holds(rank); },
      [&](int64_t rank, std::span<const double> block) {
        forEachElement(view.layout->box(rank), view.layout->extents,
                       [&](std::size_t i, std::size_t offset, const std::vector<int64_t> &index) {
                         const Finding finding =
                             compare(block[i], expected.values[offset],
                                     relative * expected.magnitudes[offset] + absolute);
                         if (worst.where.empty() || finding.severity() > worst.severity())
                           worst = {finding.error, finding.bound, name + formatIndex(index)};
                       });
      });
  return worst;
}

/// Whether a wrong leading digit of an output's largest element would pass its bound.
bool isTelling(const ProgramDescription &description, const Dense &expected) {
  constexpr double kDigit = 1.0 / 16;
  double value = 0, magnitude = 0;
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    value = std::max(value, std::abs(expected.values[i]));
    magnitude = std::max(magnitude, expected.magnitudes[i]);
  }
  return expected.roundings * epsilonOf(description.dtype) * magnitude <= kDigit * value;
}

} // namespace

bool isSmall(const ProgramDescription &description, int64_t limit) {
  double iterations = 0, elements = 0;
  for (const NodeDescription &node : description.nodes)
    iterations += iterationsOf(description, node);
  for (std::size_t i = 0; i < description.tensors.size(); ++i)
    elements += static_cast<double>(elementsOf(description, static_cast<int>(i)));
  return iterations <= static_cast<double>(limit) && elements <= static_cast<double>(limit);
}

WholeFinding verifyWhole(const Communicator &comm, const ProgramDescription &description,
                         Program &program) {
  std::vector<Dense> tensors(description.tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (description.tensors[i].isInput)
      tensors[i] = gatherInput(comm, description, static_cast<int>(i), program);
  if (comm.rank() == 0)
    for (const NodeDescription &node : description.nodes)
      tensors[static_cast<std::size_t>(node.tensor)] = evaluate(description, node, tensors);

  WholeFinding result;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!description.tensors[i].isOutput)
      continue;
    keepWorse(result.finding,
              compareOutput(comm, description, static_cast<int>(i), tensors[i], program));
    result.isTelling = result.isTelling && isTelling(description, tensors[i]);
  }
  result.isTelling = broadcast(comm, result.isTelling ? "1" : "0") == "1";
  return result;
}

} // namespace einsumc
