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
  double load = 0;  ///< seconds a byte of a thread that could compute, where messages take it
  bool operator==(const Link &) const = default;
};

/// One level of cache.
struct CacheLevel {
  int64_t bytes = 0;    ///< of all threads of a rank together
  double bandwidth = 0; ///< bytes a second of loops that go through tensors in this level
  bool operator==(const CacheLevel &) const = default;
};

/// The share of the peak that kernels of tiles reach, by the extents of a tile: a line of `table`
/// an entry of `mBytes`, a column an entry of `k`. Both increase.
struct KernelEfficiency {
  std::vector<int64_t> mBytes; ///< extents along m times the bytes of an element
  std::vector<int64_t> k;
  std::vector<std::vector<double>> table; ///< above 0, at most 1

  /// What no tile exceeds.
  double best() const;
  bool operator==(const KernelEfficiency &) const = default;
};

/// How fast a kind of copy packs blocks.
struct CopyRate {
  double rate = 0;      ///< bytes a second in the caches
  double row = 0;       ///< seconds more for each row of neighbours in the tensor
  double memoryRow = 0; ///< seconds more for each row that comes from memory
  bool operator==(const CopyRate &) const = default;
};

/// How fast tensors are packed into blocks, and blocks written to tensors.
struct PackRates {
  CopyRate contiguous{40e9, 0.5e-9, 10e-9}; ///< between neighbours in both
  CopyRate transposed{20e9, 1e-9, 20e-9};   ///< neighbours in one are none in the other
  double scattered = 4e9; ///< bytes a second of results that are contiguous along no m dim
  bool operator==(const PackRates &) const = default;
};

/// What the cost model knows of a machine. Rates (bytes and flops a second) are those of one
/// rank, all its threads together; times (seconds) those of one thread.
struct Machine {
  Link withinNode{1e-6, 1.0 / 10e9};   ///< between ranks of one node
  Link betweenNodes{2e-6, 1.0 / 10e9}; ///< between nodes
  double flopsF32 = 200e9;             ///< peak of multiply-adds, flops a second
  double flopsF64 = 100e9;             ///< the same for f64
  double memoryBandwidth = 20e9;       ///< bytes a second
  int64_t memory = int64_t{4} << 30;   ///< bytes
  int64_t ranksPerNode = 1;
  int64_t threads = 1; ///< of a rank, to which the rates belong
  /// From the first level to the last.
  std::vector<CacheLevel> caches = {{32 << 10, 200e9}, {1 << 20, 100e9}, {16 << 20, 50e9}};
  int64_t vectorBytes = 64;      ///< of a register
  double kernelOverhead = 10e-9; ///< seconds for the call of a tile's kernel
  KernelEfficiency kernelEfficiency = {{8, 16, 32, 64, 128, 256},
                                       {1, 4, 16, 64, 128},
                                       {{0.02, 0.06, 0.11, 0.12, 0.12},
                                        {0.04, 0.12, 0.21, 0.23, 0.23},
                                        {0.08, 0.24, 0.41, 0.44, 0.44},
                                        {0.12, 0.45, 0.7, 0.8, 0.8},
                                        {0.12, 0.45, 0.7, 0.84, 0.87},
                                        {0.12, 0.45, 0.7, 0.85, 0.9}}};
  PackRates pack;
  /// What a rank reads of inputs beyond an even share of all ranks is charged so much of what
  /// sending it takes: no part of a program's seconds, but it takes time and memory.
  double inputCopies = 0.5;
  std::string topology = "full"; ///< `full`, `ring`, `torus:4x4x4`, `fattree:k`
  std::string comment;           ///< for people: when and where it was measured

  double flopsPerSecond(ElementType type) const {
    return type == ElementType::F32 ? flopsF32 : flopsF64;
  }
  /// The last cache that is much faster than memory, as the very last need not be on virtual
  /// machines or where many cores share it; nullptr if there is none.
  const CacheLevel *lastFastCache() const;
  /// The slowest that so many ranks, one after the other, have between them.
  const Link &linkOf(int64_t ranks) const {
    return isWithinNode(ranks) ? withinNode : betweenNodes;
  }
  bool isWithinNode(int64_t ranks) const { return ranks <= ranksPerNode; }
  bool operator==(const Machine &) const = default;
};

/// Whether the text is `full`, `ring`, `torus:` extents joined by x, or `fattree:` an even
/// number.
bool isTopology(llvm::StringRef text);

/// A machine that is known by name: `laptop`, `two-socket`, `cluster-100g`.
std::optional<Machine> builtInMachine(llvm::StringRef name);

/// Prints the machine as the JSON that `readMachine` reads.
void print(const Machine &machine, llvm::raw_ostream &stream);

/// Reads a machine file: a JSON object with the members
///   alpha, beta        seconds, seconds a byte: a number, or [within a node, between nodes]
///   flops              flops a second: a number (f32; f64 is half), or {"f32": x, "f64": y}
///   memory_bandwidth   bytes a second
///   memory             bytes
///   message_load       at least 0: a number, or [within a node, between nodes]
///   ranks_per_node     at least 1
///   threads            at least 1
///   caches             [{"bytes": b, "bandwidth": r}, ...], larger and larger
///   vector_bytes       of a register: a power of two from 8 to 256
///   kernel_overhead    seconds
///   kernel_efficiency  {"m_bytes": [...], "k": [...], "table": [[...], ...]}
///   pack               {"contiguous": c, "transposed": c, "scattered": bytes a second}, c being
///                      {"rate": bytes a second, "row": seconds, "memory_row": seconds}
///   topology           "full", "ring", "torus:AxBxC", "fattree:K"
///   input_copies       at least 0
///   comment            any text
/// A member that is absent keeps the built-in value; an unknown one is an error.
/// \param text as returned by `Diagnostics::addText`
std::optional<Machine> readMachine(llvm::StringRef text, Diagnostics &diagnostics);

} // namespace einsumc

#endif // EINSUMC_IR_MACHINE_H
