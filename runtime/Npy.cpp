//===- Npy.cpp - tensors in .npy files --------------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "Npy.h"

#include "BoxPieces.h"
#include "NpyHeader.h"
#include "OnRoot.h"
#include "ParallelFile.h"
#include "PartFile.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>

namespace einsumc {
namespace {

static_assert(std::endian::native == std::endian::little, "files are written as memory has them");

std::vector<int64_t> reversed(std::vector<int64_t> values) {
  std::reverse(values.begin(), values.end());
  return values;
}

std::size_t sizeOfFile(const FileArray &array) {
  std::size_t bytes = array.elementBytes;
  for (const int64_t extent : array.extents)
    bytes *= static_cast<std::size_t>(extent);
  return array.offset + bytes;
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
  const std::size_t expected = sizeOfFile(arrayOf(header));
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

/// The pieces of a box of the file that a rank transfers one by one. Pieces of scattered elements
/// are smaller, as MPI-IO keeps a list of their runs.
std::vector<Box> filePieces(const FileArray &array, const Box &box, std::size_t pieceBytes) {
  constexpr int64_t kMaxRuns = 1 << 20;
  const int64_t fitting =
      std::max<int64_t>(1, static_cast<int64_t>(pieceBytes / array.elementBytes));
  return piecesOf(box, std::min(fitting, kMaxRuns * contiguousRun(box, array.extents)));
}

int64_t agreedCalls(const Communicator &comm, const std::vector<Box> &pieces) {
  auto calls = static_cast<int64_t>(pieces.size());
  maxOverRanks(comm, std::span(&calls, 1));
  return calls;
}

/// Elements of a piece of the file on their way into a block of memory.
struct Placement {
  Box piece;                    ///< in the file's positions
  std::vector<int64_t> strides; ///< of the block, in the file's positions
  int64_t offset = 0;           ///< of the piece's first element in the block
};

Placement placementOf(const NpyHeader &header, const Box &piece, const Box &block) {
  Placement place{piece, std::vector<int64_t>(piece.size()), 0};
  int64_t stride = 1;
  for (std::size_t p = block.size(); p-- > 0; stride *= block[p].size()) {
    const std::size_t inFile = header.fortranOrder ? block.size() - 1 - p : p;
    place.strides[inFile] = stride;
    place.offset += stride * (piece[inFile].begin - block[p].begin);
  }
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
void placeAs(const Placement &place, bool swap, const std::byte *source, T *block) {
  const std::size_t positions = place.piece.size();
  const int64_t row = positions == 0 ? 1 : place.piece.back().size();
  const int64_t step = positions == 0 ? 1 : place.strides.back();
  const int64_t rows = volume(place.piece) / row;
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < rows; ++r) {
    int64_t offset = place.offset, rest = r;
    for (std::size_t p = positions; p-- > 1;) {
      offset += place.strides[p - 1] * (rest % place.piece[p - 1].size());
      rest /= place.piece[p - 1].size();
    }
    const std::byte *from = source + static_cast<std::size_t>(r * row) * sizeof(Bits);
    for (int64_t i = 0; i < row; ++i) {
      Bits bits;
      std::memcpy(&bits, from + static_cast<std::size_t>(i) * sizeof(Bits), sizeof(Bits));
      block[offset + i * step] =
          static_cast<T>(std::bit_cast<Stored>(swap ? swapBytes(bits) : bits));
    }
  }
}

template <class T>
void place(const NpyHeader &header, const Placement &where, const std::byte *source, T *block) {
  if (header.elementBytes == 4)
    placeAs<float, uint32_t>(where, header.bigEndian, source, block);
  else
    placeAs<double, uint64_t>(where, header.bigEndian, source, block);
}

/// Lets the threads that will use the memory own its pages, as MPI-IO fills it from one thread.
void touch(std::byte *data, std::size_t bytes) {
  constexpr std::size_t kPage = 4096;
#pragma omp parallel for schedule(static)
  for (std::size_t at = 0; at < bytes; at += kPage)
    data[at] = std::byte{0};
}

} // namespace

std::string readNpy(const Communicator &comm, const std::string &file, const std::string &tensor,
                    const TensorView &view, std::size_t pieceBytes) {
  const NpyHeader header = readHeader(comm, file, tensor, view.layout->extents);
  const FileArray array = arrayOf(header);
  const bool asIs =
      array.elementBytes == sizeOf(view.dtype) && !header.bigEndian && !header.fortranOrder;
  Box box = view.box;
  if (header.fortranOrder)
    std::reverse(box.begin(), box.end());

  std::vector<Box> pieces;
  std::unique_ptr<std::byte[]> staging;
  collectively(comm, [&] {
    if (!view.held)
      return;
    pieces = filePieces(array, box, pieceBytes);
    if (!asIs && !pieces.empty())
      staging = std::make_unique_for_overwrite<std::byte[]>(
          static_cast<std::size_t>(volume(pieces.front())) * array.elementBytes);
  });
  const int64_t calls = agreedCalls(comm, pieces);
  if (view.held)
    touch(view.data, static_cast<std::size_t>(volume(view.box)) * sizeOf(view.dtype));

  ParallelFile stream(comm, file, ParallelFile::Mode::Read);
  std::byte *next = view.data;
  for (int64_t call = 0; call < calls; ++call) {
    if (call >= static_cast<int64_t>(pieces.size())) {
      stream.transfer(array, Box{Interval{}}, nullptr);
      continue;
    }
    const Box &piece = pieces[static_cast<std::size_t>(call)];
    stream.transfer(array, piece, asIs ? next : staging.get());
    if (asIs) {
      next += static_cast<std::size_t>(volume(piece)) * array.elementBytes;
      continue;
    }
    const Placement where = placementOf(header, piece, view.box);
    if (view.dtype == DType::F32)
      place(header, where, staging.get(), reinterpret_cast<float *>(view.data));
    else
      place(header, where, staging.get(), reinterpret_cast<double *>(view.data));
  }
  stream.close();
  if (header.elementBytes == 8 && view.dtype == DType::F32)
    return file + ": '" + header.descr + "' is converted to the program's f32";
  return "";
}

void writeNpy(const Communicator &comm, const std::string &file, const TensorView &view,
              std::size_t pieceBytes) {
  FileArray array{0, view.layout->extents, sizeOf(view.dtype)};
  std::optional<PartFile> part; // rank 0's
  const std::string start = onRoot(comm, [&] {
    std::string header = formatNpyHeader(static_cast<int>(array.elementBytes), array.extents);
    array.offset = header.size();
    part.emplace(file, header, sizeOfFile(array));
    return header;
  });
  array.offset = start.size();

  std::vector<Box> pieces;
  collectively(comm, [&] {
    if (view.layout->isPrimary(comm.rank()))
      pieces = filePieces(array, view.box, pieceBytes);
  });
  const int64_t calls = agreedCalls(comm, pieces);
  ParallelFile stream(comm, PartFile::nameOf(file), ParallelFile::Mode::Write);
  std::byte *next = view.data;
  for (int64_t call = 0; call < calls; ++call) {
    const Box piece = call < static_cast<int64_t>(pieces.size())
                          ? pieces[static_cast<std::size_t>(call)]
                          : Box{Interval{}};
    stream.transfer(array, piece, next);
    next += static_cast<std::size_t>(volume(piece)) * array.elementBytes;
  }
  stream.close();
  doOnRoot(comm, [&] { part->commit(); });
}

} // namespace einsumc
