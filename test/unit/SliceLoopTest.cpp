//===- SliceLoopTest.cpp - programs that are evaluated in slices ------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "../../runtime/SliceLoop.h"
#include "../../runtime/Philox.h"
#include "../../runtime/VerifySlices.h"

#include "ReferenceProgram.h"
#include "SmallPrograms.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace einsumc;
using namespace einsumc::test;

constexpr int kM = 0, kN = 2; ///< dims of chainProgram
constexpr int kA = 0, kY = 4; ///< tensors of chainProgram

int ranks() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

/// Y is a sum over n, in 3 parts, and a part of m, in 2, fills a part of it.
ProgramDescription slicedChain(DType dtype, bool sumIsOutermost) {
  ProgramDescription description = chainProgram(ranks(), dtype, split(0), split(1));
  if (sumIsOutermost)
    description.addSlice(kN, 3);
  description.addSlice(kM, 2);
  if (!sumIsOutermost)
    description.addSlice(kN, 3);
  if (sumIsOutermost)
    description.setSliceRoles(kY, {SliceRole::Adds, SliceRole::Fills});
  else
    description.setSliceRoles(kY, {SliceRole::Fills, SliceRole::Adds});
  return description;
}

/// The same tree at once.
ProgramDescription wholeChain(const ProgramDescription &sliced) {
  ProgramDescription whole = sliced;
  whole.slices.clear();
  for (const SliceDescription &slice : sliced.slices)
    whole.dims[static_cast<std::size_t>(slice.dim)].extent *= slice.parts;
  for (std::size_t t = 0; t < whole.tensors.size(); ++t)
    for (std::size_t p = 0; p < whole.tensors[t].dims.size(); ++p)
      whole.tensors[t].layout.extents[p] =
          whole.dims[static_cast<std::size_t>(whole.tensors[t].dims[p])].extent;
  return whole;
}

/// Y at a global index, wherever it is held.
using Values = std::map<std::vector<int64_t>, double>;

void addValues(const TensorView &view, const Region &region, Values &values) {
  if (!view.held)
    return;
  const Box box = region.shifted(view.box);
  std::size_t next = 0;
  for (int64_t i = box[0].begin; i < box[0].end; ++i)
    for (int64_t j = box[1].begin; j < box[1].end; ++j)
      EXPECT_TRUE(values.emplace(std::vector{i, j}, view.elements<double>()[next++]).second);
}

Values valuesOfWhole(const ProgramDescription &sliced) {
  const ProgramDescription whole = wholeChain(sliced);
  Session session(MPI_COMM_WORLD, 1);
  ReferenceProgram<double> program(session, whole);
  for (int tensor = 0; tensor < 3; ++tensor)
    fillRandom(program.tensor(tensor), 1, whole.tensors[static_cast<std::size_t>(tensor)].name);
  session.startRun(whole.nodes.size());
  program.run();
  Values values;
  addValues(program.output(kY), Region(whole.tensors[kY].layout), values);
  return values;
}

class Collector : public SliceObserver {
public:
  explicit Collector(const ProgramDescription &description) : description(description) {}
  void afterOutput(int tensor, const TensorView &view, const SliceIndex &index) override {
    addValues(view, regionOf(description, tensor, index), values);
  }
  Values values;

private:
  const ProgramDescription &description;
};

class SliceLoopOrders : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(SliceLoop, SliceLoopOrders, testing::Bool(), [](const auto &outermost) {
  return outermost.param ? "SumOutermost" : "SumInnermost";
});

TEST_P(SliceLoopOrders, SlicesMakeUpTheWholeInEveryRun) {
  const ProgramDescription description = slicedChain(DType::F64, GetParam());
  Session session(MPI_COMM_WORLD, 1);
  ReferenceProgram<double> program(session, description);
  fillRandom(program.tensor(kA), 2, "wrong"); // to be overwritten
  std::map<int, int> fills;
  SliceLoop loop(
      session, description, program, [&](int tensor, const TensorView &view, const Region &region) {
        ++fills[tensor];
        fillRandom(view, 1, description.tensors[static_cast<std::size_t>(tensor)].name, region);
      });
  const Values expected = valuesOfWhole(description);
  Recorder recorder;
  for (int run = 0; run < 2; ++run) {
    Collector collector(description);
    loop.run(recorder, collector);
    ASSERT_EQ(collector.values.size(), expected.size()); // Ranks cut p, which is not sliced.
    for (const auto &[index, value] : collector.values)
      EXPECT_NEAR(value, expected.at(index), 1e-12) << index[0] << "," << index[1];
  }
  // Inputs are filled where their part changes: A's with m, B's and V's with n.
  EXPECT_EQ(fills[0], GetParam() ? 12 : 4);
  EXPECT_EQ(fills[1], GetParam() ? 6 : 12);
  EXPECT_EQ(fills[2], GetParam() ? 6 : 12);
  const Statistics statistics = recorder.finish(session, 0, 0);
  EXPECT_EQ(statistics.repeat, 2);
  EXPECT_GT(statistics.sliceInputSeconds, 0);
}

