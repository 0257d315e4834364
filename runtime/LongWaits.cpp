//===- LongWaits.cpp - waits for other ranks that take long -----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "LongWaits.h"

#include "Format.h"

#include <utility>

namespace einsumc {
namespace {

LongWaits inForce;

/// `no message from rank 3 for 60 s`.
std::string lasting(const std::string &what, double seconds) {
  return what + " for " + formatNumber(seconds) + " s";
}

} // namespace

LongWaitsInForce::LongWaitsInForce(LongWaits policy) { inForce = std::move(policy); }

LongWaitsInForce::~LongWaitsInForce() { inForce = LongWaits(); }

WaitClock::WaitClock() : start(std::chrono::steady_clock::now()), nextNote(inForce.noteSeconds) {}

void WaitClock::look(const std::function<std::string()> &describe) {
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  if (inForce.limitSeconds > 0 && passed.count() >= inForce.limitSeconds)
    inForce.end(lasting(describe(), inForce.limitSeconds));
  if (nextNote > 0 && passed.count() >= nextNote) {
    inForce.note(lasting(describe(), nextNote));
    nextNote *= 2;
  }
}

} // namespace einsumc
