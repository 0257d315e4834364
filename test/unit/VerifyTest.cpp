//===- VerifyTest.cpp - comparison with an independent evaluation -----------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "../../runtime/Verify.h"
#include "../../runtime/Philox.h"

#include "ReferenceProgram.h"
#include "SmallPrograms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>

namespace {

using namespace einsumc;
using namespace einsumc::test;

int ranks() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

VerifyOptions whole() { return {}; }
VerifyOptions nodeByNode() {
  VerifyOptions options;
  options.wholeLimit = 0;
  options.samples = 8;
  options.chunk = 50; // so that sums come in pieces
  return options;
}

/// Fills the inputs, runs, and verifies.
template <class T>
Verification check(const ProgramDescription &description, const VerifyOptions &options,
                   typename ReferenceProgram<T>::Hook hook = {},
                   const std::function<void(TensorView)> &input = {}) {
  Session session(MPI_COMM_WORLD, 1);
  ReferenceProgram<T> program(session, description, hook);
  for (std::size_t i = 0; i < description.tensors.size(); ++i)
    if (description.tensors[i].isInput) {
      const TensorView view = program.tensor(static_cast<int>(i));
      fillRandom(view, 1, description.tensors[i].name);
      if (input)
        input(view);
    }
  session.startRun(description.nodes.size());
  program.run();
  return verify(session, description, program, options);
}

/// The element of this rank's block at a global index; null where the rank does not hold it.
template <class T> T *elementAt(const TensorView &view, const std::vector<int64_t> &index) {
  if (!view.held)
    return nullptr;
  int64_t offset = 0;
  for (std::size_t p = 0; p < index.size(); ++p) {
    if (index[p] < view.box[p].begin || index[p] >= view.box[p].end)
      return nullptr;
    offset = offset * view.box[p].size() + index[p] - view.box[p].begin;
  }
  return reinterpret_cast<T *>(view.data) + offset;
}

/// After a node: writes to an element of a tensor (of an output where it ends), wherever a rank
/// holds it.
template <class T>
typename ReferenceProgram<T>::Hook damage(int node, int tensor, std::vector<int64_t> index,
                                          std::function<T(T)> change) {
  return [=](int now, ReferenceProgram<T> &program) {
    if (now != node)
      return;
    if (T *element = elementAt<T>(program.output(tensor), index))
      *element = change(*element);
  };
}

constexpr int kT = 3, kY = 4; ///< tensors of chainProgram

bool mentions(const Verification &result, const std::string &text) {
  return result.text.find(text) != std::string::npos;
}

class BothMethods : public testing::TestWithParam<bool> {
public:
  static VerifyOptions options() { return GetParam() ? whole() : nodeByNode(); }
};
INSTANTIATE_TEST_SUITE_P(Verify, BothMethods, testing::Bool(),
                         [](const auto &method) { return method.param ? "Whole" : "NodeByNode"; });

/// In a chain of many products the bound of the whole says nothing: each node must be looked at.
TEST(Verify, FindsAWrongNodeOfALongChain) {
  DescriptionBuilder builder(ranks(), DType::F32);
  builder.dim('i', 4)
      .dim('j', 4)
      .dim('k', 4)
      .input("A", "ij", split(0))
      .input("T0", "ij", copied());
  constexpr int kNodes = 100;
  for (int node = 1; node <= kNodes; ++node)
    builder.node("T" + std::to_string(node), "ik", copied(),
                 {"T" + std::to_string(node - 1) + " ij", "A jk"});
  const ProgramDescription description = builder.output("T" + std::to_string(kNodes)).build();
  EXPECT_TRUE(check<float>(description, whole()).passed);
  const auto wrong = check<float>(description, whole(),
                                  damage<float>(50, 52, {1, 2}, [](float x) { return x * 1.5F; }));
  EXPECT_FALSE(wrong.passed) << wrong.text;
  EXPECT_TRUE(mentions(wrong, "T51")) << wrong.text;
}

TEST_P(BothMethods, PassesWhatIsRight) {
  for (const AxisPlacement middle : {split(0), split(1), copied(), partial(), atRoot()})
    for (const AxisPlacement last : {split(1), copied(), atRoot()}) {
      const auto f32 = check<float>(chainProgram(ranks(), DType::F32, middle, last, 3), options());
      EXPECT_TRUE(f32.passed) << f32.text;
      const auto f64 = check<double>(chainProgram(ranks(), DType::F64, middle, last, 3), options());
      EXPECT_TRUE(f64.passed) << f64.text;
      EXPECT_EQ(f64.text.rfind("verified: largest error ", 0), 0U) << f64.text;
    }
}

TEST_P(BothMethods, PassesEveryKindOfNode) {
  const Grid one{{}, ranks() - 1}; // A node on one rank alone.
  const ProgramDescription description =
      DescriptionBuilder(ranks(), DType::F32)
          .dim('i', 9)
          .dim('j', 9)
          .dim('k', 4)
          .dim('l', 5)
          .dim('m', 9)
          .input("A", "ij", split(0))
          .input("B", "jkl", split(2))
          .input("v", "k", copied())
          .input("s", "", copied())
          .node("Diagonal", "i", split(0), {"A ii"})
          .node("Trace", "", copied(), {"A ii"})
          .node("Permuted", "ljk", split(0), {"B jkl"})
          .node("Summed", "k", copied(), {"B jkl"})
          .node("Outer", "ik", split(1), {"Diagonal i", "v k"})
          .node("Elementwise", "ik", split(0), {"Outer ik", "Outer ik"})
          .node("Batched", "jl", one, {}, {"B jkl", "B jkl"})
          .node("Gram", "im", split(1), {"A ij", "A mj"})
          .node("Alone", "j", copied(), {"A ij", "B jkl"})
          .node("Diagonals", "ij", split(0), {"A ii", "A jj"})
          .node("Scaled", "lkj", split(2), {"Permuted ljk", "s "})
          .node("Dot", "", copied(), {"v k", "Summed k"})
          .node("Number", "", atRoot(), {"Dot ", "Trace "})
          .output("Elementwise")
          .output("Batched")
          .output("Gram")
          .output("Alone")
          .output("Diagonals")
          .output("Scaled")
          .output("Number")
          .build();
  const Verification result = check<float>(description, options());
  EXPECT_TRUE(result.passed) << result.text;
  EXPECT_FALSE(mentions(result, "no projection")) << result.text;
}

TEST_P(BothMethods, FindsOneWrongElement) {
  for (const AxisPlacement last : {split(0), split(1), copied(), atRoot()}) {
    const Verification result =
        check<float>(chainProgram(ranks(), DType::F32, split(0), last), options(),
                     damage<float>(1, kY, {3, 2}, [](float x) { return x + 0.01F; }));
    EXPECT_FALSE(result.passed);
    EXPECT_TRUE(mentions(result, "NOT verified") && mentions(result, "Y[3,2]")) << result.text;
  }
}

TEST_P(BothMethods, FindsANotANumber) {
  const Verification result =
      check<double>(chainProgram(ranks(), DType::F64, split(0), split(0)), options(),
                    damage<double>(1, kY, {5, 0}, [](double) { return std::nan(""); }));
  EXPECT_FALSE(result.passed);
  EXPECT_TRUE(mentions(result, "Y[5,0]")) << result.text;
}

TEST_P(BothMethods, FindsACopyThatDiffers) {
  if (ranks() == 1)
    return;
  const Verification result =
      check<float>(chainProgram(ranks(), DType::F32, split(0), copied(), 4), options(),
                   [](int node, ReferenceProgram<float> &program) {
                     const TensorView view = program.tensor(kY);
                     int rank = 0;
                     MPI_Comm_rank(MPI_COMM_WORLD, &rank);
                     if (node == 1 && rank == ranks() - 1)
                       *elementAt<float>(view, {7, 9}) += 1;
                   });
  EXPECT_FALSE(result.passed);
  EXPECT_TRUE(mentions(result, "Y")) << result.text;
}

TEST_P(BothMethods, FindsAnErrorOfTheFinalLayout) {
  ProgramDescription description = chainProgram(ranks(), DType::F32, split(0), split(0));
  Layout last = description.tensors[kY].layout;
  last.axes = {atRoot()};
  description.finalLayouts = {{kY, last}};
  EXPECT_TRUE(check<float>(description, options()).passed);
  const Verification result = check<float>(
      description, options(), damage<float>(1, kY, {6, 3}, [](float) { return 5.0F; }));
  EXPECT_FALSE(result.passed);
  EXPECT_TRUE(mentions(result, "Y[6,3]")) << result.text;
}

/// Results share storage: a node that reads what another has overwritten agrees with what it reads.
TEST(VerifyNodeByNode, FindsWhatIsOverwrittenBeforeItIsRead) {
  const ProgramDescription description = DescriptionBuilder(ranks(), DType::F32)
                                             .dim('i', 6)
                                             .dim('j', 7)
                                             .input("A", "ij", split(0))
                                             .node("T", "ij", split(0), {"A ij"})
                                             .node("U", "i", copied(), {"A ij"})
                                             .node("V", "ij", split(1), {"T ij", "U i"})
                                             .output("U")
                                             .output("V")
                                             .build();
  constexpr int kA = 0, kT1 = 1, kU = 2; // tensors
  constexpr int kNodeU = 1, kNodeV = 2;
  const auto half = [](float x) { return x / 2; };
  const Verification right = check<float>(description, nodeByNode());
  EXPECT_TRUE(right.passed) << right.text;
  const Verification result =
      check<float>(description, nodeByNode(), damage<float>(kNodeU, kT1, {3, 2}, half));
  EXPECT_FALSE(result.passed);
  EXPECT_TRUE(mentions(result, "T, which was overwritten")) << result.text;
  const Verification output =
      check<float>(description, nodeByNode(), damage<float>(kNodeV, kU, {4}, half));
  EXPECT_FALSE(output.passed);
  EXPECT_TRUE(mentions(output, "U, which was overwritten")) << output.text;
  const Verification input =
      check<float>(description, nodeByNode(), damage<float>(kNodeV, kA, {5, 6}, half));
  EXPECT_FALSE(input.passed);
  EXPECT_TRUE(mentions(input, "A, which was overwritten")) << input.text;
}

/// A node may leave something else in the place of an operand that nobody reads after it.
TEST(VerifyNodeByNode, KeepsWhatANodeSpends) {
  ProgramDescription description = chainProgram(ranks(), DType::F32, split(0), split(0), 3);
  constexpr int kNodeT = 0, kNodeY = 1;
  const auto half = [](float x) { return x / 2; };
  const auto overwritten = [&](int node) {
    return check<float>(description, nodeByNode(), damage<float>(node, kT, {3, 2}, half));
  };
  EXPECT_FALSE(overwritten(kNodeY).passed);
  description.nodes[kNodeY].operands[0].isSpent = true;
  const Verification right = overwritten(kNodeY);
  EXPECT_TRUE(right.passed) << right.text;
  EXPECT_FALSE(overwritten(kNodeT).passed) << "it was not computed right";
}

/// What an earlier run left must not stand in for what this one did not write.
TEST(VerifyNodeByNode, NothingIsLeftOfAnEarlierRun) {
  int runs = 0;
  std::vector<float> kept;
  const ProgramDescription description = chainProgram(ranks(), DType::F32, split(0), split(0), 3);
  const Verification result =
      check<float>(description, nodeByNode(), [&](int node, ReferenceProgram<float> &program) {
        const std::span<float> found = program.output(kY).elements<float>();
        if (node == 0) {
          kept.assign(found.begin(), found.end());
          ++runs;
        } else if (node == 1 && runs == 2) {
          std::copy(kept.begin(), kept.end(), found.begin()); // As if it had computed nothing.
        }
      });
  EXPECT_FALSE(result.passed) << result.text;
}

TEST_P(BothMethods, ANotANumberInTheInputsIsNoError) {
  const auto poison = [](const TensorView &view) {
    if (view.layout->extents == std::vector<int64_t>{7, 5}) // A
      if (double *element = elementAt<double>(view, {2, 2}))
        *element = std::nan("");
  };
  const ProgramDescription description = chainProgram(ranks(), DType::F64, split(0), split(1));
  const Verification right = check<double>(description, options(), {}, poison);
  EXPECT_TRUE(right.passed) << right.text;
  // All but the NaN's row is still checked (sampled entries alone may miss one element).
  const Verification wrong =
      check<double>(description, whole(),
                    damage<double>(1, kY, {3, 3}, [](double) { return std::nan(""); }), poison);
  EXPECT_FALSE(wrong.passed) << wrong.text;
}

TEST(VerifyNodeByNode, FindsWhereAnIntermediateWentWrong) {
  VerifyOptions options = nodeByNode();
  options.chunk = 1 << 20;
  const ProgramDescription description = chainProgram(ranks(), DType::F32, split(1), split(0), 16);
  const Verification element = check<float>(
      description, options, damage<float>(0, kT, {50, 61}, [](float x) { return x + 0.1F; }));
  EXPECT_FALSE(element.passed);
  EXPECT_TRUE(mentions(element, "T[50,61]")) << element.text;

  // A block of the wrong place, with numbers of the right size.
  const Verification block =
      check<float>(description, options, [](int node, ReferenceProgram<float> &program) {
        for (int64_t i = 20; node == 1 && i < 30; ++i)
          for (int64_t j = 30; j < 40; ++j)
            if (float *to = elementAt<float>(program.tensor(kY), {i, j}))
              *to = -*to;
      });
  EXPECT_FALSE(block.passed);
  EXPECT_TRUE(mentions(block, "Y[2") && mentions(block, ",3")) << block.text;
}

TEST(VerifyNodeByNode, FindsPartialSumsThatAreWrong) {
  const Verification result =
      check<float>(chainProgram(ranks(), DType::F32, partial(), split(0), 4), nodeByNode(),
                   damage<float>(0, kT, {9, 9}, [](float x) { return x + 0.1F; }));
  EXPECT_FALSE(result.passed);
  EXPECT_TRUE(mentions(result, "T[9,9]")) << result.text;
}

TEST(VerifyNodeByNode, FindsSmallErrorsEverywhere) {
  const Verification result =
      check<float>(chainProgram(ranks(), DType::F32, split(0), split(0), 8), nodeByNode(),
                   [](int node, ReferenceProgram<float> &program) {
                     const TensorView view = program.tensor(kT);
                     auto *data = reinterpret_cast<float *>(view.data);
                     for (int64_t i = 0; node == 0 && i < volume(view.box); ++i)
                       data[i] *= 1.001F;
                   });
  EXPECT_FALSE(result.passed) << result.text;
}

TEST(VerifyNodeByNode, LongSumsOfEqualNumbersAreNoFalseAlarm) {
  const ProgramDescription description = DescriptionBuilder(ranks(), DType::F32)
                                             .dim('m', 3)
                                             .dim('k', 65536)
                                             .input("A", "mk", split(0))
                                             .input("x", "k", copied())
                                             .node("y", "m", copied(), {"A mk", "x k"})
                                             .output("y")
                                             .build();
  VerifyOptions options = nodeByNode();
  options.chunk = 10000;
  const Verification result = check<float>(description, options, {}, [](const TensorView &view) {
    std::fill_n(reinterpret_cast<float *>(view.data), volume(view.box), 0.3F);
  });
  EXPECT_TRUE(result.passed) << result.text;
}

TEST(VerifyNodeByNode, SaysWhenProjectionsSeeAPartOnly) {
  const ProgramDescription description = DescriptionBuilder(ranks(), DType::F32)
                                             .dim('c', 64)
                                             .dim('k', 8)
                                             .input("A", "ck", split(0))
                                             .input("B", "ck", copied())
                                             .node("y", "c", split(0), {"A ck", "B ck"})
                                             .node("z", "", copied(), {"A ck", "B ck"})
                                             .output("y")
                                             .output("z")
                                             .build();
  VerifyOptions options = nodeByNode();
  options.sharedLimit = 128;
  const Verification result = check<float>(description, options);
  EXPECT_TRUE(result.passed) << result.text;
  EXPECT_TRUE(mentions(result, "projections of a part of y only")) << result.text;
  EXPECT_TRUE(mentions(result, "no projection of z")) << result.text;

  // What no projection sees, the samples do.
  const Verification wrong =
      check<float>(description, options, damage<float>(1, 3, {}, [](float x) { return x + 0.5F; }));
  EXPECT_FALSE(wrong.passed);
  EXPECT_TRUE(mentions(wrong, "at z[]")) << wrong.text;
}

} // namespace
