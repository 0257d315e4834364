//===- SliceLoop.h - one evaluation of a tree, slice by slice ---------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_SLICELOOP_H
#define EINSUMC_RUNTIME_SLICELOOP_H

#include "Region.h"
#include "SliceSums.h"
#include "Statistics.h"
#include "einsumc/Program.h"

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

namespace einsumc {

/// A slice: the part of every sliced dim that it is.
using SliceIndex = std::vector<int64_t>;

/// Looks at an evaluation while it goes on; its time does not count.
class SliceObserver {
public:
  virtual ~SliceObserver() = default;
  virtual void beforeSlice(const SliceIndex &) {}
  /// The slice's inputs and outputs are in place; its outputs are not added to others yet.
  virtual void afterSlice(const SliceIndex &, const SliceSums &) {}
  /// A region of an output is complete: that of the tensor in the slice.
  virtual void afterOutput(int /*tensor*/, const TensorView &, const SliceIndex &) {}
};

/// Fills an input, which is a region of a whole one.
using FillInput = std::function<void(int tensor, const TensorView &, const Region &)>;

/// Whether the tensor has a dim that is sliced.
bool isSliced(const ProgramDescription &description, int tensor);

/// The slice that comes last.
SliceIndex lastSlice(const ProgramDescription &description);

/// Evaluates a program's slices in turn.
class SliceLoop {
public:
  SliceLoop(Session &session, const ProgramDescription &description, Program &program,
            FillInput fill);

  /// Evaluates all slices: fills the inputs that have sliced dims wherever their region changes,
  /// runs the program, adds up outputs. The run is added to the records. Collective.
  void run(Recorder &recorder, SliceObserver &observer);

private:
  void fillInputs(const SliceIndex &index);

  Session &session;
  const ProgramDescription &description;
  Program &program;
  FillInput fill;
  SliceSums sums;
  std::map<int, Region> filled; ///< by input: what it has now
};

} // namespace einsumc

#endif // EINSUMC_RUNTIME_SLICELOOP_H
