//===- Session.cpp - what a rank shares with its program --------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "DefaultThreads.h"
#include "einsumc/Program.h"

#include <mpi.h>
#include <omp.h>

namespace einsumc {

Session::Session(MPI_Comm parent, int threads)
    : communicator(parent), threadCount(threads > 0 ? threads : defaultThreads(communicator)) {
  omp_set_num_threads(threadCount);
}

void Session::startRun(std::size_t nodes) {
  records.assign(nodes, NodeRecord{});
  current = 0;
}

void Session::reserveScratch(std::size_t bytesPerThread) {
  constexpr std::size_t kLine = 64; // Threads must not share a cache line.
  const std::size_t rounded = (bytesPerThread + kLine - 1) / kLine * kLine;
  if (rounded <= scratchPerThread)
    return;
  scratchBuffer = Buffer(); // Before the new one is there: they need not both fit.
  scratchBuffer = Buffer(ledger, rounded * static_cast<std::size_t>(threadCount));
  scratchPerThread = rounded;
}

double Session::now() { return MPI_Wtime(); }

void Session::addTraffic(const Traffic &traffic, double seconds) {
  NodeRecord &record = records[static_cast<std::size_t>(current)];
  record.waitSeconds += seconds;
  record.traffic.bytes += traffic.bytes;
  record.traffic.messages += traffic.messages;
}

} // namespace einsumc
