//===- PanelParts.h - panels of packed blocks across dims -------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_PANELPARTS_H
#define EINSUMC_RUNTIME_PANELPARTS_H

#include "BlockLoops.h"
#include "CopyLoops.h"

#include "einsumc/BlockKernel.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace einsumc {

/// A part of panels that end in the midst of dims: so many indices of a dim in each of so many
/// panels, from the index \p at of one on.
struct PanelPart {
  int64_t panel, at, indices, panels;
  int64_t from; ///< of the first index, in elements of the tensor
};

/// Calls body(part) for all indices of the first of \p dims, for each of the others: whole panels
/// together, and pieces where panels begin or end with other indices.
template <class Body>
void forEachPanelPart(std::span<const BlockDim> dims, std::span<const int64_t> counts,
                      int64_t BlockDim::*inTensor, int64_t inPanel, Body &&body) {
  if (std::find(counts.begin(), counts.end(), 0) != counts.end())
    return;
  if (dims.empty())
    return body(PanelPart{0, 0, 1, 1, 0});
  std::array<Loop, LoopNest::kMaxLoops> outer;
  const int64_t count = counts[0];
  int64_t step = count;
  for (std::size_t d = 1; d < dims.size(); step *= counts[d++])
    outer[d - 1] = {counts[d], step, dims[d].*inTensor};
  forEachStep({outer.data(), dims.size() - 1}, [&](int64_t index, int64_t from) {
    for (int64_t done = 0; done < count;) {
      PanelPart part = {(index + done) / inPanel, (index + done) % inPanel, inPanel, 1,
                        from + done * dims[0].*inTensor};
      if (part.at == 0 && count - done >= inPanel)
        part.panels = (count - done) / inPanel;
      else
        part.indices = std::min(count - done, inPanel - part.at);
      body(part);
      done += part.indices * part.panels;
    }
  });
}

/// The loops of a copy of \p part into panels that lie \p panel elements apart, outside of the
/// \p others; the indices lie \p inTensor elements apart.
inline BlockLoops loopsOf(const PanelPart &part, int64_t panel, int64_t inTensor,
                          BlockLoops others) {
  others.add(part.indices, 1, inTensor);
  others.add(part.panels, panel, part.indices * inTensor);
  return others;
}

} // namespace einsumc

#endif // EINSUMC_RUNTIME_PANELPARTS_H
