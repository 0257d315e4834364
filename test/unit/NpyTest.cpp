//===- NpyTest.cpp - tensors in .npy files ----------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "../../runtime/Npy.h"
#include "../../runtime/NpyHeader.h"

#include "RandomLayout.h"
#include "TemporaryDirectory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace einsumc;
using namespace einsumc::test;
using test::RandomLayouts;

/// How the elements of a file are stored.
struct Storage {
  char order = '<';
  int bytes = 4;
  bool fortran = false;
};

/// The number that every test stores at a row-major index: exact in f32.
double valueAt(int64_t index) { return static_cast<double>(index) - 0.5; }

int64_t elementsOf(const std::vector<int64_t> &extents) {
  return std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
}

std::string bytesOf(double value, const Storage &storage) {
  std::string bytes(static_cast<std::size_t>(storage.bytes), '\0');
  const auto narrow = static_cast<float>(value);
  std::memcpy(bytes.data(), storage.bytes == 4 ? static_cast<const void *>(&narrow) : &value,
              bytes.size());
  if (storage.order == '>')
    std::reverse(bytes.begin(), bytes.end());
  return bytes;
}

/// The row-major index of the element that comes i-th in Fortran order.
int64_t fortranElement(int64_t i, const std::vector<int64_t> &extents) {
  std::vector<int64_t> index;
  for (const int64_t extent : extents) {
    index.push_back(i % extent);
    i /= extent;
  }
  int64_t element = 0;
  for (std::size_t p = 0; p < extents.size(); ++p)
    element = element * extents[p] + index[p];
  return element;
}

std::string fileOf(const std::vector<int64_t> &extents, const Storage &storage) {
  const std::string dict = "{'descr': '" + std::string(1, storage.order) + "f" +
                           std::to_string(storage.bytes) +
                           "', 'fortran_order': " + (storage.fortran ? "True" : "False") +
                           ", 'shape': " + formatShape(extents) + ", }\n";
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(dict.size() & 0xFF);
  file += static_cast<char>(dict.size() >> 8);
  file += dict;
  for (int64_t i = 0; i < elementsOf(extents); ++i)
    file += bytesOf(valueAt(storage.fortran ? fortranElement(i, extents) : i), storage);
  return file;
}

