// Failures in the middle of a stepping loop, for emitted programs: rank 1 throws in the second step
// of the node that FAIL_IN names or, where PID_FILE says so, writes its process id there and waits
// to be killed.

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>

inline void failInSteps(const char *node, int64_t rank) {
  static int steps = 0;
  const char *const where = std::getenv("FAIL_IN");
  if (rank != 1 || where == nullptr || std::strcmp(where, node) != 0 || ++steps < 2)
    return;
  if (const char *const file = std::getenv("PID_FILE")) {
    std::ofstream(file) << getpid() << std::endl;
    while (true)
      pause();
  }
  throw std::runtime_error(std::string("the disk is on fire in ") + node);
}
