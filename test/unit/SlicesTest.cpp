//===- SlicesTest.cpp - dims that a tree is evaluated along part by part ----------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/ir/Slices.h"

#include "TreeText.h"

#include "compiler/ir/AssignStorage.h"
#include "compiler/plan/Plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace einsumc;
using testing::ElementsAre;
using testing::HasSubstr;

Slice slice(const Tree &tree, const std::string &name, int64_t parts) {
  for (DimId dim = 0; dim < static_cast<DimId>(tree.dims().size()); ++dim)
    if (tree.dim(dim).name == name)
      return {dim, parts};
  return {-1, parts};
}

std::vector<std::string> dimNames(const Tree &tree, const std::string &tensor) {
  std::vector<std::string> names;
  for (const DimId dim : tree.node(*tree.find(tensor)).dims)
    names.push_back(tree.dim(dim).name);
  return names;
}

const char *kChain = "dim i=12, j=10, k=8, l=8; input A[i,k]; input B[l,j]; input V[j];"
                     "T[i,j] = A[i,k]*B[k,j]; output Y[i] = T[i,j]*V[j]; output W[j] = V[j];";

TEST(Slices, TheTreeOfASliceIsShorterAlongTheDim) {
  const Tree tree = treeOf(kChain);
  const Slices slices = {slice(tree, "k", 4), slice(tree, "i", 3)};
  ASSERT_EQ(checkSlices(tree, slices), "");
  const Tree sliced = slicedTree(tree, slices);
  EXPECT_THAT(sliced.extents(*sliced.find("A")), ElementsAre(4, 2));
  EXPECT_THAT(sliced.extents(*sliced.find("T")), ElementsAre(4, 10));
  EXPECT_EQ(countSlices(slices), 12);
  EXPECT_EQ(slicedTree(tree, {}), tree);
}

TEST(Slices, AnInputHasTheDimsOfItsUsesWhereSlicesMatter) {
  const Tree tree = treeOf(kChain);
  const Tree alongK = slicedTree(tree, {slice(tree, "k", 4)});
  EXPECT_THAT(dimNames(alongK, "B"), ElementsAre("k", "j"));
  EXPECT_THAT(alongK.extents(*alongK.find("B")), ElementsAre(2, 10));
  // Declared with a dim that is sliced, used with one that is not.
  const Tree other = treeOf("dim i=6, j=6, k=4; input A[i,k]; input B[i,k]; input C[i,j];"
                            "output Y[j] = A[j,k]*B[j,k]; output Z[i] = B[j,k]*C[i,j];");
  const Slices slices = {slice(other, "i", 2)};
  ASSERT_EQ(checkSlices(other, slices), "");
  const Tree sliced = slicedTree(other, slices);
  EXPECT_THAT(dimNames(sliced, "A"), ElementsAre("j", "k"));
  EXPECT_THAT(sliced.extents(*sliced.find("A")), ElementsAre(6, 4));
  EXPECT_THAT(sliced.extents(*sliced.find("C")), ElementsAre(3, 6));
}

TEST(Slices, OutputsFillAddOrAreTheSame) {
  const Tree tree = treeOf(kChain);
  const Slices slices = {slice(tree, "k", 4), slice(tree, "i", 3), slice(tree, "j", 2)};
  EXPECT_THAT(sliceRoles(tree, slices, *tree.find("Y")),
              ElementsAre(SliceRole::Adds, SliceRole::Fills, SliceRole::Adds));
  EXPECT_THAT(sliceRoles(tree, slices, *tree.find("W")),
              ElementsAre(SliceRole::Same, SliceRole::Same, SliceRole::Fills));
}

/// Why a dim cannot be sliced in 2 parts; empty if it can.
std::string problem(const std::string &text, const std::string &dim, int64_t parts = 2) {
  const Tree tree = treeOf(text);
  return checkSlices(tree, {slice(tree, dim, parts)});
}

TEST(Slices, UsesMustAgreeOnThePositionsThatAreCut) {
  const std::string gram = "dim i=4, j=4, k=4; input A[i,k]; output Y[i,j] = A[i,k]*A[j,k];";
  EXPECT_EQ(problem(gram, "k"), "");
  EXPECT_THAT(problem(gram, "i"),
              HasSubstr("'Y' uses A[j,k], which is used as A[i,k] for 'Y': a slice along 'i' would "
                        "need different parts of 'A'"));
  const std::string square = "dim i=4, j=4, k=4; input A[i,k]; T[i,j] = A[i,k]*A[k,j];"
                             "output Y[i,j] = T[i,j]*T[j,i];";
  EXPECT_THAT(problem(square, "k"), HasSubstr("different parts of 'A'"));
  const std::string turned = "dim i=4, j=4, k=4; input A[i,k]; input B[k,j];"
                             "T[i,j] = A[i,k]*B[k,j]; output Y[i,j] = T[j,i];";
  EXPECT_THAT(problem(turned, "i"), HasSubstr("'Y' uses T[j,i], which is computed as T[i,j]"));
  EXPECT_EQ(problem(turned, "k"), "");
}

