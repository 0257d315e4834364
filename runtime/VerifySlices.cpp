//===- VerifySlices.cpp - whether slices make up the whole ------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "VerifySlices.h"

#include "Format.h"
#include "GatherBlocks.h"
#include "Region.h"
#include "VerifyWhole.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <span>

namespace einsumc {

namespace {

/// The same tree, not sliced, with all tensors on rank 0.
ProgramDescription wholeDescription(const ProgramDescription &sliced) {
  ProgramDescription whole = sliced;
  for (std::size_t i = 0; i < whole.tensors.size(); ++i) {
    Layout &layout = whole.tensors[i].layout;
    layout.extents = wholeExtents(sliced, static_cast<int>(i));
    layout.grid.extents = {sliced.ranks};
    layout.grid.firstRank = 0;
    layout.axes = {atRoot()};
  }
  for (const SliceDescription &slice : sliced.slices)
    whole.dims[static_cast<std::size_t>(slice.dim)].extent *= slice.parts;
  whole.slices.clear();
  whole.finalLayouts.clear();
  return whole;
}

/// ` of slice [3,0] (d 36:48, e 0:4)`
std::string sliceName(const ProgramDescription &description, const SliceIndex &index) {
  std::string text;
  for (std::size_t s = 0; s < index.size(); ++s) {
    const DimDescription &dim =
        description.dims[static_cast<std::size_t>(description.slices[s].dim)];
    text += (s == 0 ? "" : ", ") + dim.name + " " + std::to_string(index[s] * dim.extent) + ":" +
            std::to_string((index[s] + 1) * dim.extent);
  }
  return " of slice " + formatIndex(index) + " (" + text + ")";
}

std::string joined(const std::set<std::string> &texts, const std::string &separator) {
  std::string result;
  for (const std::string &text : texts)
    result += (result.empty() ? "" : separator) + text;
  return result;
}

} // namespace

/// The whole tensors of a small tree on rank 0: as a program that has run, for `verifyWhole`.
class WholeOutputs : public Program {
public:
  WholeOutputs(const Communicator &comm, const ProgramDescription &sliced)
      : comm(comm), description(wholeDescription(sliced)), data(description.tensors.size()) {}

  /// Takes over what is complete of an output.
  void keep(int tensor, const TensorView &view, const Region &region) {
    const TensorView target = viewOf(tensor);
    gatherBlocks(
        comm, view, [&](int64_t rank) { return view.layout->isPrimary(rank); },
        [&](int64_t rank, std::span<const double> values) {
          forEachElement(region.shifted(view.layout->box(rank)), region.extents,
                         [&](std::size_t i, std::size_t offset, const std::vector<int64_t> &) {
                           if (target.dtype == DType::F32)
                             target.elements<float>()[offset] = static_cast<float>(values[i]);
                           else
                             target.elements<double>()[offset] = values[i];
                         });
        });
  }

  /// Compares the outputs. Collective; the finding is rank 0's.
  Finding compare(const FillInput &fill) {
    for (std::size_t i = 0; i < description.tensors.size(); ++i)
      if (description.tensors[i].isInput)
        fill(static_cast<int>(i), viewOf(static_cast<int>(i)),
             Region(description.tensors[i].layout));
    return verifyWhole(comm, description, *this).finding;
  }

  bool isSmall(int64_t limit) const { return einsumc::isSmall(description, limit); }

  void run() override {}
  TensorView tensor(int index) override { return viewOf(index); }
  TensorView output(int index) override { return viewOf(index); }

private:
  TensorView viewOf(int tensor) {
    const auto i = static_cast<std::size_t>(tensor);
    const Layout &layout = description.tensors[i].layout;
    TensorView view{description.dtype, &layout, layout.box(comm.rank()), layout.holds(comm.rank()),
                    nullptr};
    if (view.held && data[i].empty()) // What no slice fills is a NaN.
      data[i].assign(static_cast<std::size_t>(volume(view.box)) * sizeOf(view.dtype),
                     std::byte{0xFF});
    view.data = data[i].data();
    return view;
  }

