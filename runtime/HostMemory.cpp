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
#include <utility>

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

bool isFile(const struct stat &status, const HostMemory::Address &address) {
  return static_cast<int64_t>(status.st_dev) == address.device &&
         static_cast<int64_t>(status.st_ino) == address.file;
}

/// A file that is larger than the limit of files ends its process by a signal.
bool isWithinFileLimit(std::size_t bytes) {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
         (limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur);
}

/// Files in memory can be made larger than it is, and end the process when they are filled; of
/// usual memory the system knows what it has.
bool isWithinMemory(std::size_t bytes) {
  void *const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory != MAP_FAILED && munmap(memory, bytes) == 0;
}

} // namespace

std::unique_ptr<HostMemory> HostMemory::make(std::size_t bytes) {
#ifdef MFD_CLOEXEC
  if (bytes == 0 || !isWithinFileLimit(bytes) || !isWithinMemory(bytes))
    return nullptr;
  const int descriptor = memfd_create("einsumc", MFD_CLOEXEC);
  if (descriptor < 0)
    return nullptr;
  const bool isLarge = ftruncate(descriptor, static_cast<off_t>(bytes)) == 0;
  const std::span<std::byte> memory = isLarge ? mapFile(descriptor, bytes) : std::span<std::byte>();
  if (!memory.empty())
    return std::unique_ptr<HostMemory>(new HostMemory(descriptor, memory));
  close(descriptor);
#endif
  return nullptr;
}

HostMemory::~HostMemory() {
  munmap(memory.data(), memory.size());
  closeToOthers();
}

HostMemory::Address HostMemory::address() const {
  struct stat status{};
  if (descriptor < 0 || fstat(descriptor, &status) != 0)
    return {};
  return {getpid(), descriptor, static_cast<int64_t>(status.st_dev),
          static_cast<int64_t>(status.st_ino)};
}

void HostMemory::closeToOthers() {
  if (descriptor >= 0)
    close(descriptor);
  descriptor = -1;
}

std::span<std::byte> HostMemory::map(const Address &address, std::size_t bytes) {
  const std::string name =
      "/proc/" + std::to_string(address.process) + "/fd/" + std::to_string(address.descriptor);
  struct stat status{};
  if (stat(name.c_str(), &status) != 0 || !isFile(status, address))
    return {};
  const int descriptor = open(name.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (descriptor < 0)
    return {};
  const bool isStillIt = fstat(descriptor, &status) == 0 && isFile(status, address);
  const std::span<std::byte> memory =
      isStillIt ? mapFile(descriptor, bytes) : std::span<std::byte>();
  close(descriptor); // The mapping stays.
  return memory;
}

HostView::HostView(const Communicator &host, std::span<std::byte> own, HostMemory *origin)
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
      memories[place] = place == ownPlace ? own : HostMemory::map(there, bytes);
    isWhole = isWhole && !memories[place].empty();
  }
  int64_t lacks = isWhole ? 0 : 1;
  maxOverRanks(host, std::span(&lacks, 1));
  isWhole = lacks == 0;
  if (origin != nullptr)
    origin->closeToOthers();
  if (!isWhole)
    unmapOthers();
}

HostView::~HostView() { unmapOthers(); }

void HostView::unmapOthers() {
  for (std::size_t place = 0; place < memories.size(); ++place)
    if (const auto memory = std::exchange(memories[place], {});
        place != ownPlace && !memory.empty())
      munmap(memory.data(), memory.size());
}

} // namespace einsumc
