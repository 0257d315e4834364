//===- NpyHeaderTest.cpp - the header of .npy files -------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "../../runtime/NpyHeader.h"

#include "einsumc/Error.h"

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

namespace {

using namespace einsumc;

/// A file of a given version that starts with a header.
std::string fileOf(const std::string &dict, int major = 1) {
  std::string file = "\x93NUMPY";
  file += static_cast<char>(major);
  file += '\0';
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i)
    file += static_cast<char>(dict.size() >> (8 * i) & 0xFF);
  return file + dict;
}

NpyHeader parse(const std::string &file) {
  return parseNpyHeader(std::as_bytes(std::span(file.data(), file.size())));
}

/// What the parser throws.
std::string complaint(const std::string &file) {
  try {
    parse(file);
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

TEST(NpyHeader, AsNumPyWritesIt) {
  const std::string dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }     \n";
  const NpyHeader header = parse(fileOf(dict));
  EXPECT_EQ(header.descr, "<f4");
  EXPECT_EQ(header.elementBytes, 4);
  EXPECT_FALSE(header.bigEndian);
  EXPECT_FALSE(header.fortranOrder);
  EXPECT_EQ(header.shape, (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(header.dataOffset, 10 + dict.size());
}

TEST(NpyHeader, AnyVersionOrderQuotesAndSpaces) {
  for (const int major : {1, 2, 3}) {
    const NpyHeader header =
        parse(fileOf(" { \"shape\" :(5L ,),\t'fortran_order':True,\"descr\":'>f8'}\n", major));
    EXPECT_EQ(header.elementBytes, 8);
    EXPECT_TRUE(header.bigEndian);
    EXPECT_TRUE(header.fortranOrder);
    EXPECT_EQ(header.shape, std::vector<int64_t>{5});
  }
}

TEST(NpyHeader, AScalarHasNoPositions) {
  EXPECT_TRUE(parse(fileOf("{'descr':'<f8','fortran_order':False,'shape':()}")).shape.empty());
}

TEST(NpyHeader, WhatFollowsIsNotLookedAt) {
  const std::string file = fileOf("{'descr':'<f8','fortran_order':False,'shape':()}");
  EXPECT_EQ(parse(file + "}{'").dataOffset, file.size());
}

TEST(NpyHeader, WrittenHeadersAreReadAgainAndAligned) {
  for (const std::vector<int64_t> &shape :
       {std::vector<int64_t>{}, {7}, {1, 0, 3}, std::vector<int64_t>(40, 123456789)}) {
    const std::string file = formatNpyHeader(8, shape);
    EXPECT_EQ(file.size() % 64, 0U);
    EXPECT_EQ(file.back(), '\n');
    const NpyHeader header = parse(file);
    EXPECT_EQ(header.descr, "<f8");
    EXPECT_EQ(header.shape, shape);
    EXPECT_EQ(header.dataOffset, file.size());
  }
  EXPECT_THROW(formatNpyHeader(4, std::vector<int64_t>(30000, 1)), Error);
}

TEST(NpyHeader, RefusesWhatItCannotRead) {
  const auto dict = [](const std::string &descr, const std::string &shape) {
    return fileOf("{'descr': " + descr + ", 'fortran_order': False, 'shape': " + shape + ", }");
  };
  const struct {
    std::string file, text;
  } cases[] = {
      {"", "this is no .npy file"},
      {"PK\x03\x04 an archive", "this is no .npy file"},
      {std::string("\x93NUMPY\x01", 7), "ends within its header"},
      {std::string("\x93NUMPY\x04\x00\x01\x00", 10), "version 4.0; expected 1.0, 2.0 or 3.0"},
      {std::string("\x93NUMPY\x01\x01\x01\x00", 10), "version 1.1"},
      {std::string("\x93NUMPY\x02\x00\x01", 9), "ends within its header"},
      {fileOf("{'descr'").substr(0, 12), "ends within its header"},
      {std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12), "the header has 4294967295 bytes"},
      {dict("'<i4'", "(3,)"), "the elements are '<i4'; expected '<f4'"},
      {dict("'<c8'", "(3,)"), "the elements are '<c8'"},
      {dict("'<f2'", "(3,)"), "the elements are '<f2'"},
      {dict("'|O'", "(3,)"), "the elements are '|O'"},
      {dict("[('x', '<f4')]", "(3,)"), "the elements are structured"},
      {dict("'<f4\n\x01'", "(3,)"), "the elements are '<f4\?\?'"},
      {dict("'<f4'", "3"), "lacks a '('"},
      {dict("'<f4'", "(3,,)"), "the shape is not a tuple of extents"},
      {dict("'<f4'", "(-3,)"), "the shape is not a tuple of extents"},
      {dict("'<f4'", "(3.0,)"), "lacks a ')'"},
      {dict("'<f4'", "(9223372036854775808,)"), "larger than 2^63"},
      {dict("'<f4'", "(" + std::string(200, '1') + ",)"), "larger than 2^63"},
      {dict(
           "'<f4'", "(" +
                        [] {
                          std::string ones;
                          for (int i = 0; i < 65; ++i)
                            ones += "1,";
                          return ones;
                        }() +
                        ")"),
       "more than 64 positions"},
      {dict("__import__('os')", "(3,)"), "not a dict of strings"},
      {fileOf("{'descr': '<f4', 'fortran_order': 0, 'shape': (3,)}"), "neither True nor False"},
      {fileOf("{'descr': '<f4', 'shape': (3,)}"), "lacks 'descr', 'fortran_order' or 'shape'"},
      {fileOf("{}"), "lacks 'descr'"},
      {fileOf("{'descr': '<f4', 'descr': '<f4'}"), "unknown or repeated key 'descr'"},
      {fileOf("{'order': 1}"), "unknown or repeated key 'order'"},
      {fileOf("{'descr: 1}"), "a string in the header has no end"},
      {fileOf("{'descr': '<f4', 'fortran_order': False, 'shape': (3,)} x"),
       "goes on after its end"},
      {fileOf("{'descr': '<f4', 'fortran_order': False, 'shape': (3,)"), "lacks a '}'"},
      {fileOf(""), "lacks a '{'"},
  };
  for (const auto &[file, text] : cases)
    EXPECT_NE(complaint(file).find(text), std::string::npos)
        << "expected: " << text << "\nfound: " << complaint(file);
}

TEST(NpyHeader, EveryPrefixIsRefused) {
  const std::string file = formatNpyHeader(4, std::vector<int64_t>{3, 4});
  for (std::size_t size = 0; size < file.size(); ++size)
    EXPECT_NE(complaint(file.substr(0, size)), "") << size;
}

} // namespace
