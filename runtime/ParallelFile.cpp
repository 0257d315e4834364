//===- ParallelFile.cpp - a file that all ranks read or write ---------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "ParallelFile.h"

#include "OnRoot.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

namespace einsumc {
namespace {

/// A derived datatype, freed at the end.
class Datatype {
public:
  explicit Datatype(int bytes) {
    checkMpi(MPI_Type_contiguous(bytes, MPI_BYTE, &type), "MPI_Type_contiguous");
  }
  ~Datatype() { MPI_Type_free(&type); }
  Datatype(const Datatype &) = delete;
  Datatype &operator=(const Datatype &) = delete;

  /// Becomes \p count times itself, \p stride bytes apart.
  void repeat(int64_t count, int64_t stride) {
    MPI_Datatype outer = MPI_DATATYPE_NULL;
    checkMpi(MPI_Type_create_hvector(static_cast<int>(count), 1, static_cast<MPI_Aint>(stride),
                                     type, &outer),
             "MPI_Type_create_hvector");
    std::swap(type, outer);
    MPI_Type_free(&outer);
  }
  MPI_Datatype commit() {
    checkMpi(MPI_Type_commit(&type), "MPI_Type_commit");
    return type;
  }

private:
  MPI_Datatype type = MPI_DATATYPE_NULL;
};

/// A box of an array as MPI-IO wants it.
struct FileBlock {
  FileBlock(const FileArray &array, const Box &box)
      : offset(static_cast<int64_t>(array.offset)),
        type(
            static_cast<int>(array.contiguousRun(box) * static_cast<int64_t>(array.elementBytes))) {
    const int64_t run = array.contiguousRun(box);
    auto stride = static_cast<int64_t>(array.elementBytes);
    int64_t inRun = 1;
    for (std::size_t p = box.size(); p-- > 0; stride *= array.extents[p]) {
      offset += box[p].begin * stride;
      if (inRun == run && box[p].size() > 1)
        type.repeat(box[p].size(), stride);
      else
        inRun *= box[p].size();
    }
  }

  int64_t offset;
  Datatype type;
};

/// ROMIO's data sieving would read and write back what other ranks write at the same time;
/// collective buffering has one writer for each region. Other libraries ignore the hint.
MPI_Info makeHints(ParallelFile::Mode mode) {
  MPI_Info info = MPI_INFO_NULL;
  if (mode == ParallelFile::Mode::Read)
    return info;
  checkMpi(MPI_Info_create(&info), "MPI_Info_create");
  checkMpi(MPI_Info_set(info, "romio_cb_write", "enable"), "MPI_Info_set");
  return info;
}

} // namespace

ParallelFile::ParallelFile(const Communicator &comm, const std::string &name, Mode mode)
    : comm(comm), name(name), mode(mode) {
  const bool reads = mode == Mode::Read;
  // MPI-IO's messages are vague, and some libraries hang when a file is there on some ranks only.
  collectively(comm, [&] {
    if (access(name.c_str(), reads ? R_OK : R_OK | W_OK) != 0)
      throw Error(systemFailure(name, reads ? "read" : "write", errno));
  });
  // An absolute name, as ROMIO takes what precedes a colon for the kind of file system.
  const std::string path = std::filesystem::absolute(name).string();
  MPI_Info info = makeHints(mode);
  const int code =
      MPI_File_open(comm.get(), path.c_str(), reads ? MPI_MODE_RDONLY : MPI_MODE_RDWR, info, &file);
  if (info != MPI_INFO_NULL)
    MPI_Info_free(&info);
  collectively(comm, [&] {
    try {
      checkMpi(code, "MPI_File_open");
    } catch (const Error &error) {
      throw Error(name + ": " + error.what());
    }
  });
}

void ParallelFile::note(int code, const char *call) {
  if (code == MPI_SUCCESS || !failure.empty())
    return;
  try {
    checkMpi(code, call);
  } catch (const Error &error) {
    failure = name + ": " + error.what();
  }
}

void ParallelFile::transfer(const FileArray &array, const Box &box, std::byte *memory) {
  const int64_t elements = volume(box);
  const int bytes = static_cast<int>(elements * static_cast<int64_t>(array.elementBytes));
  MPI_Status status;
  int code = MPI_SUCCESS;
  if (elements == 0) {
    note(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL),
         "MPI_File_set_view");
  } else {
    FileBlock block(array, box);
    note(MPI_File_set_view(file, block.offset, MPI_BYTE, block.type.commit(), "native",
                           MPI_INFO_NULL),
         "MPI_File_set_view");
  }
  if (mode == Mode::Read)
    code = MPI_File_read_all(file, memory, bytes, MPI_BYTE, &status);
  else
    code = MPI_File_write_all(file, memory, bytes, MPI_BYTE, &status);
  note(code, mode == Mode::Read ? "MPI_File_read_all" : "MPI_File_write_all");
  int moved = 0;
  if (code == MPI_SUCCESS && bytes > 0 && failure.empty() &&
      (MPI_Get_count(&status, MPI_BYTE, &moved) != MPI_SUCCESS || moved != bytes))
    failure = name + ": " + std::to_string(bytes) + " bytes were to be transferred, but " +
              std::to_string(moved) + " were";
}

void ParallelFile::close() {
  note(MPI_File_close(&file), "MPI_File_close");
  collectively(comm, [&] {
    if (!failure.empty())
      throw Error(failure);
  });
}

} // namespace einsumc
