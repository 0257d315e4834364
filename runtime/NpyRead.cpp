//===- NpyRead.cpp - tensors from .npy files --------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "Npy.h"

#include "BoxFile.h"
#include "FileArray.h"
#include "NpyHeader.h"
#include "OnRoot.h"
#include "ParallelFile.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

namespace einsumc {
namespace {

static_assert(std::endian::native == std::endian::little, "files are written as memory has them");

std::vector<int64_t> reversed(std::vector<int64_t> values) {
  std::reverse(values.begin(), values.end());
  return values;
}

/// The start of a file, long enough for any header.
std::string readStart(const std::string &file) {
  errno = 0;
  if (std::filesystem::is_directory(file))
    throw Error(file + ": is a directory");
  std::ifstream stream(file, std::ios::binary);
  if (!stream)
    throw Error(systemFailure(file, "read", errno));
  std::string start(kMaxNpyHeader, '\0');
  stream.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<std::size_t>(stream.gcount()));
  return start;
}

/// The array in a file. Its positions are the tensor's, reversed in Fortran order.
FileArray arrayOf(const NpyHeader &header) {
  return {header.dataOffset, header.fortranOrder ? reversed(header.shape) : header.shape,
          static_cast<std::size_t>(header.elementBytes)};
}

void requireFits(const NpyHeader &header, std::uintmax_t fileBytes, const std::string &tensor,
                 const std::vector<int64_t> &extents) {
  if (header.shape != extents)
    throw Error("the shape is " + formatShape(header.shape) + ", but tensor " + tensor + " has " +
                formatShape(extents));
  const std::size_t expected = header.dataOffset + arrayOf(header).dataBytes();
  if (fileBytes != expected)
    throw Error("the file has " + std::to_string(fileBytes) + " bytes, but its header says " +
                std::to_string(expected) + (fileBytes < expected ? ": it was cut off" : ""));
}

/// Collective: rank 0 reads and checks the header for all.
NpyHeader readHeader(const Communicator &comm, const std::string &file, const std::string &tensor,
                     const std::vector<int64_t> &extents) {
  const std::string start = onRoot(comm, [&] {
    std::string bytes = readStart(file);
    try {
      const NpyHeader header = parseNpyHeader(std::as_bytes(std::span(bytes)));
      requireFits(header, std::filesystem::file_size(file), tensor, extents);
      bytes.resize(header.dataOffset);
    } catch (const Error &error) {
      throw Error(file + ": " + error.what());
    }
    return bytes;
  });
  return parseNpyHeader(std::as_bytes(std::span(start)));
}

/// Elements on their way from a buffer with a part of the file into a block of memory. All is in
/// the file's positions.
struct Placement {
  Box box;                            ///< the elements
  std::vector<int64_t> sourceStrides; ///< of the buffer
  std::vector<int64_t> targetStrides; ///< of the block
  int64_t source = 0, target = 0;     ///< of the first element
};

/// Row-major strides of a box.
std::vector<int64_t> stridesOf(const Box &box) {
  std::vector<int64_t> strides(box.size());
  int64_t stride = 1;
  for (std::size_t p = box.size(); p-- > 0; stride *= box[p].size())
    strides[p] = stride;
  return strides;
}

/// Where a box begins inside a larger one.
int64_t offsetIn(const Box &box, const Box &larger, const std::vector<int64_t> &strides) {
  int64_t offset = 0;
  for (std::size_t p = 0; p < box.size(); ++p)
    offset += strides[p] * (box[p].begin - larger[p].begin);
  return offset;
}

/// \param buffer what the buffer holds
/// \param block what the block holds, with its strides as memory has them
Placement placementOf(const Box &box, const Box &buffer, const Box &block,
                      std::vector<int64_t> blockStrides) {
  Placement place{box, stridesOf(buffer), std::move(blockStrides), 0, 0};
  place.source = offsetIn(box, buffer, place.sourceStrides);
  place.target = offsetIn(box, block, place.targetStrides);
  return place;
}

template <class Bits> Bits swapBytes(Bits bits) {
  if constexpr (sizeof(Bits) == 4)
    return __builtin_bswap32(bits);
  else
    return __builtin_bswap64(bits);
}

/// Converts and places elements that were read, `Stored` as the file has them.
template <class Stored, class Bits, class T>
void placeAs(const Placement &place, bool swap, const std::byte *buffer, T *block) {
  const std::size_t positions = place.box.size();
  const int64_t row = positions == 0 ? 1 : place.box.back().size();
  const int64_t step = positions == 0 ? 1 : place.targetStrides.back();
  const int64_t rows = volume(place.box) / row;
  constexpr int64_t kWorthThreads = 1 << 16; // elements
#pragma omp parallel for schedule(static) if (rows * row >= kWorthThreads)
  for (int64_t r = 0; r < rows; ++r) {
    int64_t source = place.source, target = place.target, rest = r;
    for (std::size_t p = positions; p-- > 1;) {
      const int64_t index = rest % place.box[p - 1].size();
      source += place.sourceStrides[p - 1] * index;
      target += place.targetStrides[p - 1] * index;
      rest /= place.box[p - 1].size();
    }
    const std::byte *from = buffer + static_cast<std::size_t>(source) * sizeof(Bits);
    for (int64_t i = 0; i < row; ++i) {
      Bits bits;
      std::memcpy(&bits, from + static_cast<std::size_t>(i) * sizeof(Bits), sizeof(Bits));
      block[target + i * step] =
          static_cast<T>(std::bit_cast<Stored>(swap ? swapBytes(bits) : bits));
    }
  }
}

template <class T>
void placeInto(const NpyHeader &header, const Placement &place, const std::byte *buffer, T *block) {
  if (header.elementBytes == 4)
    placeAs<float, uint32_t>(place, header.bigEndian, buffer, block);
  else
    placeAs<double, uint64_t>(place, header.bigEndian, buffer, block);
}

/// Lets the threads that will use the memory own its pages, as MPI-IO fills it from one thread.
void touch(std::byte *data, std::size_t bytes) {
  constexpr std::size_t kPage = 4096;
#pragma omp parallel for schedule(static)
  for (std::size_t at = 0; at < bytes; at += kPage)
    data[at] = std::byte{0};
}

/// One tensor on its way from a file, on one rank.
class NpyReader {
public:
  NpyReader(const Communicator &comm, const std::string &file, NpyHeader header,
            const TensorView &view, const Region &region)
      : comm(comm), file(file), header(std::move(header)), array(arrayOf(this->header)), view(view),
        block(region.shifted(view.box)), blockStrides(stridesOf(view.box)) {
    for (const int64_t extent : view.layout->extents)
      all.push_back({0, extent});
    all = region.shifted(all);
    if (this->header.fortranOrder) {
      std::reverse(block.begin(), block.end());
      std::reverse(blockStrides.begin(), blockStrides.end());
      std::reverse(all.begin(), all.end());
    }
  }

