//===- Session.cpp - what a rank shares with its program --------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "CommunicationThread.h"
#include "DefaultThreads.h"
#include "HostRanks.h"
#include "einsumc/Program.h"
#include "einsumc/Stepping.h"
#include "einsumc/TeamTasks.h"

#include <mpi.h>
#include <omp.h>

#include <cstring>
#include <utility>

namespace einsumc {

Session::Session(MPI_Comm parent, int threads, InPlace inPlace)
    : communicator(parent), threadCount(threads > 0 ? threads : defaultThreads(communicator)),
      shares(std::make_unique<TaskShares>(threadCount)), poisonsReleased(isPoisonWanted()) {
  if (inPlace == InPlace::Host)
    setNeighbours(std::make_unique<HostRanks>(communicator));
  omp_set_num_threads(threadCount); // Input is generated before the first run.
}

Session::~Session() = default;

void Session::setNeighbours(std::unique_ptr<HostRanks> ranks) {
  hostRanks = std::move(ranks);
  if (hostRanks->comm().size() == 1)
    hostRanks.reset();
}

MemoryUse Session::memoryFor(std::initializer_list<const Stepping *> nodes) const {
  if (hostRanks)
    for (const Stepping *const stepping : nodes)
      for (const Traveller &traveller : stepping->travellers)
        if (canStayInPlace(*stepping, traveller) &&
            hostRanks->hasLine(stepping->work.grid, traveller.axis))
          return MemoryUse::Travellers;
  return MemoryUse::Tensors;
}

void Session::addTraffic(const Traffic &traffic) {
  records[static_cast<std::size_t>(current)].traffic += traffic;
}

void Session::addWait(double seconds) {
  records[static_cast<std::size_t>(current)].waitSeconds += seconds;
}

CommunicationThread &Session::communicationThread() {
  if (!communication)
    communication = std::make_unique<CommunicationThread>();
  return *communication;
}

void Session::startRun(std::size_t nodes) {
  omp_set_num_threads(threadCount); // Of this thread, which others may have set, or not at all.
  records.assign(nodes, NodeRecord{});
  current = 0;
}

void Session::reserveScratch(std::size_t bytesPerThread) {
  constexpr std::size_t kLine = 64; // Threads must not share a cache line.
  const std::size_t rounded = (bytesPerThread + kLine - 1) / kLine * kLine;
  if (rounded <= scratchPerThread)
    return;
  kernelScratch.reserve(rounded * static_cast<std::size_t>(threadCount));
  scratchPerThread = rounded;
}

void Session::beginNode(int index) {
  if (observerBefore)
    observerBefore(index);
  current = index;
  nodeStart = MPI_Wtime();
  if (trace != nullptr)
    trace->beginNode(index);
}

void Session::endNode(int index) {
  if (trace != nullptr)
    trace->endNode();
  records[static_cast<std::size_t>(index)].seconds += MPI_Wtime() - nodeStart;
  if (observerAfter)
    observerAfter(index);
}

template <class T>
void Session::exchange(Exchange<T> &exchange, const Tensor<T> &source, const Tensor<T> &target) {
  const TraceSpan traced = span(Activity::Exchange);
  const double start = MPI_Wtime();
  addTraffic(exchange.run(source, target, trace));
  addWait(MPI_Wtime() - start);
}

template <class T> void Session::release(const Tensor<T> &tensor) const {
  if (poisonsReleased && tensor.size() > 0)
    std::memset(tensor.data(), 0xFF, static_cast<std::size_t>(tensor.size()) * sizeof(T));
}

template void Session::release(const Tensor<float> &) const;
template void Session::release(const Tensor<double> &) const;
template void Session::exchange(Exchange<float> &, const Tensor<float> &, const Tensor<float> &);
template void Session::exchange(Exchange<double> &, const Tensor<double> &, const Tensor<double> &);

} // namespace einsumc
