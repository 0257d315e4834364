//===- BoxView.h - where a box lies in a row-major block --------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_BOXVIEW_H
#define EINSUMC_RUNTIME_BOXVIEW_H

#include "einsumc/Layout.h"
#include "einsumc/StridedCopy.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace einsumc {

/// Where a box lies in a row-major block around it, in elements.
struct BoxView {
  int64_t offset = 0; ///< of its first
  std::vector<int64_t> strides;

  BoxView(const Box &box, const Box &block) : strides(block.size()) {
    int64_t stride = 1;
    for (std::size_t p = block.size(); p-- > 0; stride *= block[p].size()) {
      strides[p] = stride;
      offset += (box[p].begin - block[p].begin) * stride;
    }
  }
};

/// The loops that copy a box from one view of it to another.
inline std::vector<CopyLoop> copyLoops(const Box &box, const BoxView &to, const BoxView &from) {
  std::vector<CopyLoop> loops;
  loops.reserve(box.size());
  for (std::size_t p = 0; p < box.size(); ++p)
    loops.push_back({box[p].size(), to.strides[p], from.strides[p]});
  return loops;
}

} // namespace einsumc

#endif // EINSUMC_RUNTIME_BOXVIEW_H
