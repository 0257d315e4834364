//===- Verify.cpp - comparison with an independent evaluation ---------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "Verify.h"

#include "Finding.h"
#include "Fingerprint.h"
#include "Format.h"
#include "NodeCheck.h"
#include "VerifyWhole.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <span>
#include <vector>

namespace einsumc {
namespace {

/// Checks nodes while the program runs, with the memory that every run has: tensors come and go,
/// and those that are needed must still be there.
class NodeByNode {
public:
  NodeByNode(Session &session, const ProgramDescription &description, Program &program,
             const VerifyOptions &options)
      : session(session), description(description), program(program), options(options) {}

  void run() {
    const bool poison = session.poison();
    prepareTensors();
    session.setPoison(true);
    session.setObservers([this](int node) { keepSpent(node); },
                         [this](int node) { checkNode(node); });
    session.startRun(description.nodes.size());
    program.run();
    session.setObservers(nullptr, nullptr);
    session.setPoison(poison);
    for (const auto &[tensor, expected] : fingerprints)
      if (tensorAt(tensor).isInput)
        checkUnchanged(tensor, program.tensor(tensor), expected);
    for (const auto &[tensor, expected] : outputFingerprints)
      checkUnchanged(tensor, program.output(tensor), expected);
  }

  const Finding &worstFinding() const { return worst; }
  const std::string &allNotes() const { return notes; }

private:
  const TensorDescription &tensorAt(int index) const {
    return description.tensors[static_cast<std::size_t>(index)];
  }

  /// Of the results nothing may be left of an earlier run.
  void prepareTensors() {
    for (std::size_t i = 0; i < description.tensors.size(); ++i) {
      const auto tensor = static_cast<int>(i);
      if (tensorAt(tensor).isInput) {
        fingerprints[tensor] = fingerprint(program.tensor(tensor));
        continue;
      }
      for (const TensorView &view : {program.tensor(tensor), program.output(tensor)})
        if (view.bytes() > 0)
          std::memset(view.data, 0xFF, view.bytes());
    }
  }

  /// What a node reads must be what was computed: its own check cannot tell.
  void checkUnchanged(int tensor, const TensorView &view, uint64_t expected) {
    int64_t differs = fingerprint(view) != expected ? 1 : 0;
    maxOverRanks(session.comm(), std::span(&differs, 1));
    if (differs != 0)
      keepWorse(worst, {HUGE_VAL, 0, tensorAt(tensor).name + ", which was overwritten"});
  }

  /// Of operands in whose place the node leaves something else.
  void keepSpent(int index) {
    for (const OperandDescription &operand :
         description.nodes[static_cast<std::size_t>(index)].operands)
      if (operand.isSpent) { // One at most: it moves while the other does not.
        const TensorView view = program.tensor(operand.tensor);
        spent.assign(view.data, view.data + view.bytes());
      }
  }

  void checkNode(int index) {
    const NodeDescription &node = description.nodes[static_cast<std::size_t>(index)];
    std::vector<TensorUse> operands;
    for (const OperandDescription &operand : node.operands) {
      operands.push_back({program.tensor(operand.tensor), operand.dims});
      if (operand.isSpent)
        operands.back().view.data = spent.data();
      checkUnchanged(operand.tensor, operands.back().view, fingerprints.at(operand.tensor));
    }
    check(NodeCheck(session.comm(), description, tensorAt(node.tensor).name,
                    {program.tensor(node.tensor), tensorAt(node.tensor).dims}, operands,
                    options.chunk));
    fingerprints[node.tensor] = fingerprint(program.tensor(node.tensor));
    if (!tensorAt(node.tensor).isOutput)
      return;
    outputFingerprints[node.tensor] = fingerprint(program.output(node.tensor));
    for (const auto &[tensor, layout] : description.finalLayouts)
      if (tensor == node.tensor)
        checkFinal(tensor);
  }

  /// The way to an output's final layout is a node that changes nothing.
  void checkFinal(int tensor) {
    const std::vector<int> &dims = tensorAt(tensor).dims;
    check(NodeCheck(session.comm(), description, tensorAt(tensor).name,
                    {program.output(tensor), dims}, {{program.tensor(tensor), dims}},
                    options.chunk));
  }

  void check(const NodeCheck &node) {
    const uint64_t seed = mixBits(options.seed + ++checks);
    const bool finite =
        std::none_of(node.operands.begin(), node.operands.end(), [&](const TensorUse &operand) {
          return firstNonFinite(node.comm, operand.view).has_value();
        });
    if (!finite) {
      addNote("no projection of " + node.name + ": its operands are not finite");
    } else if (const auto index = firstNonFinite(node.comm, node.result.view)) {
      keepWorse(worst, {HUGE_VAL, 0, node.name + formatIndex(*index) + ", which is not finite"});
      return;
    }
    keepWorse(worst, checkEntries(node, options.samples, seed));
    if (!finite)
      return;
    std::string note;
    keepWorse(worst, checkProjections(node, options.sharedLimit, seed, note));
    addNote(note);
  }

  void addNote(const std::string &note) {
    if (!note.empty())
      notes += "verify: " + note + "\n";
  }

  Session &session;
  const ProgramDescription &description;
  Program &program;
  const VerifyOptions &options;
  uint64_t checks = 0;
  std::map<int, uint64_t> fingerprints;       ///< by tensor: when it was complete
  std::map<int, uint64_t> outputFingerprints; ///< by tensor: in its final layout
  std::vector<std::byte> spent;               ///< an operand of the node at hand, as it was before
  Finding worst;
  std::string notes;
};

std::string formatFinding(const Finding &finding, const std::string &method) {
  const std::string verdict = finding.passed() ? "verified" : "NOT verified";
  if (finding.where.empty())
    return verdict + ": nothing to compare (" + method + ")\n";
  return verdict + ": largest error " + formatNumber(finding.error) + ", bound " +
         formatNumber(finding.bound) + ", at " + finding.where + " (" + method + ")\n";
}

} // namespace

ProgramCheck checkProgram(Session &session, const ProgramDescription &description, Program &program,
                          const VerifyOptions &options) {
  ProgramCheck check;
  bool isDone = false;
  if (isSmall(description, options.wholeLimit)) {
    const WholeFinding whole = verifyWhole(session.comm(), description, program);
    check.finding = whole.finding;
    check.method = "every element of the outputs against f64";
    isDone = whole.isTelling;
  }
  if (isDone)
    return check;
  NodeByNode checks(session, description, program, options);
  checks.run();
  keepWorse(check.finding, checks.worstFinding());
  check.notes = checks.allNotes();
  check.method += check.method.empty() ? "" : ", and ";
  check.method += "sampled entries and random projections of every node";
  return check;
}

Verification conclude(const Communicator &comm, const ProgramCheck &check) {
  const std::string answer = broadcast(comm, (check.finding.passed() ? "1" : "0") + check.notes +
                                                 formatFinding(check.finding, check.method));
  return {answer.front() == '1', answer.substr(1)};
}

Verification verify(Session &session, const ProgramDescription &description, Program &program,
                    const VerifyOptions &options) {
  return conclude(session.comm(), checkProgram(session, description, program, options));
}

} // namespace einsumc
