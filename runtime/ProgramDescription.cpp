//===- ProgramDescription.cpp - what an emitted program says of itself ------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "einsumc/Program.h"

namespace einsumc {

void ProgramDescription::addDim(const char *dimName, int64_t extent) {
  dims.push_back({dimName, extent});
}

void ProgramDescription::addInput(const char *tensorName, std::initializer_list<int> tensorDims,
                                  const Layout &layout) {
  tensors.push_back({tensorName, tensorDims, layout, true, false, {}});
}

void ProgramDescription::addResult(const char *tensorName, std::initializer_list<int> tensorDims,
                                   const Layout &layout, bool isOutput) {
  tensors.push_back({tensorName, tensorDims, layout, false, isOutput, {}});
}

void ProgramDescription::addSlice(int dim, int64_t parts) { slices.push_back({dim, parts}); }

void ProgramDescription::setSliceRoles(int tensor, std::initializer_list<SliceRole> roles) {
  tensors[static_cast<std::size_t>(tensor)].sliceRoles = roles;
}

void ProgramDescription::addNode(int tensor, const char *text, const char *algorithm,
                                 const char *grid, double flops, double predictedSeconds,
                                 double predictedBytes, int64_t predictedMessages,
                                 std::initializer_list<Use> operands) {
  NodeDescription node;
  node.tensor = tensor;
  for (const Use &use : operands)
    node.operands.push_back({use.tensor, use.dims, use.isSpent});
  node.text = text;
  node.algorithm = algorithm;
  node.grid = grid;
  node.flops = flops;
  node.predictedSeconds = predictedSeconds;
  node.predictedBytes = predictedBytes;
  node.predictedMessages = predictedMessages;
  nodes.push_back(std::move(node));
}

} // namespace einsumc