TEST_P(SliceLoopOrders, SumsTakeTheMemoryThatTheyNeed) {
  const ProgramDescription description = slicedChain(DType::F64, GetParam());
  Session session(MPI_COMM_WORLD, 1);
  ReferenceProgram<double> program(session, description);
  const std::size_t before = session.memory().currentBytes();
  const SliceSums sums(session, description, program);
  const std::size_t block =
      8 * static_cast<std::size_t>(description.tensors[kY].layout.localSize(session.rank()));
  EXPECT_EQ(session.memory().currentBytes() - before, (GetParam() ? 2 : 1) * block);
}

VerifyOptions whole() { return {}; }
VerifyOptions nodeByNode() {
  VerifyOptions options;
  options.wholeLimit = 0;
  options.samples = 8;
  return options;
}

/// Damages what the verification looks at.
struct Damage {
  ReferenceProgram<float>::Hook hook = {};
  std::function<Region(const Region &)> region = {}; ///< that inputs are filled with
  std::function<void(const TensorView &, const SliceIndex &)> sum = {}; ///< when it is complete
  std::function<SliceIndex(const SliceIndex &)> place = {};             ///< of an output
};

Verification check(const VerifyOptions &options, const Damage &damage) {
  const ProgramDescription description = slicedChain(DType::F32, true);
  Session session(MPI_COMM_WORLD, 1);
  ReferenceProgram<float> program(session, description, damage.hook);
  const auto fill = [&](int tensor, const TensorView &view, const Region &region) {
    // The whole inputs are filled with all of them.
    const bool isWhole = view.layout->extents == region.extents;
    fillRandom(view, 1, description.tensors[static_cast<std::size_t>(tensor)].name,
               damage.region && !isWhole ? damage.region(region) : region);
  };
  SliceLoop loop(session, description, program, fill);
  SliceVerification verification(session, description, program, fill, options);
  class Observer : public SliceObserver {
  public:
    Observer(SliceVerification &verification, const Damage &damage)
        : verification(verification), damage(damage) {}
    void afterSlice(const SliceIndex &index, const SliceSums &sums) override {
      verification.afterSlice(index, sums);
    }
    void afterOutput(int tensor, const TensorView &view, const SliceIndex &index) override {
      if (damage.sum)
        damage.sum(view, index);
      verification.afterOutput(tensor, view, damage.place ? damage.place(index) : index);
    }

  private:
    SliceVerification &verification;
    const Damage &damage;
  } observer(verification, damage);
  Recorder recorder;
  loop.run(recorder, observer);
  return verification.finish();
}

bool mentions(const Verification &result, const std::string &text) {
  return result.text.find(text) != std::string::npos;
}

TEST(VerifySlices, PassesWhatIsRight) {
  const Verification small = check(whole(), {});
  EXPECT_TRUE(small.passed) << small.text;
  EXPECT_TRUE(mentions(small, "all slices together")) << small.text;
  const Verification large = check(nodeByNode(), {});
  EXPECT_TRUE(large.passed) << large.text;
  EXPECT_FALSE(mentions(large, "all slices together")) << large.text;
}

TEST(VerifySlices, FindsAWrongNodeOfOneSlice) {
  for (const VerifyOptions &options : {whole(), nodeByNode()}) {
    int evaluations = 0;
    Damage damage;
    damage.hook = [&](int node, ReferenceProgram<float> &program) {
      if (node != 1)
        return;
      const TensorView view = program.output(kY);
      if (++evaluations > 4 && view.held && volume(view.box) > 0)
        view.elements<float>()[0] += 1;
    };
    const Verification result = check(options, damage);
    EXPECT_FALSE(result.passed) << result.text;
    EXPECT_TRUE(mentions(result, "of slice [")) << result.text;
  }
}

TEST(VerifySlices, FindsAWrongSum) {
  Damage damage;
  damage.sum = [](const TensorView &view, const SliceIndex &index) {
    if (index[1] == 1 && view.held && volume(view.box) > 0)
      view.elements<float>().back() *= 1.5F;
  };
  const Verification small = check(whole(), damage);
  EXPECT_FALSE(small.passed) << small.text;
  const Verification large = check(nodeByNode(), damage);
  EXPECT_FALSE(large.passed) << large.text;
  EXPECT_TRUE(mentions(large, "the sum of slices")) << large.text;
}

TEST(VerifySlices, FindsAWrongPartOfAnInputInASmallTree) {
  Damage damage;
  damage.region = [](const Region &region) {
    Region moved = region;
    if (moved.origin[0] > 0)
      --moved.origin[0];
    return moved;
  };
  const Verification result = check(whole(), damage);
  EXPECT_FALSE(result.passed) << result.text;
}

TEST(VerifySlices, FindsAnOutputInAWrongPlaceInASmallTree) {
  Damage damage;
  damage.place = [](const SliceIndex &index) { return SliceIndex{index[0], 1 - index[1]}; };
  const Verification result = check(whole(), damage);
  EXPECT_FALSE(result.passed) << result.text;
}

} // namespace