  /// What the file has of the tensor.
  std::size_t bytes() const { return static_cast<std::size_t>(volume(all)) * array.elementBytes; }

  /// Rank 0 reads all of the tensor and sends it to all.
  void readSmall() {
    const std::string data = onRoot(comm, [&] { return readBox(file, array, all); });
    if (view.held && volume(block) > 0)
      place(block, all, reinterpret_cast<const std::byte *>(data.data()));
  }

  /// Every rank reads its part, in pieces.
  void readLarge(std::size_t pieceBytes) {
    const bool asIs =
        array.elementBytes == sizeOf(view.dtype) && !header.bigEndian && !header.fortranOrder;
    std::vector<Box> pieces;
    std::unique_ptr<std::byte[]> staging;
    collectively(comm, [&] {
      if (!view.held)
        return;
      pieces = array.pieces(block, pieceBytes);
      if (!asIs && !pieces.empty())
        staging = std::make_unique_for_overwrite<std::byte[]>(
            static_cast<std::size_t>(volume(pieces.front())) * array.elementBytes);
      touch(view.data, static_cast<std::size_t>(volume(block)) * sizeOf(view.dtype));
    });
    auto calls = static_cast<int64_t>(pieces.size());
    maxOverRanks(comm, std::span(&calls, 1));
    pieces.resize(static_cast<std::size_t>(calls), Box{Interval{}}); // All make as many calls.

    ParallelFile stream(comm, file, ParallelFile::Mode::Read);
    std::byte *next = view.data;
    for (const Box &piece : pieces) {
      stream.transfer(array, piece, asIs ? next : staging.get());
      if (asIs)
        next += static_cast<std::size_t>(volume(piece)) * array.elementBytes;
      else if (volume(piece) > 0)
        place(piece, piece, staging.get());
    }
    stream.close();
  }

private:
  void place(const Box &box, const Box &buffer, const std::byte *source) const {
    const Placement placement = placementOf(box, buffer, block, blockStrides);
    if (view.dtype == DType::F32)
      placeInto(header, placement, source, reinterpret_cast<float *>(view.data));
    else
      placeInto(header, placement, source, reinterpret_cast<double *>(view.data));
  }

  const Communicator &comm;
  const std::string &file;
  NpyHeader header;
  FileArray array;
  TensorView view;
  Box all;                           ///< the tensor, in the file's positions and indices
  Box block;                         ///< of this rank, the same
  std::vector<int64_t> blockStrides; ///< in memory, in the file's positions
};

} // namespace

std::string readNpy(const Communicator &comm, const std::string &file, const std::string &tensor,
                    const TensorView &view, const NpyLimits &limits) {
  return readNpy(comm, file, tensor, view, Region(*view.layout), limits);
}

std::string readNpy(const Communicator &comm, const std::string &file, const std::string &tensor,
                    const TensorView &view, const Region &region, const NpyLimits &limits) {
  const NpyHeader header = readHeader(comm, file, tensor, region.extents);
  NpyReader reader(comm, file, header, view, region);
  if (reader.bytes() <= limits.small)
    reader.readSmall();
  else
    reader.readLarge(limits.piece);
  if (header.elementBytes == 8 && view.dtype == DType::F32)
    return file + ": '" + header.descr + "' is converted to the program's f32";
  return "";
}

} // namespace einsumc
