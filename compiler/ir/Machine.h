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

namespace einsumc {

/// The cost of a message of w bytes is alpha + beta * w.
struct Link {
  double alpha = 0; ///< seconds a message
  double beta = 0;  ///< seconds a byte
  bool operator==(const Link &) const = default;
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
