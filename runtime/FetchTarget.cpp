//===- FetchTarget.cpp - the cache that operands are fetched into -----------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "FetchTarget.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace einsumc {

namespace {

bool isZen5OrLater() noexcept {
#if defined(__x86_64__)
  // The vendor's name is in EBX, EDX, ECX; the family is the sum of two fields, if the first is
  // full.
  unsigned highest = 0, ebx = 0, ecx = 0, edx = 0, signature = 0;
  if (__get_cpuid(0, &highest, &ebx, &ecx, &edx) == 0 || ebx != signature_AMD_ebx ||
      ecx != signature_AMD_ecx || edx != signature_AMD_edx ||
      __get_cpuid(1, &signature, &ebx, &ecx, &edx) == 0)
    return false;
  constexpr unsigned kFull = 0xF, kZen5 = 0x1A;
  const unsigned base = signature >> 8 & kFull, extended = signature >> 20 & 0xFF;
  return base == kFull && base + extended >= kZen5;
#else
  return false;
#endif
}

} // namespace

const bool kFetchesIntoNearestCache = isZen5OrLater();

} // namespace einsumc
