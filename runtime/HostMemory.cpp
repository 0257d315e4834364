//===- HostMemory.cpp - memory that the processes of a host share -----------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "HostMemory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <string>

namespace einsumc {

namespace {

/// Maps a whole file; empty where that is not possible.
std::span<std::byte> mapFile(int descriptor, std::size_t bytes) {
  void *const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED)
    return {};
#ifdef MADV_HUGEPAGE
  madvise(memory, bytes, MADV_HUGEPAGE); // Has an effect where shmem_enabled is `advise`.
#endif
  return {static_cast<std::byte *>(memory), bytes};
}

HostMemory::Address addressOf(int descriptor) {
  struct stat status{};
  if (fstat(descriptor, &status) != 0)
    return {};
  return {getpid(), descriptor, static_cast<int64_t>(status.st_dev),
          static_cast<int64_t>(status.st_ino)};
}

/// Maps what another process has; empty where that is not possible. Processes that do not see each
/// other by their numbers, as in containers of their own, find nothing, or another file.
std::span<std::byte> mapOther(const HostMemory::Address &address, std::size_t bytes) {
  const std::string name =
      "/proc/" + std::to_string(address.process) + "/fd/" + std::to_string(address.descriptor);
  const int descriptor = open(name.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0)
    return {};
  const HostMemory::Address found = addressOf(descriptor);
  const bool isIt = found.device == address.device && found.file == address.file;
  const std::span<std::byte> memory = isIt ? mapFile(descriptor, bytes) : std::span<std::byte>();
  close(descriptor); // The mapping stays.
  return memory;
}

/// A file that is larger than the limit of files ends its process by a signal.
bool isWithinFileLimit(std::size_t bytes) {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
         (limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur);
}

} // namespace

std::unique_ptr<const HostMemory> HostMemory::make(std::size_t bytes) {
#ifdef MFD_CLOEXEC
  if (bytes == 0 || !isWithinFileLimit(bytes))
    return nullptr;
  const int descriptor = memfd_create("einsumc", MFD_CLOEXEC);
  if (descriptor < 0)
    return nullptr;
  const bool isLarge = ftruncate(descriptor, static_cast<off_t>(bytes)) == 0;
  const std::span<std::byte> memory = isLarge ? mapFile(descriptor, bytes) : std::span<std::byte>();
  if (!memory.empty())
    return std::unique_ptr<const HostMemory>(new HostMemory(descriptor, memory));
  close(descriptor);
#endif
  return nullptr;
}

HostMemory::~HostMemory() {
  munmap(memory.data(), memory.size());
  close(descriptor);
}

HostMemory::Address HostMemory::address() const { return addressOf(descriptor); }

HostView::HostView(const Communicator &host, std::span<std::byte> own, const HostMemory *origin)
    : ownPlace(static_cast<std::size_t>(host.rank())),
      memories(static_cast<std::size_t>(host.size())) {
  // What each rank has: its bytes and their address.
  constexpr std::size_t kWords = 5;
  std::vector<int64_t> words(kWords * memories.size(), 0);
  const HostMemory::Address address = origin == nullptr ? HostMemory::Address() : origin->address();
  const std::array<int64_t, kWords> ownWords{static_cast<int64_t>(own.size()), address.process,
                                             address.descriptor, address.device, address.file};
  std::ranges::copy(ownWords, words.begin() + static_cast<std::ptrdiff_t>(kWords * ownPlace));
  sumOverRanks(host, std::span(words));

  for (std::size_t place = 0; place < memories.size(); ++place) {
    const int64_t *const of = &words[kWords * place];
    const auto bytes = static_cast<std::size_t>(of[0]);
    if (bytes == 0)
      continue;
    const HostMemory::Address there{of[1], of[2], of[3], of[4]};
    if (there.descriptor >= 0)
      memories[place] = place == ownPlace ? own : mapOther(there, bytes);
    isWhole = isWhole && !memories[place].empty();
  }
  int64_t lacks = isWhole ? 0 : 1;
  maxOverRanks(host, std::span(&lacks, 1));
  isWhole = lacks == 0;
}

HostView::~HostView() {
  for (std::size_t place = 0; place < memories.size(); ++place)
    if (place != ownPlace && !memories[place].empty())
      munmap(memories[place].data(), memories[place].size());
}

} // namespace einsumc