TEST(Slices, ADiagonalIsCutAlongBothPositions) {
  const std::string text = "dim i=6, j=6; input A[i,j]; output Y[i] = A[i,i];";
  EXPECT_EQ(problem(text, "i"), "");
  EXPECT_EQ(problem(text, "j"), "no node is computed along 'j'");
  const Tree tree = treeOf(text);
  const Tree sliced = slicedTree(tree, {slice(tree, "i", 3)});
  EXPECT_THAT(sliced.extents(*sliced.find("A")), ElementsAre(2, 2));
}

TEST(Slices, ASumIsNotMultipliedByWhatDependsOnItsDim) {
  const std::string text = "dim i=4, k=4; input A[i,k]; input B[k]; s[] = A[i,k];";
  EXPECT_THAT(problem(text + "output Y[k] = s[]*B[k];", "k"),
              HasSubstr("'Y' multiplies 's', a sum over 'k', by what depends on 'k' as well"));
  EXPECT_THAT(problem(text + "output Y[] = s[]*s[];", "k"), HasSubstr("a sum over 'k'"));
  EXPECT_EQ(problem(text + "input C[i]; output Y[i] = s[]*C[i];", "k"), "");
  EXPECT_THAT(problem(text + "input C[i]; output Y[i] = s[]*C[i];", "i"),
              HasSubstr("a sum over 'i'"));
}

TEST(Slices, PartsAreEqualAndAtLeastTwo) {
  EXPECT_EQ(problem(kChain, "k", 3), "3 parts do not divide the extent 8 of 'k'; 4 do");
  EXPECT_EQ(problem(kChain, "k", 99), "99 parts do not divide the extent 8 of 'k'; 8 do");
  EXPECT_EQ(problem("dim i=1, k=2; input A[i,k]; output Y[k] = A[i,k];", "i", 2),
            "'i' has extent 1: there is nothing to slice");
  EXPECT_EQ(problem(kChain, "k", 1), "'k' must be sliced into at least 2 parts");
  EXPECT_EQ(problem(kChain, "k", 8), "");
  EXPECT_EQ(problem(kChain, "none"), "there is no such dim to slice");
  const Tree tree = treeOf(kChain);
  EXPECT_EQ(checkSlices(tree, {slice(tree, "k", 2), slice(tree, "k", 4)}), "a dim is sliced twice");
}

TEST(Slices, MemoryHasTheSumsInAsManyBlocksAsTheLoopsNeed) {
  const Tree tree = treeOf(kChain);
  auto sumBytes = [&](const Slices &slices) {
    const Tree sliced = slicedTree(tree, slices);
    PlanOptions options;
    options.fixed.slices = slices;
    const Schedule schedule = plan(sliced, Machine{}, options);
    const Storage storage = assignStorage(sliced, schedule, buffersOf(sliced, schedule));
    return storage.onRank(storage.busiest).sums;
  };
  const Slice k = slice(tree, "k", 4), i = slice(tree, "i", 3);
  EXPECT_EQ(sumBytes({k}), 12 * 4);
  EXPECT_EQ(sumBytes({i}), 0);
  EXPECT_EQ(sumBytes({i, k}), 4 * 4);
  EXPECT_EQ(sumBytes({k, i}), 3 * 4 * 4);
  EXPECT_EQ(sumBytes({}), 0);
}

/// Adds up numbers of slices in the blocks that sliceStep names; compares with sums by index.
void expectSums(const std::vector<int64_t> &parts, const std::vector<SliceRole> &roles) {
  std::map<std::vector<int64_t>, int64_t> expected, found;
  std::map<int64_t, int64_t> blocks;
  std::set<int64_t> used;
  for (int64_t s = 0; s < countSlices(parts); ++s) {
    const std::vector<int64_t> index = sliceIndex(parts, s);
    std::vector<int64_t> part;
    bool isFirst = true;
    int64_t value = 1;
    for (std::size_t d = 0; d < parts.size(); ++d) {
      part.push_back(roles[d] == SliceRole::Fills ? index[d] : 0);
      isFirst = isFirst && (roles[d] != SliceRole::Same || index[d] == 0);
      if (roles[d] != SliceRole::Same)
        value = 10 * value + index[d];
    }
    if (isFirst)
      expected[part] += value;
    const SliceStep step = sliceStep(parts, roles, index);
    if (!step.counts)
      continue;
    used.insert(step.block);
    blocks[step.block] = (step.begins ? 0 : blocks[step.block]) + value;
    if (step.completes) {
      EXPECT_TRUE(found.emplace(part, blocks[step.block]).second);
    }
  }
  EXPECT_EQ(found, expected);
  const int64_t count = countSumBlocks(parts, roles);
  EXPECT_EQ(static_cast<int64_t>(used.size()), std::max<int64_t>(count, 1));
  EXPECT_EQ(count == 0, std::count(roles.begin(), roles.end(), SliceRole::Adds) == 0);
}

TEST(Slices, StepsAddUpEveryPartInABlockOfItsOwn) {
  const std::vector<SliceRole> all = {SliceRole::Fills, SliceRole::Adds, SliceRole::Same};
  for (const SliceRole a : all)
    for (const SliceRole b : all)
      for (const SliceRole c : all)
        for (const SliceRole d : all)
          expectSums({2, 3, 2, 4}, {a, b, c, d});
  expectSums({}, {});
}

} // namespace
