//===- NodeCheck.h - one node's result against its operands -----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_NODECHECK_H
#define EINSUMC_RUNTIME_NODECHECK_H

#include "Finding.h"
#include "LocalSums.h"
#include "einsumc/Program.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace einsumc {

/// A node as it stands in memory: result = sum over `summed` of the product of the operands.
struct NodeCheck {
  const Communicator &comm;
  std::string name; ///< of the result
  DType dtype = DType::F32;
  TensorUse result;
  std::vector<TensorUse> operands; ///< one or two
  Window whole;                    ///< all indices of all dims of the program
  std::vector<int> resultDims;     ///< each once
  std::vector<int> summed;         ///< the dims of the operands that the result lacks, each once
  int64_t chunk = 0;               ///< as VerifyOptions has it

  NodeCheck(const Communicator &comm, const ProgramDescription &description, std::string name,
            TensorUse result, std::vector<TensorUse> operands, int64_t chunk);

  /// Terms of the sum behind every entry.
  double terms() const;
  /// The result's entry at these indices of `resultDims`, as the tensor's positions have it.
  std::string entryName(const std::vector<int64_t> &index) const;
};

/// The lowest index at which a rank's block holds a NaN or an infinity. Collective.
std::optional<std::vector<int64_t>> firstNonFinite(const Communicator &comm,
                                                   const TensorView &view);

/// Compares one entry, all its replicas, with the sum that defines it, in f64. The bound is the
/// strict one of a sum in any order: (terms + 2) * epsilon * sum of absolute values. Collective.
/// \param index of `resultDims`
Finding checkEntry(const NodeCheck &node, const std::vector<int64_t> &index);

/// The worst of the first and the last entry, corners of blocks and random entries. Collective.
Finding checkEntries(const NodeCheck &node, int samples, uint64_t seed);

/// Looks at every element: random projections of result and operands must agree (R. Freivalds,
/// "Probabilistic machines can use less running time", 1977). When they do not, finds an entry that
/// is wrong. Collective.
/// \param note is set to why a projection was not possible, or not of everything
Finding checkProjections(const NodeCheck &node, int64_t sharedLimit, uint64_t seed,
                         std::string &note);

} // namespace einsumc

#endif // EINSUMC_RUNTIME_NODECHECK_H
