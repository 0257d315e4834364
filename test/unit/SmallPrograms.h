//===- SmallPrograms.h - program descriptions for tests ---------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_TEST_UNIT_SMALLPROGRAMS_H
#define EINSUMC_TEST_UNIT_SMALLPROGRAMS_H

#include "einsumc/Program.h"

#include <cstdint>
#include <string>
#include <vector>

namespace einsumc::test {

/// Builds a description by the letters of its dims, as an einsum writes them.
class DescriptionBuilder {
public:
  DescriptionBuilder(int64_t ranks, DType dtype) {
    description.name = "test";
    description.ranks = ranks;
    description.dtype = dtype;
    description.plan = "the plan\n";
  }

  DescriptionBuilder &dim(char letter, int64_t extent) {
    description.dims.push_back({std::string(1, letter), extent});
    return *this;
  }

  /// A tensor on a grid of all ranks with one axis, unless a grid is given.
  DescriptionBuilder &input(const std::string &name, const std::string &dims, AxisPlacement axis) {
    addTensor(name, dims, {{description.ranks}, 0}, {axis});
    description.tensors.back().isInput = true;
    return *this;
  }
  DescriptionBuilder &node(const std::string &name, const std::string &dims, AxisPlacement axis,
                           const std::vector<std::string> &operands) {
    return node(name, dims, {{description.ranks}, 0}, {axis}, operands);
  }
  /// \param operands each a tensor's name, a space, and its dims here: `A ik`
  DescriptionBuilder &node(const std::string &name, const std::string &dims, const Grid &grid,
                           const std::vector<AxisPlacement> &axes,
                           const std::vector<std::string> &operands) {
    addTensor(name, dims, grid, axes);
    NodeDescription result;
    result.tensor = static_cast<int>(description.tensors.size()) - 1;
    result.text = name + "[" + dims + "] = ...";
    result.algorithm = "local";
    result.flops = 1000;
    for (const std::string &operand : operands) {
      const std::size_t space = operand.find(' ');
      result.operands.push_back(
          {tensor(operand.substr(0, space)), dimsOf(operand.substr(space + 1))});
    }
    description.nodes.push_back(result);
    return *this;
  }
  DescriptionBuilder &output(const std::string &name) {
    description.tensors[static_cast<std::size_t>(tensor(name))].isOutput = true;
    return *this;
  }
  DescriptionBuilder &finallyAtRoot(const std::string &name) {
    Layout layout = description.tensors[static_cast<std::size_t>(tensor(name))].layout;
    layout.grid = {{description.ranks}, 0};
    layout.axes = {atRoot()};
    description.finalLayouts.emplace_back(tensor(name), layout);
    return *this;
  }
  ProgramDescription build() const { return description; }

private:
  int tensor(const std::string &name) const {
    for (std::size_t i = 0; i < description.tensors.size(); ++i)
      if (description.tensors[i].name == name)
        return static_cast<int>(i);
    throw Error("no tensor " + name);
  }
  std::vector<int> dimsOf(const std::string &letters) const {
    std::vector<int> dims;
    for (const char letter : letters)
      for (std::size_t d = 0; d < description.dims.size(); ++d)
        if (description.dims[d].name[0] == letter)
          dims.push_back(static_cast<int>(d));
    return dims;
  }
  void addTensor(const std::string &name, const std::string &letters, const Grid &grid,
                 const std::vector<AxisPlacement> &axes) {
    TensorDescription tensor;
    tensor.name = name;
    tensor.dims = dimsOf(letters);
    for (const int dim : tensor.dims)
      tensor.layout.extents.push_back(description.dims[static_cast<std::size_t>(dim)].extent);
    tensor.layout.grid = grid;
    tensor.layout.axes = axes;
    description.tensors.push_back(tensor);
  }

  ProgramDescription description;
};

/// T[m,n] = A[m,k] * B[k,n]; Y[m,p] = T[m,n] * V[n,p].
/// \param middle the placement of T
/// \param last the placement of Y
inline ProgramDescription chainProgram(int64_t ranks, DType dtype, AxisPlacement middle,
                                       AxisPlacement last, int64_t scale = 1) {
  return DescriptionBuilder(ranks, dtype)
      .dim('m', 6 * scale + 1)
      .dim('k', 5 * scale)
      .dim('n', 7 * scale)
      .dim('p', 4 * scale)
      .input("A", "mk", split(0))
      .input("B", "kn", copied())
      .input("V", "np", split(1))
      .node("T", "mn", middle, {"A mk", "B kn"})
      .node("Y", "mp", last, {"T mn", "V np"})
      .output("Y")
      .build();
}

} // namespace einsumc::test

#endif // EINSUMC_TEST_UNIT_SMALLPROGRAMS_H
