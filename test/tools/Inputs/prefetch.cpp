// A function that only fetches, and one that calls it.
#include "Prefetch.h"

[[gnu::noinline]] void fetchLines(const char *from, long count) {
  for (long line = 0; line < count; ++line)
    einsumc::prefetch(from + 64 * line);
}

[[gnu::noinline]] void fetchLinesToWrite(char *from, long count) {
  for (long line = 0; line < count; ++line)
    einsumc::prefetchToWrite(from + 64 * line);
}

void caller(char *from, long count, int *result) {
  fetchLines(from, count);
  fetchLinesToWrite(from, count);
  *result = 1;
}
