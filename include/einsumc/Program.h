//===- Program.h - what every emitted program shares ------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
// An emitted program describes itself (ProgramDescription), derives from Program for its tensors
// and node functions, and hands both to runProgram, which does the rest: arguments, inputs,
// repeats, statistics, verification, outputs.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PROGRAM_H
#define EINSUMC_PROGRAM_H

#include "einsumc/Communicator.h"
#include "einsumc/Exchange.h"
#include "einsumc/Layout.h"
#include "einsumc/Slices.h"
#include "einsumc/Tensor.h"
#include "einsumc/Trace.h"

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace einsumc {

enum class DType : uint8_t { F32, F64 };

/// Bytes of an element.
inline std::size_t sizeOf(DType dtype) { return dtype == DType::F32 ? 4 : 8; }

struct DimDescription {
  std::string name;
  int64_t extent = 1;
};

/// A tensor as its definition writes it, and where it lies before its users move it.
struct TensorDescription {
  std::string name;
  std::vector<int> dims; ///< of each position: its dim; may repeat
  Layout layout;
  bool isInput = false;
  bool isOutput = false;
  std::vector<SliceRole> sliceRoles; ///< of an output, by sliced dim
};

/// A dim that the program is evaluated along part by part.
struct SliceDescription {
  int dim = 0; ///< whose extent is that of a part
  int64_t parts = 1;
};

/// One use of a tensor: the dims that this use gives its positions; may repeat (a diagonal).
struct OperandDescription {
  int tensor = 0;
  std::vector<int> dims;
  bool isSpent = false; ///< the node leaves something else in its place
};

/// A node: its result (the dims of the result are those of its tensor) is the sum over all dims
/// that the result lacks of the product of its operands (one or two).
struct NodeDescription {
  int tensor = 0; ///< the result
  std::vector<OperandDescription> operands;
  std::string text;      ///< the einsum as one reads it
  std::string algorithm; ///< the schedule's name
  std::string grid;      ///< as the plan prints it
  double flops = 0;      ///< over all ranks, redundant work not counted twice
  double predictedSeconds = 0;
  double predictedBytes = 0; ///< over all ranks, redistributions of operands and result included
  int64_t predictedMessages = 0; ///< the same
};

/// One use of a tensor as emitted programs write it.
struct Use {
  int tensor = 0;
  std::initializer_list<int> dims;
  bool isSpent = false;
};

/// What an emitted program says of itself. The functions that fill it are out of line, as a program
/// calls them hundreds of times.
struct ProgramDescription {
  void addDim(const char *dimName, int64_t extent);
  void addInput(const char *tensorName, std::initializer_list<int> tensorDims,
                const Layout &layout);
  /// A tensor that is computed.
  void addResult(const char *tensorName, std::initializer_list<int> tensorDims,
                 const Layout &layout, bool isOutput);
  /// The whole tree is evaluated along a dim part by part, inside the loops over those added
  /// before.
  void addSlice(int dim, int64_t parts);
  /// What an output's values in the slices make together, by sliced dim.
  void setSliceRoles(int tensor, std::initializer_list<SliceRole> roles);
  /// The node whose result is a tensor.
  void addNode(int tensor, const char *text, const char *algorithm, const char *grid, double flops,
               double predictedSeconds, double predictedBytes, int64_t predictedMessages,
               std::initializer_list<Use> operands);

  /// Bytes that tensors, messages and scratch take, of the rank with most.
  std::size_t predictedPeakBytes(int threads) const {
    return predictedBytes + scratchBytes * static_cast<std::size_t>(threads);
  }

  std::string name;  ///< of the source, for --help
  int64_t ranks = 1; ///< the program runs on exactly so many
  DType dtype = DType::F32;
  bool movesInSteps = false; ///< nodes compute while tensors move
  std::vector<DimDescription> dims;
  std::vector<TensorDescription> tensors;
  std::vector<NodeDescription> nodes; ///< in the order of evaluation
  /// Until the last rank is done; less than the sum over the nodes where groups of ranks compute
  /// some of them at the same time.
  double predictedSeconds = 0;
  /// Bytes that inputs, results and copies need at a time, of the rank with most.
  std::size_t predictedTensorBytes = 0;
  /// The same with messages, and the scratch of each thread that comes on top.
  std::size_t predictedBytes = 0, scratchBytes = 0;
  /// Pins of the outputs: of tensor `first` the final layout, where it is not the one of `tensors`.
  std::vector<std::pair<int, Layout>> finalLayouts;
  std::string plan; ///< the whole schedule as text
  /// The outermost loop first; none: the tree is evaluated at once. All extents, flops, bytes and
  /// predictions of the other members are those of one slice.
  std::vector<SliceDescription> slices;
};

/// A tensor whose element type is known at run time only.
struct TensorView {
  DType dtype = DType::F32;
  const Layout *layout = nullptr;
  Box box;
  bool held = false;
  std::byte *data = nullptr;

  /// The block's elements, row-major. \pre T is the type that `dtype` names
  template <class T> std::span<T> elements() const {
    return {reinterpret_cast<T *>(data), held ? static_cast<std::size_t>(volume(box)) : 0};
  }

  std::size_t bytes() const {
    return held ? static_cast<std::size_t>(volume(box)) * sizeOf(dtype) : 0;
  }

  template <class T> static TensorView of(const Tensor<T> &tensor) {
    return {sizeof(T) == 4 ? DType::F32 : DType::F64, &tensor.layout(), tensor.box(), tensor.held(),
            reinterpret_cast<std::byte *>(tensor.data())};
  }
};

class CommunicationThread;
class HostRanks;
struct Stepping;
class TaskShares;

/// Whether ranks compute with what others store where it lies, instead of being sent it.
enum class InPlace : uint8_t {
  Host, ///< what the ranks of the same host store, where the system lets them map it
  None,
};

/// What a rank shares with its program: communicator, threads, memory, and per-node statistics.
class Session {
public:
  /// \param threads of the OpenMP team; 0: OMP_NUM_THREADS if set, else the cores this rank may
  /// use divided by the ranks of its node that may use any of the same ones, at least 1.
  Session(MPI_Comm parent, int threads, InPlace inPlace = InPlace::Host);
  ~Session();

  const Communicator &comm() const { return communicator; }
  int64_t rank() const { return communicator.rank(); }
  int threads() const { return threadCount; }
  MemoryLedger &memory() { return ledger; }
  /// Of all exchanges, which run one at a time.
  ScratchMemory &messageMemory() { return messages; }

  /// Time and traffic of one node, of this rank.
  struct NodeRecord {
    double seconds = 0;     ///< compute and communication
    double waitSeconds = 0; ///< compute threads idle for data
    Traffic traffic;
  };

  /// Starts the records of a run over \p nodes nodes anew.
  void startRun(std::size_t nodes);
  /// Called by the program around every node, in order: nodes are timed, and before and after each
  /// one observers (if any) may look at its tensors.
  void beginNode(int index);
  void endNode(int index);
  /// Says what the calling thread does, for as long as the result lives.
  TraceSpan span(Activity activity) const noexcept { return {trace, activity}; }
  /// Where nodes and spans are recorded; nullptr: nowhere.
  Trace *tracing() const noexcept { return trace; }
  /// Runs an exchange on behalf of the current node: its time counts as waiting.
  template <class T>
  void exchange(Exchange<T> &exchange, const Tensor<T> &source, const Tensor<T> &target);

  /// What the current node sends, and how long its compute threads are idle for data.
  void addTraffic(const Traffic &traffic);
  void addWait(double seconds);
  /// Drives the transfers of stepping loops, one loop at a time.
  CommunicationThread &communicationThread();
  /// The ranks of this host, with whose chunks this one may compute in place; nullptr: there are no
  /// others, or it is not wanted.
  HostRanks *neighbours() const { return hostRanks.get(); }
  /// Takes other ranks for those, as if they alone were on one host.
  void setNeighbours(std::unique_ptr<HostRanks> ranks);
  /// What memory is for that holds travellers of such nodes: MemoryUse::Travellers where they are
  /// computed with in place by ranks of this host.
  MemoryUse memoryFor(std::initializer_list<const Stepping *> nodes) const;

  /// Called by the program when a tensor has been read for the last time in a run: others may
  /// overwrite it. Filled with NaNs where poison is wanted, so that reading it again shows.
  template <class T> void release(const Tensor<T> &tensor) const;
  /// Whether to fill released tensors; `isPoisonWanted` to begin with.
  void setPoison(bool wanted) { poisonsReleased = wanted; }
  bool poison() const { return poisonsReleased; }

  const std::vector<NodeRecord> &nodeRecords() const { return records; }
  void setObservers(std::function<void(int)> before, std::function<void(int)> after) {
    observerBefore = std::move(before);
    observerAfter = std::move(after);
  }
  /// From now on nodes and spans are recorded there; nullptr, as at first: nowhere.
  void setTrace(Trace *recorder) { trace = recorder; }

  /// Scratch memory of this rank, 64-byte aligned, split evenly among the threads; grows to the
  /// largest request. Called at set-up, before the first run.
  void reserveScratch(std::size_t bytesPerThread);
  /// The scratch memory of an OpenMP thread.
  template <class T> T *scratch(int thread) const {
    return reinterpret_cast<T *>(kernelScratch.data() +
                                 static_cast<std::size_t>(thread) * scratchPerThread);
  }

  /// What the threads of the team share, one nest of loops at a time.
  TaskShares &taskShares() const { return *shares; }

private:
  Communicator communicator;
  int threadCount;
  std::unique_ptr<TaskShares> shares;
  MemoryLedger ledger;
  ScratchMemory messages{ledger}, kernelScratch{ledger};
  std::size_t scratchPerThread = 0;
  std::vector<NodeRecord> records;
  int current = 0;
  double nodeStart = 0; ///< of the current node, on MPI_Wtime's clock
  std::function<void(int)> observerBefore, observerAfter;
  Trace *trace = nullptr;
  bool poisonsReleased;
  std::unique_ptr<HostRanks> hostRanks;
  std::unique_ptr<CommunicationThread> communication; ///< from its first use on
};

/// \throws CollectiveError unless the communicator has exactly the ranks that a program is for.
void checkRanks(MPI_Comm comm, int64_t ranks);

/// The tensors and node functions of one emitted program, on one rank.
class Program {
public:
  virtual ~Program() = default;
  /// Evaluates the tree, or one slice: inputs are in place before and unchanged after, as it may
  /// run again; outputs are in place after. Results share storage, so they come and go: when a node
  /// ends (Session::endNode), its result is complete, in its final layout too if it is an output,
  /// and the tensors that it read are as it read them, but for what it spends. Observers compare
  /// them. Collective.
  virtual void run() = 0;
  /// The tensor (index into ProgramDescription::tensors) as TensorDescription::layout has it. It
  /// has its elements from the end of its node to the end of the last node that reads it, inputs
  /// always.
  virtual TensorView tensor(int index) = 0;
  /// The output tensor in its final layout (the pinned one, else as `tensor`), in place from the
  /// end of its node to the next run.
  virtual TensorView output(int index) = 0;
};

/// The main function of an emitted program: parses the arguments of docs/programs.md, fills the
/// inputs, runs, verifies, writes. Returns the exit status; any error on one rank ends all ranks.
int runProgram(int argc, char **argv, const ProgramDescription &description,
               const std::function<std::unique_ptr<Program>(Session &)> &make);

} // namespace einsumc

#endif // EINSUMC_PROGRAM_H
