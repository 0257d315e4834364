//===- Machine.h - the machine that a schedule is planned for ---------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_IR_MACHINE_H
#define EINSUMC_IR_MACHINE_H

#include "compiler/ir/Tree.h"
#include "compiler/support/Diagnostics.h"

#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace einsumc {

/// The cost of a message of w bytes is alpha + beta * w.
struct Link {
  double alpha = 0; ///< seconds a message
  double beta = 0;  ///< seconds a byte
  bool operator==(const Link &) const = default;
};

/// One level of cache.
struct CacheLevel {
  int64_t bytes = 0;    ///< that a thread finds there
  double bandwidth = 0; ///< bytes a second, all threads of a rank together
  bool operator==(const CacheLevel &) const = default;
};

/// The share of the flops that products of a tile reach, by its extents along m and k.
struct KernelEfficiency {
  std::vector<int64_t> m, k;              ///< increasing; one line and one column of `table` each
  std::vector<std::vector<double>> table; ///< above 0
  bool operator==(const KernelEfficiency &) const = default;
};

/// How fast tensors in the caches are packed into blocks, and blocks written to tensors. Rates are
/// in bytes copied a second.
struct PackRates {
  double contiguous = 30e9; ///< along the same dim in both
  double transposed = 8e9;  ///< along different dims
  double scattered = 4e9;   ///< results that are contiguous along no dim of the block
  double row = 3e-9;        ///< seconds for the start of a row, one thread
  double memoryRow = 20e-9; ///< the same when the row comes from memory
  bool operator==(const PackRates &) const = default;
};

/// What the cost model knows of a machine. All rates are those of one rank.
struct Machine {
  Link withinNode{1e-6, 1.0 / 10e9};   ///< between ranks of one node
  Link betweenNodes{2e-6, 1.0 / 10e9}; ///< between nodes
  double flopsF32 = 200e9;             ///< sustained flops a second, f32
  double flopsF64 = 100e9;             ///< sustained flops a second, f64
  double memoryBandwidth = 20e9;       ///< bytes a second
  int64_t memory = int64_t{4} << 30;   ///< bytes
  int64_t ranksPerNode = 1;
  int64_t threads = 1; ///< of a rank, with which the rates hold
  /// From the first level to the last.
  std::vector<CacheLevel> caches = {{32 << 10, 200e9}, {512 << 10, 100e9}, {16 << 20, 50e9}};
  double kernelOverhead = 20e-9; ///< seconds for one call of a tile's kernel
  KernelEfficiency kernelEfficiency = {
      {1, 8, 32, 64},
      {1, 16, 64, 128},
      {{0.02, 0.05, 0.1, 0.1}, {0.1, 0.4, 0.5, 0.5}, {0.2, 0.6, 0.85, 0.9}, {0.2, 0.6, 0.85, 0.9}}};
  PackRates pack;
  std::string topology = "full"; ///< `full`, `ring`, `torus:4x4x4`, `fattree:k`

  double flopsPerSecond(ElementType type) const {
    return type == ElementType::F32 ? flopsF32 : flopsF64;
  }
  bool operator==(const Machine &) const = default;
};

/// Prints the machine as the JSON that `readMachine` reads.
void print(const Machine &machine, llvm::raw_ostream &stream);

/// Reads a machine file: a JSON object with the members
///   alpha, beta        seconds, seconds a byte: a number, or [within a node, between nodes]
///   flops              flops a second: a number (f32; f64 is half), or {"f32": x, "f64": y}
///   memory_bandwidth   bytes a second
///   memory             bytes
///   ranks_per_node     at least 1
///   topology           "full", "ring", "torus:AxBxC", "fattree:K"
///   comment            any text
/// A member that is absent keeps the built-in value; an unknown one is an error.
/// \param text as returned by `Diagnostics::addText`
std::optional<Machine> readMachine(llvm::StringRef text, Diagnostics &diagnostics);

} // namespace einsumc

#endif // EINSUMC_IR_MACHINE_H
