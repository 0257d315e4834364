//===- ReferenceProgram.h - any program, slowly -----------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_TEST_UNIT_REFERENCEPROGRAM_H
#define EINSUMC_TEST_UNIT_REFERENCEPROGRAM_H

#include "einsumc/Program.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace einsumc::test {

/// Evaluates a program description whatever its layouts: every rank gets full copies of a node's
/// operands and computes its own block with plain loops; on a Partial axis each rank takes a
/// part of the first summed dim.
template <class T> class ReferenceProgram : public Program {
public:
  /// Called after each node, before anybody looks: to do damage.
  using Hook = std::function<void(int node, ReferenceProgram &)>;

  ReferenceProgram(Session &session, const ProgramDescription &description, Hook hook = {})
      : session(session), description(description), hook(std::move(hook)) {
    const Grid everywhere{{session.comm().size()}, 0};
    for (const TensorDescription &tensor : description.tensors)
      fullLayouts.push_back({tensor.layout.extents, everywhere, {copied()}});
    for (std::size_t i = 0; i < description.tensors.size(); ++i) {
      const Layout &layout = description.tensors[i].layout;
      tensors.emplace_back(session.memory(), layout, session.rank());
      copies.emplace_back(session.memory(), fullLayouts[i], session.rank());
      exchanges.push_back(std::make_unique<Exchange<T>>(session.comm(), session.messageMemory(),
                                                        layout, fullLayouts[i],
                                                        static_cast<int>(10 + i)));
    }
    for (const auto &[tensor, layout] : description.finalLayouts) {
      finals.emplace(tensor, Tensor<T>(session.memory(), layout, session.rank()));
      finalExchanges.emplace(tensor,
                             std::make_unique<Exchange<T>>(
                                 session.comm(), session.messageMemory(),
                                 description.tensors[static_cast<std::size_t>(tensor)].layout,
                                 layout, 100 + tensor));
    }
  }

  void run() override {
    for (std::size_t i = 0; i < description.nodes.size(); ++i) {
      session.beginNode(static_cast<int>(i));
      evaluate(description.nodes[i]);
      const int tensor = description.nodes[i].tensor;
      if (const auto found = finals.find(tensor); found != finals.end())
        session.exchange(*finalExchanges.at(tensor), at(tensors, tensor), found->second);
      if (hook)
        hook(static_cast<int>(i), *this);
      session.endNode(static_cast<int>(i));
    }
    if (hook)
      hook(-1, *this);
  }

  TensorView tensor(int index) override { return TensorView::of(at(tensors, index)); }
  TensorView output(int index) override {
    const auto found = finals.find(index);
    return found == finals.end() ? tensor(index) : TensorView::of(found->second);
  }

private:
  template <class List> static auto &at(List &list, int index) {
    return list[static_cast<std::size_t>(index)];
  }

  /// One loop of a node; the result's strides come first, then the operands'.
  struct Loop {
    Interval range;
    std::vector<int64_t> strides;
  };

  void evaluate(const NodeDescription &node) {
    for (const OperandDescription &operand : node.operands)
      session.exchange(*at(exchanges, operand.tensor), at(tensors, operand.tensor),
                       at(copies, operand.tensor));
    const Tensor<T> &result = at(tensors, node.tensor);
    if (!result.held())
      return;
    std::fill_n(result.data(), result.size(), T{0});
    std::vector<int64_t> offsets(node.operands.size() + 1);
    for (std::size_t p = 0; p < result.box().size(); ++p)
      offsets[0] -= result.box()[p].begin * result.stride(p);
    descend(node, loopsOf(node), 0, offsets);
  }

  std::vector<Loop> loopsOf(const NodeDescription &node) {
    const Tensor<T> &result = at(tensors, node.tensor);
    const std::vector<int> &resultDims = at(description.tensors, node.tensor).dims;
    std::vector<int> dims = resultDims;
    for (const OperandDescription &operand : node.operands)
      for (const int dim : operand.dims)
        if (std::find(dims.begin(), dims.end(), dim) == dims.end())
          dims.push_back(dim);
    std::vector<Loop> loops;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      Loop loop{{0, at(description.dims, dims[d]).extent}, {0}};
      if (d < resultDims.size()) {
        loop.range = result.box()[d];
        loop.strides[0] = result.stride(d);
      } else if (d == resultDims.size()) {
        loop.range = partialRange(result.layout(), loop.range);
      }
      for (const OperandDescription &operand : node.operands) {
        loop.strides.push_back(0);
        for (std::size_t p = 0; p < operand.dims.size(); ++p)
          if (operand.dims[p] == dims[d])
            loop.strides.back() += at(copies, operand.tensor).stride(p);
      }
      loops.push_back(loop);
    }
    return loops;
  }

  Interval partialRange(const Layout &layout, Interval range) const {
    const std::vector<int64_t> coordinates = layout.grid.coordinates(session.rank());
    for (std::size_t axis = 0; axis < layout.axes.size(); ++axis)
      if (layout.axes[axis].kind == AxisKind::Partial)
        range = blockOf(range, layout.grid.extents[axis], coordinates[axis]);
    return range;
  }

  void descend(const NodeDescription &node, const std::vector<Loop> &loops, std::size_t depth,
               const std::vector<int64_t> &offsets) {
    if (depth == loops.size()) {
      T value = 1;
      for (std::size_t i = 0; i < node.operands.size(); ++i)
        value *= at(copies, node.operands[i].tensor).data()[offsets[i + 1]];
      at(tensors, node.tensor).data()[offsets[0]] += value;
      return;
    }
    for (int64_t i = loops[depth].range.begin; i < loops[depth].range.end; ++i) {
      std::vector<int64_t> inner = offsets;
      for (std::size_t t = 0; t < inner.size(); ++t)
        inner[t] += i * loops[depth].strides[t];
      descend(node, loops, depth + 1, inner);
    }
  }

  Session &session;
  const ProgramDescription &description;
  Hook hook;
  std::deque<Layout> fullLayouts;
  std::deque<Tensor<T>> tensors;
  std::deque<Tensor<T>> copies;
  std::deque<std::unique_ptr<Exchange<T>>> exchanges;
  std::map<int, Tensor<T>> finals;
  std::map<int, std::unique_ptr<Exchange<T>>> finalExchanges;
};

} // namespace einsumc::test

#endif // EINSUMC_TEST_UNIT_REFERENCEPROGRAM_H
