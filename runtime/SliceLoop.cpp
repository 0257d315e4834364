//===- SliceLoop.cpp - one evaluation of a tree, slice by slice -------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "SliceLoop.h"

#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

namespace einsumc {

bool isSliced(const ProgramDescription &description, int tensor) {
  const std::vector<int> &dims = description.tensors[static_cast<std::size_t>(tensor)].dims;
  return std::any_of(description.slices.begin(), description.slices.end(),
                     [&](const SliceDescription &slice) {
                       return std::find(dims.begin(), dims.end(), slice.dim) != dims.end();
                     });
}

SliceIndex lastSlice(const ProgramDescription &description) {
  SliceIndex last = slicePartsOf(description);
  for (int64_t &part : last)
    --part;
  return last;
}

SliceLoop::SliceLoop(Session &session, const ProgramDescription &description, Program &program,
                     FillInput fill)
    : session(session), description(description), program(program), fill(std::move(fill)),
      sums(session, description, program) {}

void SliceLoop::fillInputs(const SliceIndex &index) {
  for (std::size_t i = 0; i < description.tensors.size(); ++i) {
    const auto tensor = static_cast<int>(i);
    if (!description.tensors[i].isInput || !isSliced(description, tensor))
      continue;
    const Region region = regionOf(description, tensor, index);
    if (const auto found = filled.find(tensor); found != filled.end() && found->second == region)
      continue;
    const TensorView view = program.tensor(tensor);
    if (session.poison() && view.held && volume(view.box) > 0)
      std::memset(view.data, 0xFF, static_cast<std::size_t>(volume(view.box)) * sizeOf(view.dtype));
    fill(tensor, view, region);
    filled.insert_or_assign(tensor, region);
  }
}

void SliceLoop::run(Recorder &recorder, SliceObserver &observer) {
  const std::vector<int64_t> parts = slicePartsOf(description);
  recorder.startRun();
  for (int64_t slice = 0; slice < countSlices(parts); ++slice) {
    const SliceIndex index = sliceIndex(parts, slice);
    double start = MPI_Wtime();
    fillInputs(index);
    recorder.addInputSeconds(session, MPI_Wtime() - start);

    observer.beforeSlice(index);
    session.startRun(description.nodes.size());
    barrier(session.comm());
    start = MPI_Wtime();
    program.run();
    recorder.addSlice(session, MPI_Wtime() - start);
    observer.afterSlice(index, sums);

    for (std::size_t i = 0; i < description.tensors.size(); ++i) {
      if (!description.tensors[i].isOutput)
        continue;
      const auto tensor = static_cast<int>(i);
      start = MPI_Wtime();
      const std::optional<TensorView> complete = sums.add(tensor, index);
      recorder.addSeconds(session, MPI_Wtime() - start);
      if (complete)
        observer.afterOutput(tensor, *complete, index);
    }
  }
}

} // namespace einsumc
