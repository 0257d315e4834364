//===- BuiltInMachines.cpp - machines that need no file ---------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
// Round numbers for planning before a machine can be measured.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/ir/Machine.h"

#include "llvm/ADT/StringSwitch.h"

namespace einsumc {

namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

/// Eight cores, a rank each.
Machine laptop() {
  Machine machine;
  machine.withinNode = {0.5e-6, 1 / 8e9};
  machine.flopsF32 = 100e9;
  machine.flopsF64 = 50e9;
  machine.memoryBandwidth = 7e9;
  machine.memory = 2 * kGiB;
  machine.ranksPerNode = 8;
  machine.comment = "laptop: 8 cores, a rank each";
  return machine;
}

/// One node, a rank of 64 cores a socket.
Machine twoSocket() {
  Machine machine;
  machine.withinNode = {0.6e-6, 1 / 20e9};
  machine.flopsF32 = 5.6e12;
  machine.flopsF64 = 2.8e12;
  machine.memoryBandwidth = 250e9;
  machine.memory = 256 * kGiB;
  machine.ranksPerNode = 2;
  machine.threads = 64;
  machine.caches = {
      {int64_t{64} * (32 << 10), 12.8e12}, {int64_t{64} << 20, 5e12}, {int64_t{256} << 20, 1.5e12}};
  machine.pack.contiguous.rate *= 64;
  machine.pack.transposed.rate *= 64;
  machine.pack.scattered *= 64;
  machine.comment = "two-socket: a rank of 64 cores a socket";
  return machine;
}

/// Such nodes with 100 Gbit/s each, which their two ranks share.
Machine cluster100g() {
  Machine machine = twoSocket();
  machine.betweenNodes = {1.8e-6, 2 / 12.5e9};
  machine.comment = "cluster-100g: nodes of two sockets, a rank a socket, 100 Gbit/s a node";
  return machine;
}

} // namespace

std::optional<Machine> builtInMachine(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<Machine>>(name)
      .Case("laptop", laptop())
      .Case("two-socket", twoSocket())
      .Case("cluster-100g", cluster100g())
      .Default(std::nullopt);
}

} // namespace einsumc
