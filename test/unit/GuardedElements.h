//===- GuardedElements.h - memory next to which nothing may be read ---------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_TEST_GUARDEDELEMENTS_H
#define EINSUMC_TEST_GUARDEDELEMENTS_H

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace einsumc {

/// Which neighbour of some elements is a page that nobody may read.
enum class Guard { Before, Behind };

/// A copy of elements next to such a page.
template <class T> class GuardedElements {
public:
  explicit GuardedElements(const std::vector<T> &elements, Guard guard = Guard::Behind)
      : bytes((elements.size() * sizeof(T) + page - 1) / page * page + 2 * page),
        begin(static_cast<char *>(
            mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))),
        first(guard == Guard::Before
                  ? reinterpret_cast<T *>(begin + page)
                  : reinterpret_cast<T *>(begin + bytes - page) - elements.size()) {
    mprotect(begin, page, PROT_NONE);
    mprotect(begin + bytes - page, page, PROT_NONE);
    std::copy(elements.begin(), elements.end(), first);
  }
  GuardedElements(const GuardedElements &) = delete;
  GuardedElements &operator=(const GuardedElements &) = delete;
  ~GuardedElements() { munmap(begin, bytes); }

  const T *data() const { return first; }

private:
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::size_t bytes;
  char *begin;
  T *first;
};

} // namespace einsumc

#endif // EINSUMC_TEST_GUARDEDELEMENTS_H
