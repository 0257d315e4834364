//===- MemoryWindow.cpp - memory that other ranks read and add to one-sided -------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "MemoryWindow.h"

namespace einsumc {

namespace {

bool isMpiOver() {
  int flag = 0;
  return MPI_Finalized(&flag) != MPI_SUCCESS || flag != 0;
}

/// An attribute that MPI gives every window; nullptr where it does not.
void *attributeOf(MPI_Win window, int key) {
  void *value = nullptr;
  int found = 0;
  checkMpi(MPI_Win_get_attr(window, key, static_cast<void *>(&value), &found), "MPI_Win_get_attr");
  return found != 0 ? value : nullptr;
}

} // namespace

MemoryWindow::MemoryWindow(const Communicator &comm, std::span<std::byte> memory) {
  checkMpi(MPI_Win_create(memory.data(), static_cast<MPI_Aint>(memory.size()), 1, MPI_INFO_NULL,
                          comm.get(), &window),
           "MPI_Win_create");
  checkMpi(MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN), "MPI_Win_set_errhandler");
  requireUnified();
  agreeOnStarts(comm, memory);
  checkMpi(MPI_Win_lock_all(MPI_MODE_NOCHECK, window), "MPI_Win_lock_all");
}

MemoryWindow::~MemoryWindow() {
  if (window == MPI_WIN_NULL || isMpiOver())
    return;
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
}

void MemoryWindow::sync() const { checkMpi(MPI_Win_sync(window), "MPI_Win_sync"); }

/// Tensors that others do not touch lie in the same window and are written meanwhile.
void MemoryWindow::requireUnified() const {
  const auto *const model = static_cast<const int *>(attributeOf(window, MPI_WIN_MODEL));
  if (model == nullptr || *model != MPI_WIN_UNIFIED)
    throw Error("one-sided transfers need windows of MPI's unified memory model, which this MPI "
                "library does not offer here");
}

/// MPICH before 4.1 on UCX from 1.13 on takes for a window's base the start of the memory that UCX
/// has registered, which begins before the window where a part of it was registered already
/// (github.com/pmodels/mpich/pull/6140). MPI_WIN_BASE has that address.
void MemoryWindow::agreeOnStarts(const Communicator &comm, std::span<std::byte> memory) {
  MPI_Aint start = 0;
  if (!memory.empty()) {
    MPI_Aint address = 0, base = 0;
    checkMpi(MPI_Get_address(memory.data(), &address), "MPI_Get_address");
    checkMpi(MPI_Get_address(attributeOf(window, MPI_WIN_BASE), &base), "MPI_Get_address");
    start = MPI_Aint_diff(address, base);
  }
  starts.resize(static_cast<std::size_t>(comm.size()));
  checkMpi(MPI_Allgather(&start, 1, MPI_AINT, starts.data(), 1, MPI_AINT, comm.get()),
           "MPI_Allgather");
}

} // namespace einsumc
