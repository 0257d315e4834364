//===- SteppingLoop.cpp - a node that computes while tensors move -----------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "einsumc/SteppingLoop.h"

#include "CommunicationThread.h"
#include "LongWaits.h"
#include "StepProgram.h"

#include "einsumc/StridedCopy.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <limits>
#include <span>
#include <utility>

namespace einsumc {

namespace {

std::vector<std::byte *> slotsOf(const SharedStorage &storage,
                                 const std::vector<std::size_t> &offsets) {
  std::vector<std::byte *> slots;
  for (const std::size_t offset : offsets)
    slots.push_back(storage.at(offset));
  return slots;
}

} // namespace

/// The caller's thread computes steps, the communication thread advances the transfers. They tell
/// each other by two counters: the steps that are computed, and those whose chunks are there.
template <class T> class SteppingLoop<T>::Run final : public CommunicationJob {
public:
  Run(Session &session, const Stepping &stepping, const std::array<const Tensor<T> *, 3> &tensors,
      const SharedStorage &storage, const std::vector<std::size_t> &chunks, int tag,
      std::size_t maxPiece)
      : session(session), result(*tensors[2]), slots(slotsOf(storage, chunks)),
        program(session, stepping, tensors, storage, chunks, tag) {
    for (std::size_t t = 0; t < stepping.travellers.size(); ++t)
      slotBytes.push_back(static_cast<std::size_t>(chunkMemory(stepping, t).elements()) *
                          sizeof(T));
    for (std::size_t i = 0; i < program.transfers().size(); ++i)
      runs.emplace_back(session.comm(), maxPiece);
  }

  ~Run() override {
    if (isRunning) { // The caller gives up in the middle.
      isCancelled.store(true);
      session.communicationThread().wake();
      waitForEnd();
    }
  }

  const std::vector<Step<T>> &shapes() const { return program.shapes(); }

  void begin() {
    if (program.steps().empty())
      return;
    position = -1;
    computed.store(0);
    ready.store(0);
    isOver.store(false);
    isCancelled.store(false);
    failure = nullptr;
    states.assign(program.transfers().size(), State::Idle);
    laneHeads.assign(program.lanes().size(), 0);
    active.clear();
    missing.assign(program.steps().size(), 0);
    for (const StepTransfer &transfer : program.transfers())
      if (transfer.step >= 0)
        ++missing[static_cast<std::size_t>(transfer.step)];
    if (session.poison())
      for (std::size_t t = 0; t < slotBytes.size(); ++t)
        std::memset(slots[t], 0xFF, slotBytes[t]);
    if (program.hasNothingToSum())
      std::ranges::fill(result.span(), T{0});
    prepareExposed();
    session.addTraffic(program.traffic());
    isRunning = true;
    session.communicationThread().start(*this);
  }

  const Step<T> *next() {
    if (!isRunning)
      return nullptr;
    while (true) {
      if (position >= 0)
        tellComputed();
      ++position;
      if (position == static_cast<int64_t>(program.steps().size()))
        break;
      waitUntilReady();
      const Step<T> &step = program.steps()[static_cast<std::size_t>(position)];
      if (volume(step.work) > 0) {
        stepBegin = session.tracing() == nullptr ? 0 : Trace::now();
        return &step;
      }
      startFromZeros(step);
    }
    waitForEnd();
    if (failure)
      std::rethrow_exception(failure);
    placeExposed();
    return nullptr;
  }

private:
  enum class State : uint8_t { Idle, UnderWay, Complete };

  // The caller's side.

  /// Operands are packed where others fetch them, sums start from zeros where others add.
  void prepareExposed() const {
    for (const auto &part : program.exposed())
      if (part.isResult)
        std::fill_n(part.place, volume(part.box), T{0});
      else if (part.isPacked)
        copyBox<T>(part.box, part.place, part.box, part.tensor->data(), part.tensor->box());
  }

  void placeExposed() const {
    for (const auto &part : program.exposed())
      if (part.isResult && part.isPacked)
        copyBox<T>(part.box, part.tensor->data(), part.tensor->box(), part.place, part.box);
  }

  void tellComputed() {
    if (Trace *const trace = session.tracing(); trace != nullptr && stepBegin != 0)
      trace->add(Activity::Step, std::exchange(stepBegin, 0));
    computed.store(position + 1);
    session.communicationThread().wake();
  }

  void waitUntilReady() {
    int64_t there = ready.load();
    if (there <= position) {
      const double start = MPI_Wtime();
      const TraceSpan span = session.span(Activity::Wait);
      beginWait();
      for (; there <= position; there = ready.load())
        ready.wait(there);
      isWaiting.store(false);
      session.addWait(MPI_Wtime() - start);
    }
    if (there == kFailed) {
      waitForEnd();
      std::rethrow_exception(failure);
    }
  }

  void beginWait() {
    isWaiting.store(true);
    session.communicationThread().wake();
  }

  void waitForEnd() {
    if (!isOver.load()) {
      const double start = MPI_Wtime();
      const TraceSpan span = session.span(Activity::Wait);
      beginWait();
      isOver.wait(false);
      isWaiting.store(false);
      session.addWait(MPI_Wtime() - start);
    }
    isRunning = false;
  }

  /// A rank that has nothing to add to a part of the result still starts its sums. What is stored
  /// here has been cleared by begin().
  void startFromZeros(const Step<T> &step) const {
    const bool isHome = step.c.data() == result.data() && step.c.box() == result.box();
    if (step.adds || isHome)
      return;
    clear(step.c);
  }

  static void clear(const BlockView<T> &part) {
    std::vector<CopyLoop> loops;
    for (std::size_t p = 0; p < part.box().size(); ++p)
      loops.push_back({part.box()[p].size(), part.stride(p), 0});
    const T zero{0};
    copyStrided<T>(part.data(), &zero, std::span<const CopyLoop>(loops));
  }

  // The communication thread's side.

  CommunicationJob::State advance() noexcept override {
    try {
      return isCancelled.load() ? giveUp() : moveOn();
    } catch (...) {
      failure = std::current_exception();
      return giveUp();
    }
  }

  CommunicationJob::State moveOn() {
    bool moved = false;
    for (std::size_t lane = 0; lane < laneHeads.size(); ++lane)
      while (startNext(lane))
        moved = true;
    for (std::size_t a = 0; a < active.size();)
      if (finish(active[a])) {
        moved = true;
        active[a] = active.back();
        active.pop_back();
      } else {
        ++a;
      }
    if (active.empty() && allStarted() && computed.load() == stepCount()) {
      end();
      return CommunicationJob::State::Done;
    }
    if (publishReady() || moved) {
      waitClock = WaitClock();
      return CommunicationJob::State::Moved;
    }
    lookAtWait();
    if (active.empty())
      return CommunicationJob::State::Blocked;
    return isWaiting.load() ? CommunicationJob::State::Needed : CommunicationJob::State::Waiting;
  }

  /// A wait begins when the caller has nothing to compute, whenever its transfer was started.
  void lookAtWait() {
    if (!isWaiting.load())
      waitClock = WaitClock();
    else if (!active.empty())
      waitClock.look([this] {
        const StepTransfer &transfer = program.transfers()[active.front()];
        return transfer.kind == StepTransfer::Kind::Barrier
                   ? "not all " + std::to_string(transfer.group->size()) +
                         " ranks that share a tensor have come"
                   : "no transfer with rank " + std::to_string(transfer.peerRank) + " has ended";
      });
  }

  int64_t stepCount() const { return static_cast<int64_t>(program.steps().size()); }

  bool allStarted() const {
    for (std::size_t lane = 0; lane < laneHeads.size(); ++lane)
      if (laneHeads[lane] < program.lanes()[lane].size())
        return false;
    return true;
  }

  bool startNext(std::size_t lane) {
    const std::vector<std::size_t> &transfers = program.lanes()[lane];
    if (laneHeads[lane] == transfers.size())
      return false;
    const std::size_t index = transfers[laneHeads[lane]];
    const StepTransfer &transfer = program.transfers()[index];
    if (computed.load() <= transfer.afterStep ||
        std::ranges::any_of(transfer.after,
                            [&](std::size_t other) { return states[other] != State::Complete; }))
      return false;
    runs[index].start(transfer);
    states[index] = State::UnderWay;
    active.push_back(index);
    ++laneHeads[lane];
    return true;
  }

  bool finish(std::size_t index) {
    const StepTransfer &transfer = program.transfers()[index];
    if (!runs[index].test(transfer))
      return false;
    states[index] = State::Complete;
    traceTransfer(index);
    if (transfer.step >= 0)
      --missing[static_cast<std::size_t>(transfer.step)];
    return true;
  }

  void traceTransfer(std::size_t index) const {
    using Kind = StepTransfer::Kind;
    const StepTransfer &transfer = program.transfers()[index];
    Trace *const trace = session.tracing();
    if (trace == nullptr || volume(transfer.box) == 0 || transfer.kind == Kind::Barrier ||
        transfer.kind == Kind::Flush)
      return;
    const bool leaves =
        transfer.kind == Kind::Send || transfer.kind == Kind::Add ||
        (transfer.kind == Kind::Bcast ? transfer.isRoot
                                      : transfer.kind == Kind::Reduce && !transfer.isRoot);
    trace->addTransfer(leaves ? Activity::Send : Activity::Receive, runs[index].startedAt(),
                       transfer.peerRank, static_cast<int64_t>(transfer.bytes(sizeof(T))));
  }

  bool publishReady() {
    int64_t there = ready.load();
    const int64_t before = there;
    while (there < stepCount() && missing[static_cast<std::size_t>(there)] == 0)
      ++there;
    if (there == before)
      return false;
    ready.store(there);
    ready.notify_one();
    return true;
  }

  CommunicationJob::State giveUp() noexcept {
    for (const std::size_t index : active)
      runs[index].cancel(program.transfers()[index]);
    ready.store(kFailed);
    ready.notify_one();
    end();
    return CommunicationJob::State::Done;
  }

  void end() noexcept {
    isOver.store(true);
    isOver.notify_one();
  }

  static constexpr int64_t kFailed = std::numeric_limits<int64_t>::max();

  Session &session;
  const Tensor<T> &result;
  const std::vector<std::byte *> slots; ///< by traveller
  const StepProgram<T> program;
  std::vector<std::size_t> slotBytes; ///< by traveller
  std::vector<TransferRun<T>> runs;   ///< by transfer
  // Of the caller:
  int64_t position = -1; ///< the step at hand
  bool isRunning = false;
  int64_t stepBegin = 0; ///< of a step that is traced
  // Of both:
  std::atomic<int64_t> computed = 0; ///< so many steps
  std::atomic<int64_t> ready = 0;    ///< the chunks of so many steps are there; kFailed: none come
  std::atomic<bool> isOver = false, isCancelled = false;
  std::atomic<bool> isWaiting = false; ///< the caller, for transfers
  std::exception_ptr failure;          ///< written before isOver
  // Of the communication thread, while it runs:
  std::vector<State> states;          ///< by transfer
  std::vector<std::size_t> laneHeads; ///< by lane: the next to start
  std::vector<std::size_t> active;    ///< transfers under way
  std::vector<int> missing;           ///< by step: transfers that it waits for
  WaitClock waitClock;                ///< of the wait at hand
};

template <class T>
SteppingLoop<T>::SteppingLoop(Session &session, const Stepping &stepping, const Tensor<T> &a,
                              const Tensor<T> &b, const Tensor<T> &c, const SharedStorage &storage,
                              std::initializer_list<std::size_t> chunks, int tag,
                              std::size_t maxPiece)
    : run(std::make_unique<Run>(session, stepping, std::array<const Tensor<T> *, 3>{&a, &b, &c},
                                storage, chunks, tag, maxPiece)) {}

template <class T> SteppingLoop<T>::~SteppingLoop() = default;

template <class T> const std::vector<Step<T>> &SteppingLoop<T>::shapes() const {
  return run->shapes();
}
template <class T> void SteppingLoop<T>::begin() { run->begin(); }
template <class T> const Step<T> *SteppingLoop<T>::next() { return run->next(); }

template class SteppingLoop<float>;
template class SteppingLoop<double>;

} // namespace einsumc
