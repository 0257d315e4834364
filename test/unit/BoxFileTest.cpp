//===- BoxFileTest.cpp - boxes of an array in a file, by one rank -----------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "../../runtime/BoxFile.h"

#include "einsumc/Communicator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

namespace {

using namespace einsumc;
using testing::HasSubstr;

/// Of 2.3 MB, behind a header: more than is read at a time.
const FileArray kArray{5, {30, 41, 470}, 4};

/// An element, of which all bytes differ from those of its neighbours.
std::string elementAt(int64_t i, int64_t j, int64_t k) {
  const auto value = static_cast<uint32_t>((i * 41 + j) * 470 + k) * 2654435761U;
  return {reinterpret_cast<const char *>(&value), sizeof(value)};
}

std::string elementsOf(const Box &box) {
  std::string result;
  for (int64_t i = box[0].begin; i < box[0].end; ++i)
    for (int64_t j = box[1].begin; j < box[1].end; ++j)
      for (int64_t k = box[2].begin; k < box[2].end; ++k)
        result += elementAt(i, j, k);
  return result;
}

const Box kAll = {{0, 30}, {0, 41}, {0, 470}};
/// All of it, rows, a row, parts of rows, close together and far apart, columns, one element.
const Box kBoxes[] = {kAll,
                      {{3, 29}, {0, 41}, {0, 470}},
                      {{7, 8}, {0, 41}, {0, 470}},
                      {{0, 30}, {0, 41}, {100, 460}},
                      {{0, 30}, {5, 6}, {0, 470}},
                      {{0, 30}, {0, 41}, {469, 470}},
                      {{2, 28}, {3, 40}, {17, 18}},
                      {{29, 30}, {40, 41}, {469, 470}}};

class BoxFile : public testing::Test {
protected:
  void SetUp() override { std::ofstream(file, std::ios::binary) << "start" << elementsOf(kAll); }
  void TearDown() override { std::filesystem::remove(file); }

  std::string contents() const {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  }

  const std::string file = testing::TempDir() + "einsumc-box-file-" + std::to_string(getpid());
};

TEST_F(BoxFile, ReadsBoxes) {
  for (const Box &box : kBoxes)
    EXPECT_TRUE(readBox(file, kArray, box) == elementsOf(box));
  EXPECT_EQ(readBox(file, kArray, {{0, 0}, {0, 41}, {0, 470}}), "");
}

TEST_F(BoxFile, WritesBoxesAndNothingElse) {
  for (const Box &box : kBoxes) {
    std::ofstream(file, std::ios::binary) << std::string(5 + 4 * volume(kAll), '\0');
    writeBox(file, kArray, box, elementsOf(box));
    EXPECT_TRUE(readBox(file, kArray, box) == elementsOf(box));
    writeBox(file, kArray, box, std::string(static_cast<std::size_t>(4 * volume(box)), '\0'));
    EXPECT_EQ(contents().find_first_not_of('\0'), std::string::npos);
  }
}

TEST_F(BoxFile, HasScalars) {
  const FileArray scalar{5, {}, 4};
  EXPECT_EQ(readBox(file, scalar, {}), elementAt(0, 0, 0));
  writeBox(file, scalar, {}, "abcd");
  EXPECT_EQ(contents().substr(0, 9), "startabcd");
}

std::string failureOf(const std::function<void()> &action) {
  try {
    action();
  } catch (const Error &error) {
    return error.what();
  }
  return "none";
}

TEST_F(BoxFile, SaysWhatIsWrong) {
  EXPECT_THAT(failureOf([] { readBox("/none/A.npy", kArray, kAll); }),
              HasSubstr("/none/A.npy: cannot read: No such file"));
  EXPECT_THAT(failureOf([] { writeBox("/none/A.npy", kArray, kAll, elementsOf(kAll)); }),
              HasSubstr("/none/A.npy: cannot write: No such file"));
  std::filesystem::resize_file(file, 1'500'000);
  EXPECT_EQ(failureOf([&] { readBox(file, kArray, kAll); }), file + ": cannot read all of it");
  EXPECT_THAT(failureOf([] { writeBox("/dev/full", kArray, kAll, elementsOf(kAll)); }),
              HasSubstr("/dev/full: cannot write: No space left"));
}

} // namespace
