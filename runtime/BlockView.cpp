//===- BlockView.cpp - a block of a tensor in any memory --------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "einsumc/SteppingLoop.h"

#include "BoxView.h"

#include <utility>

namespace einsumc {

template <class T>
BlockView<T>::BlockView(T *elements, Box of)
    : elements(elements), block(std::move(of)), strides(BoxView(block, block).strides) {}

template <class T>
BlockView<T>::BlockView(T *elements, const Box &around, Box part) : block(std::move(part)) {
  const BoxView view(block, around);
  this->elements = elements + view.offset;
  strides = view.strides;
}

template class BlockView<float>;
template class BlockView<double>;

} // namespace einsumc
