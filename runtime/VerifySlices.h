//===- VerifySlices.h - whether slices make up the whole --------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_VERIFYSLICES_H
#define EINSUMC_RUNTIME_VERIFYSLICES_H

#include "LocalSums.h"
#include "NodeSums.h"
#include "SliceLoop.h"
#include "Verify.h"
#include "einsumc/Program.h"

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace einsumc {

class WholeOutputs;

/// Verifies an evaluation in slices: each slice as an evaluation of its own, before its outputs are
/// added to others; the sums of slices by random projections; and of a tree that is small as a
/// whole, every element of its outputs, from inputs that are filled anew without slices.
class SliceVerification : public SliceObserver {
public:
  SliceVerification(Session &session, const ProgramDescription &description, Program &program,
                    FillInput fill, const VerifyOptions &options);
  ~SliceVerification() override;

  void afterSlice(const SliceIndex &index, const SliceSums &sums) override;
  void afterOutput(int tensor, const TensorView &view, const SliceIndex &index) override;

  /// What the evaluation, which is over, has shown. Collective.
  Verification finish();

private:
  /// A projection of what should be in a block, by rank.
  struct Projection {
    std::vector<WeightedSum> sums;
    int64_t slices = 0;
  };
  /// A block in which slices are added up: the output, and where its region begins.
  using BlockKey = std::pair<int, std::vector<int64_t>>;

  BlockKey keyOf(int tensor, const SliceIndex &index) const;
  std::vector<WeightedSum> project(int tensor, const TensorView &view) const;
  void checkSum(int tensor, const TensorView &view, const SliceIndex &index,
                const Projection &expected);

  Session &session;
  const ProgramDescription &description;
  Program &program;
  FillInput fill;
  VerifyOptions options;
  ProgramCheck check;
  std::set<std::string> methods, notes;
  std::map<BlockKey, Projection> projections;
  std::unique_ptr<WholeOutputs> whole; ///< of a tree that is small as a whole
  bool hasSums = false;
};

} // namespace einsumc

#endif // EINSUMC_RUNTIME_VERIFYSLICES_H