  const Communicator &comm;
  ProgramDescription description;
  std::vector<std::vector<std::byte>> data; ///< by tensor, rank 0's
};

SliceVerification::SliceVerification(Session &session, const ProgramDescription &description,
                                     Program &program, FillInput fill, const VerifyOptions &options)
    : session(session), description(description), program(program), fill(std::move(fill)),
      options(options), whole(std::make_unique<WholeOutputs>(session.comm(), description)) {
  if (!whole->isSmall(options.wholeLimit))
    whole.reset();
}

SliceVerification::~SliceVerification() = default;

SliceVerification::BlockKey SliceVerification::keyOf(int tensor, const SliceIndex &index) const {
  return {tensor, regionOf(description, tensor, index).origin};
}

std::vector<WeightedSum> SliceVerification::project(int tensor, const TensorView &view) const {
  Window all;
  for (const DimDescription &dim : description.dims)
    all.push_back({0, dim.extent});
  const std::vector<int> &dims = description.tensors[static_cast<std::size_t>(tensor)].dims;
  const Weights weights(mixBits(options.seed ^ mixBits(static_cast<uint64_t>(tensor))), dims);
  return heldSums(session.comm(), {view, dims}, all, weights);
}

void SliceVerification::afterSlice(const SliceIndex &index, const SliceSums &sums) {
  ProgramCheck slice = checkProgram(session, description, program, options);
  if (!slice.finding.where.empty())
    slice.finding.where += sliceName(description, index);
  keepWorse(check.finding, slice.finding);
  methods.insert(slice.method);
  notes.insert(slice.notes);
  for (std::size_t i = 0; i < description.tensors.size(); ++i) {
    const auto tensor = static_cast<int>(i);
    if (!description.tensors[i].isOutput || !sums.hasSums(tensor) ||
        !sums.stepOf(tensor, index).counts)
      continue;
    hasSums = true;
    Projection &sum = projections[keyOf(tensor, index)];
    const std::vector<WeightedSum> added = project(tensor, program.output(tensor));
    sum.sums.resize(added.size());
    ++sum.slices;
    for (std::size_t rank = 0; rank < added.size(); ++rank) {
      sum.sums[rank].value += added[rank].value;
      sum.sums[rank].measure += added[rank].measure;
    }
  }
}

void SliceVerification::afterOutput(int tensor, const TensorView &view, const SliceIndex &index) {
  const Region region = regionOf(description, tensor, index);
  if (whole)
    whole->keep(tensor, view, region);
  const auto found = projections.find(keyOf(tensor, index));
  if (found == projections.end())
    return;
  checkSum(tensor, view, index, found->second);
  projections.erase(found);
}

/// An element's sum over s slices takes s - 1 roundings of partial sums, each of which is at most
/// sqrt(s) times the root of the sum of squares of its terms; the weights give errors random signs.
void SliceVerification::checkSum(int tensor, const TensorView &view, const SliceIndex &index,
                                 const Projection &expected) {
  constexpr double kWalk = 16;      // standard deviations, more or less
  constexpr double kLargest = 0.05; // A result must not excuse itself by its own size.
  const std::vector<WeightedSum> found = project(tensor, view);
  const auto slices = static_cast<double>(expected.slices);
  const double relative =
      std::min(kLargest, kWalk / 2 * epsilonOf(description.dtype) * slices * std::sqrt(slices));
  for (std::size_t rank = 0; rank < found.size(); ++rank) {
    if (!view.layout->holds(static_cast<int64_t>(rank)) ||
        !std::isfinite(expected.sums[rank].value))
      continue;
    const auto elements = static_cast<double>(view.layout->localSize(static_cast<int64_t>(rank)));
    const double bound = relative * std::sqrt(expected.sums[rank].measure) +
                         slices * std::sqrt(elements) * tiniestOf(description.dtype);
    keepWorse(check.finding,
              {std::abs(found[rank].value - expected.sums[rank].value), bound,
               description.tensors[static_cast<std::size_t>(tensor)].name +
                   " (random projection of the sum of slices on rank " + std::to_string(rank) +
                   ", complete with" + sliceName(description, index).substr(3) + ")"});
  }
}

Verification SliceVerification::finish() {
  if (whole)
    keepWorse(check.finding, whole->compare(fill));
  check.method = "every slice: " + joined(methods, "; or ");
  if (hasSums)
    check.method += "; sums of slices: random projections";
  if (whole)
    check.method += "; all slices together: every element of the outputs against f64";
  check.notes = joined(notes, "");
  return conclude(session.comm(), check);
}

} // namespace einsumc