std::string contentsOf(const std::string &file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

class Npy : public testing::Test {
public:
  Npy() : comm(MPI_COMM_WORLD) {}

  /// The first position cut over all ranks.
  Layout rows(const std::vector<int64_t> &extents) const {
    Layout layout;
    layout.extents = extents;
    layout.grid.extents = {comm.size()};
    layout.axes = {split(0)};
    return layout;
  }

  /// Rank 0 writes a file for all.
  std::string make(const std::string &contents) {
    const std::string file = directory + "/in.npy";
    if (comm.rank() == 0)
      std::ofstream(file, std::ios::binary) << contents;
    barrier(comm);
    return file;
  }

  /// Whether the block has the values of this test.
  template <class T> void expectValues(const Tensor<T> &tensor) {
    expectValues(tensor, Region(tensor.layout()));
  }
  template <class T> void expectValues(const Tensor<T> &tensor, const Region &region) {
    const Box box = region.shifted(tensor.box());
    for (int64_t local = 0; local < tensor.size(); ++local) {
      int64_t rest = local, stride = 1, element = 0;
      for (std::size_t p = box.size(); p-- > 0; stride *= region.extents[p]) {
        element += stride * (box[p].begin + rest % box[p].size());
        rest /= box[p].size();
      }
      ASSERT_EQ(tensor.data()[local], valueAt(element)) << element;
    }
  }

  /// The text of the CollectiveError that all ranks must throw.
  template <class Action> std::string complaint(Action &&action) {
    std::string text;
    try {
      action();
    } catch (const CollectiveError &error) {
      text = error.what();
    }
    EXPECT_EQ(broadcast(comm, text), text);
    return text;
  }

  Communicator comm;
  MemoryLedger ledger;
  const TemporaryDirectory temporary{comm};
  const std::string &directory = temporary.path();
};

/// By rank 0, by all in one call each, by all in many calls.
const NpyLimits kWays[] = {{}, {std::size_t{1} << 26, 0}, {100, 0}};
/// The same, and by rank 0 for the regions of a larger file.
const NpyLimits kRegionWays[] = {kWays[0], kWays[1], kWays[2], {100, 250}};

template <class T> void readAll(Npy &test, const Storage &storage) {
  RandomLayouts layouts(static_cast<uint64_t>(storage.bytes + storage.order) + sizeof(T));
  for (const NpyLimits &limits : kWays)
    // MPI-IO is slow where ranks outnumber the cores.
    for (int i = 0; i < (limits.small > 0 ? 10 : 1); ++i) {
      const std::vector<int64_t> extents = layouts.extents();
      const Layout layout = layouts.layout(extents, test.comm.size(), false);
      const std::string file = test.make(fileOf(extents, storage));
      const Tensor<T> tensor(test.ledger, layout, test.comm.rank());
      const std::string note = readNpy(test.comm, file, "A", TensorView::of(tensor), limits);
      EXPECT_EQ(note.find("is converted") != std::string::npos,
                storage.bytes == 8 && sizeof(T) == 4);
      test.expectValues(tensor);
      barrier(test.comm);
    }
}

TEST_F(Npy, ReadsAnyStorageIntoAnyLayout) {
  for (const char order : {'<', '>'})
    for (const int bytes : {4, 8})
      for (const bool fortran : {false, true}) {
        readAll<float>(*this, {order, bytes, fortran});
        readAll<double>(*this, {order, bytes, fortran});
      }
}

template <class T> void writeAll(Npy &test) {
  RandomLayouts layouts(17 + sizeof(T));
  const Storage storage{'<', sizeof(T), false};
  const std::string file = test.directory + "/out.npy";
  for (const NpyLimits &limits : kWays)
    for (int i = 0; i < (limits.small > 0 ? 10 : 3); ++i) {
      const std::vector<int64_t> extents = layouts.extents();
      const Layout layout = layouts.layout(extents, test.comm.size(), false);
      const std::string input = test.make(fileOf(extents, storage));
      const Tensor<T> tensor(test.ledger, layout, test.comm.rank());
      readNpy(test.comm, input, "A", TensorView::of(tensor));
      writeNpy(test.comm, file, TensorView::of(tensor), limits);

      const std::string contents = contentsOf(file);
      const std::string header = formatNpyHeader(sizeof(T), extents);
      ASSERT_EQ(contents.substr(0, header.size()), header);
      std::string data;
      for (int64_t e = 0; e < elementsOf(extents); ++e)
        data += bytesOf(valueAt(e), storage);
      EXPECT_TRUE(contents.substr(header.size()) == data);
      EXPECT_FALSE(std::filesystem::exists(file + ".part"));
      barrier(test.comm);
    }
}

TEST_F(Npy, WritesAnyLayout) {
  writeAll<float>(*this);
  writeAll<double>(*this);
}

/// The regions of a tensor that is cut into so many parts along each position.
std::vector<Region> regionsOf(const std::vector<int64_t> &extents,
                              const std::vector<int64_t> &parts) {
  std::vector<int64_t> whole = extents;
  for (std::size_t p = 0; p < extents.size(); ++p)
    whole[p] *= parts[p];
  std::vector<Region> regions;
  for (int64_t i = 0; i < elementsOf(parts); ++i) {
    std::vector<int64_t> origin(extents.size());
    int64_t rest = i;
    for (std::size_t p = extents.size(); p-- > 0; rest /= parts[p])
      origin[p] = rest % parts[p] * extents[p];
    regions.emplace_back(whole, origin);
  }
  return regions;
}

template <class T> void readRegions(Npy &test, const Storage &storage, const NpyLimits &limits) {
  RandomLayouts layouts(static_cast<uint64_t>(storage.bytes + storage.order));
  const std::vector<int64_t> extents = {3, 5, 2};
  const std::vector<Region> regions = regionsOf(extents, {2, 3, 2});
  const std::string file = test.make(fileOf(regions.front().extents, storage));
  for (std::size_t i = 0; i < regions.size(); i += 3) {
    const Layout layout = layouts.layout(extents, test.comm.size(), false);
    const Tensor<T> tensor(test.ledger, layout, test.comm.rank());
    readNpy(test.comm, file, "A", TensorView::of(tensor), regions[i], limits);
    test.expectValues(tensor, regions[i]);
  }
  barrier(test.comm);
}

TEST_F(Npy, ReadsRegions) {
  for (const NpyLimits &limits : kRegionWays)
    for (const bool fortran : {false, true}) {
      readRegions<float>(*this, {'<', 4, fortran}, limits);
      readRegions<float>(*this, {'>', 8, fortran}, limits);
      readRegions<double>(*this, {'<', 8, fortran}, limits);
    }
}

TEST_F(Npy, WritesRegions) {
  RandomLayouts layouts(23);
  const std::vector<int64_t> extents = {2, 3, 2};
  const std::vector<Region> regions = regionsOf(extents, {2, 1, 3});
  const std::string all = fileOf(regions.front().extents, {});
  const std::string input = make(all);
  const std::string file = directory + "/out.npy";
  const std::string header = formatNpyHeader(4, regions.front().extents);
  for (const NpyLimits &limits : kRegionWays) {
    NpyWriter writer(comm, file, DType::F32, regions.front().extents, limits);
    for (std::size_t i = regions.size(); i-- > 0;) {
      const Layout layout = layouts.layout(extents, comm.size(), false);
      const Tensor<float> tensor(ledger, layout, comm.rank());
      readNpy(comm, input, "A", TensorView::of(tensor), regions[i]);
      writer.write(TensorView::of(tensor), regions[i]);
    }
    EXPECT_FALSE(std::filesystem::exists(file));
    barrier(comm);
    writer.commit();
    const std::string contents = contentsOf(file);
    EXPECT_EQ(contents.substr(0, header.size()), header);
    const auto data = static_cast<std::size_t>(4 * elementsOf(regions.front().extents));
    EXPECT_TRUE(contents.substr(header.size()) == all.substr(all.size() - data));
    barrier(comm);
    if (comm.rank() == 0)
      std::filesystem::remove(file);
    barrier(comm);
  }
  {
    NpyWriter writer(comm, file, DType::F32, {4, 3, 6}, {100, 0});
    const Layout layout = rows({4, 3, 6});
    const Tensor<float> tensor(ledger, layout, comm.rank());
    std::fill_n(tensor.data(), tensor.size(), 0.0F);
    writer.write(TensorView::of(tensor), Region(layout));
  }
  barrier(comm);
  EXPECT_FALSE(std::filesystem::exists(file + ".part")); // It was not committed.
}

TEST_F(Npy, RefusesFilesThatDoNotFitWithOneMessage) {
  const std::vector<int64_t> extents = {3, 4};
  const Layout layout = rows(extents);
  const Tensor<float> tensor(ledger, layout, comm.rank());
  const auto reading = [&](const std::string &file) {
    return complaint([&] { readNpy(comm, file, "A", TensorView::of(tensor)); });
  };
  const std::string good = fileOf(extents, {});
  const std::string file = directory + "/in.npy";
  make(good.substr(0, good.size() - 1));
  EXPECT_EQ(reading(file), file + ": the file has " + std::to_string(good.size() - 1) +
                               " bytes, but its header says " + std::to_string(good.size()) +
                               ": it was cut off");
  make(good + "x");
  EXPECT_EQ(reading(file), file + ": the file has " + std::to_string(good.size() + 1) +
                               " bytes, but its header says " + std::to_string(good.size()));
  make(fileOf({4, 3}, {}));
  EXPECT_EQ(reading(file), file + ": the shape is (4, 3), but tensor A has (3, 4)");
  make(fileOf({12}, {}));
  EXPECT_EQ(reading(file), file + ": the shape is (12,), but tensor A has (3, 4)");
  make("no array");
  EXPECT_EQ(reading(file), file + ": this is no .npy file: it does not start with \\x93NUMPY");
  EXPECT_EQ(reading(directory + "/none.npy"),
            directory + "/none.npy: cannot read: No such file or directory");
  EXPECT_EQ(reading(directory), directory + ": is a directory");
}

TEST_F(Npy, LeavesNothingBehindWhenItCannotWrite) {
  const Layout layout = rows({3});
  const Tensor<float> tensor(ledger, layout, comm.rank());
  const std::string missing = directory + "/none/out.npy";
  EXPECT_EQ(complaint([&] { writeNpy(comm, missing, TensorView::of(tensor)); }),
            missing + ".part: cannot create: No such file or directory");

  // A directory of that name: only the last step, the renaming, fails.
  const std::string taken = directory + "/taken";
  if (comm.rank() == 0)
    std::filesystem::create_directories(taken + "/full");
  barrier(comm);
  EXPECT_EQ(complaint([&] { writeNpy(comm, taken, TensorView::of(tensor)); }),
            taken + ": cannot create: Is a directory");
  barrier(comm);
  EXPECT_FALSE(std::filesystem::exists(taken + ".part"));
}

TEST_F(Npy, SaysThatTheDiskIsFull) {
  // More than any disk has; the tensor's memory is never looked at.
  const int64_t extent = int64_t{1} << 58;
  const Layout layout{{extent}, {{}, comm.size()}, {}};
  const TensorView view{DType::F64, &layout, {{0, 0}}, false, nullptr};
  const std::string file = directory + "/huge.npy";
  const std::string text = complaint([&] { writeNpy(comm, file, view); });
  EXPECT_EQ(text.substr(0, text.find(" write ")), file + ".part: cannot") << text;
  EXPECT_FALSE(std::filesystem::exists(file + ".part"));
}

} // namespace
