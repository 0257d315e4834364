//===- Communicator.h - MPI, owned and checked ------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_COMMUNICATOR_H
#define EINSUMC_COMMUNICATOR_H

#include "einsumc/CheckMpi.h"
#include "einsumc/Error.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace einsumc {

/// Turns an MPI return code that is not MPI_SUCCESS into an Error that names the call, the peer
/// (when there is one) and MPI's own text.
void checkMpi(int code, const char *call, int peer = -1);

/// Initialises MPI with MPI_THREAD_SERIALIZED and errors that return (also those that MPI raises on
/// MPI_COMM_WORLD, having lost the communicator) and finalises it at the end, unless the caller had
/// initialised MPI already; then it only checks the thread level.
/// \throws Error if the MPI library grants less than MPI_THREAD_SERIALIZED.
class Environment {
public:
  Environment(int *argc, char ***argv);
  ~Environment();
  Environment(const Environment &) = delete;
  Environment &operator=(const Environment &) = delete;

  /// Says that this rank has done all it has to, and what the process is to end with if
  /// MPI_Finalize has not come back after so long: with MPICH before 4.2 over TCP it may never do.
  void endWith(int exitStatus, std::chrono::milliseconds after = std::chrono::seconds(10)) {
    status = exitStatus;
    patience = after;
  }

private:
  bool owns = false;
  std::optional<int> status; ///< nothing: not all is done
  std::chrono::milliseconds patience{0};
};

/// A duplicate of a communicator, freed at the end, with errors returned instead of fatal.
class Communicator {
public:
  explicit Communicator(MPI_Comm parent);
  ~Communicator();
  Communicator(const Communicator &) = delete;
  Communicator &operator=(const Communicator &) = delete;

  int rank() const { return rankValue; }
  int size() const { return sizeValue; }
  MPI_Comm get() const { return comm; }

  /// The ranks of one color, by key; nothing where that is MPI_UNDEFINED. Collective.
  std::unique_ptr<Communicator> split(int color, int key) const;
  /// The ranks that share this rank's memory (those of one node). Collective.
  std::unique_ptr<Communicator> splitByNode() const;

private:
  Communicator() = default;
  /// Takes over what MPI has made.
  static std::unique_ptr<Communicator> own(MPI_Comm made);
  void prepare();

  MPI_Comm comm = MPI_COMM_NULL;
  int rankValue = 0;
  int sizeValue = 1;
};

/// Non-blocking transfers under way. They are complete before the object dies (destruction waits,
/// also when an exception passes: then receives whose message has not come are cancelled), so that
/// no buffer dies under a transfer. Messages of more than `maxPiece` bytes travel as several MPI
/// messages, so a message may have any 64-bit size; both sides must use the same `maxPiece`.
class Requests {
public:
  /// \param maxPiece the largest MPI message in bytes; a parameter so that tests can make it small.
  explicit Requests(const Communicator &comm, std::size_t maxPiece = std::size_t{1} << 30);
  ~Requests();
  Requests(const Requests &) = delete;
  Requests &operator=(const Requests &) = delete;

  void send(std::span<const std::byte> data, int peer, int tag);
  void receive(std::span<std::byte> data, int peer, int tag);

  /// Waits politely for all (test, yield, then sleep for growing short times).
  /// \throws Error naming the peer if a transfer failed or a message has not the expected size.
  void wait();
  /// Waits for any one message of those not yet reported and returns the index (in the order of
  /// the send/receive calls since construction or the last wait()); -1 when none is left.
  int waitAny();

private:
  struct Message {
    int peer = -1;
    int pending = 0; ///< pieces not yet complete
    bool reported = false;
  };
  struct Piece {
    std::size_t message = 0;
    int bytes = 0;
    bool sending = false;
  };
  void start(std::byte *data, std::size_t size, int peer, int tag, bool sending);
  /// Waits until something completes that is under way, and collects it.
  void waitForSome();
  /// Collects what has completed; whether anything has.
  bool testSome();
  void finish(std::size_t index, int code, const MPI_Status &status);
  /// What is under way, when nothing happens: `no message from ranks 1, 3`.
  std::string describe() const;
  static void complete(MPI_Request &request) noexcept;

  const Communicator &comm;
  std::size_t maxPiece;
  int exceptionsAtStart;
  std::vector<Message> messages;
  std::vector<MPI_Request> requests;
  std::vector<Piece> pieces; ///< one a request
  std::vector<int> indices;  ///< of MPI_Testsome, kept to save their allocation
  std::vector<MPI_Status> statuses;
};

/// Waits politely until \p ready returns true: calls it at once, then yields the core between
/// calls, then sleeps for times that grow from 5 to 200 microseconds. Never burns a core. A wait
/// that takes long may be noted or ended, as the program's --wait-limit says.
/// \param describe what has not happened yet, for that: `no message from rank 3`.
void waitPolitely(const std::function<bool()> &ready, const std::function<std::string()> &describe);

/// Runs \p action, which must not communicate, on every rank and lets the ranks agree on the
/// outcome: when it throws on any rank, every rank throws a CollectiveError with the text of the
/// lowest such rank (prefixed by `rank R: ` when not all ranks failed the same way).
void collectively(const Communicator &comm, const std::function<void()> &action);

/// Polite collectives (they do not burn a core while other ranks are late), 64-bit counts.
void barrier(const Communicator &comm);
/// Broadcasts a string of any length from \p root.
std::string broadcast(const Communicator &comm, std::string text, int root = 0);
/// Element-wise sum over the ranks, the result on every rank.
void sumOverRanks(const Communicator &comm, std::span<double> values);
void sumOverRanks(const Communicator &comm, std::span<int64_t> values);
/// Element-wise maximum over the ranks, the result on every rank.
void maxOverRanks(const Communicator &comm, std::span<double> values);
void maxOverRanks(const Communicator &comm, std::span<int64_t> values);

} // namespace einsumc

#endif // EINSUMC_COMMUNICATOR_H
