#include "mpi_peers.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <tenon/text.hpp>
#include <thread>
#include <utility>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Returns null for dtypes that MPI's own reductions do not support.
const MPI_Datatype* type_of(const MpiLibrary& mpi, tenon::DType dtype) {
  switch (dtype) {
    case tenon::DType::f32:
      return &mpi.f32;
    case tenon::DType::f64:
      return &mpi.f64;
    case tenon::DType::i32:
      return &mpi.i32;
    case tenon::DType::i64:
      return &mpi.i64;
    default:
      return nullptr;
  }
}

constexpr std::size_t longest_message = std::size_t{1} << 30;  // MPI counts in int

}  // namespace

MpiPeers::MpiPeers(const MpiLibrary& mpi, MPI_Comm comm) : mpi_(mpi), comm_(comm) {
  mpi_.Comm_set_errhandler(comm, mpi_.errors_return);
  mpi_.Comm_size(comm, &size_);
  mpi_.Comm_rank(comm, &rank_);
}

std::string MpiPeers::text_of(int result) const {
  char text[MPI_MAX_ERROR_STRING + 1] = {};
  int size = 0;
  return mpi_.Error_string(result, text, &size) == MPI_SUCCESS
             ? std::string(text, static_cast<std::size_t>(size))
             : "no reason reported";
}

void MpiPeers::fail(const std::string& what) {
  failure_ = what;
  throw tenon::Error(failure_);
}

void MpiPeers::check(int result, const char* what) {
  if (result != MPI_SUCCESS)
    fail(tenon::join("rank ", rank_, ": ", what, " failed: ", text_of(result)));
}

void MpiPeers::require_whole() const {
  if (!failure_.empty())
    throw tenon::Error("communication is disabled after an earlier failure: ", failure_);
}

// Yields between polls: there may be more processes than cores.
template <class Done, class Waits, class Look>
void MpiPeers::wait(const Done& done, const WaitOptions& wait_options, const Waits& waits,
                    const Look& look) {
  constexpr int tries = 200;
  for (int i = 0; i < tries; ++i)
    if (done()) return;
  constexpr double look_every = 0.5;
  const auto begin = Clock::now();
  double next_look = look_every;
  while (!done()) {
    const auto waited = seconds_since(begin);
    if (waited > wait_options.seconds)
      fail(tenon::join("rank ", rank_, " has waited ", wait_options.seconds, " s for ", waits()));
    if (wait_options.cancelled()) fail("the run was cancelled while other processes wait for it");
    if (waited > next_look) {
      look();
      next_look += look_every;
    }
    if (wait_options.sleeps)
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    else
      sched_yield();
  }
}

void MpiPeers::exchange(std::span<const Transfer> transfers, int tag,
                        const WaitOptions& wait_options) {
  require_whole();
  struct PendingTransfer {
    int peer;
    bool receives;
    int bytes;
  };
  std::vector<MPI_Request> requests;
  std::vector<PendingTransfer> pending;
  const auto add = [&](const Transfer& transfer, bool receives) {
    const auto bytes = receives ? transfer.in_bytes : transfer.out_bytes;
    for (std::size_t at = 0; at < bytes; at += longest_message) {
      const int count = static_cast<int>(std::min(longest_message, bytes - at));
      pending.push_back({transfer.peer, receives, count});
      auto& request = requests.emplace_back();
      if (receives)
        check(mpi_.Irecv(static_cast<std::byte*>(transfer.in) + at, count, mpi_.byte, transfer.peer,
                         tag, comm_, &request),
              "MPI_Irecv");
      else
        check(mpi_.Isend(static_cast<const std::byte*>(transfer.out) + at, count, mpi_.byte,
                         transfer.peer, tag, comm_, &request),
              "MPI_Isend");
    }
  };
  for (const auto& transfer : transfers) add(transfer, true);
  for (const auto& transfer : transfers) add(transfer, false);

  std::size_t next = 0;  // requests before it are done
  const auto done = [&] {
    for (; next < requests.size(); ++next) {
      int finished = 0;
      MPI_Status status;
      const int result = mpi_.Test(&requests[next], &finished, &status);
      const auto& failed = pending[next];
      if (result != MPI_SUCCESS)
        fail(tenon::join("rank ", rank_, " and rank ", failed.peer, " failed to exchange ",
                         failed.bytes, " bytes: ", text_of(result)));
      if (finished == 0) return false;
      int bytes = failed.bytes;
      if (failed.receives) mpi_.Get_count(&status, mpi_.byte, &bytes);
      if (bytes != failed.bytes)
        fail(tenon::join(
            "rank ", failed.peer, " sent ", bytes, " bytes, but rank ", rank_, " needs ",
            failed.bytes,
            ": the processes run different graphs, or use tensors of different shapes"));
    }
    return true;
  };
  // Messages of one process arrive in order, so a message for another call arrives instead of the
  // expected one, not ahead of it.
  std::size_t suspect = requests.size();
  const auto look = [&] {
    int other = 0;
    MPI_Status status;
    if (mpi_.Iprobe(pending[next].peer, MPI_ANY_TAG, comm_, &other, &status) != MPI_SUCCESS ||
        other == 0 || status.MPI_TAG == tag)
      return;
    if (std::exchange(suspect, next) == next)  // seen twice: the expected message is not in flight
      fail(tenon::join(
          "rank ", pending[next].peer, " is in a different call than rank ", rank_,
          ": the processes run different graphs, or use tensors of different dtypes or shapes"));
  };
  wait(
      done, wait_options, [&] { return tenon::join("rank ", pending[next].peer); }, look);
}

bool MpiPeers::reduce(void* elements, std::int64_t count, tenon::DType dtype, Reduction reduction,
                      const WaitOptions& wait_options) {
  require_whole();
  const auto* const type = type_of(mpi_, dtype);
  if (type == nullptr || reduction == Reduction::mean) return false;
  const auto operation = reduction == Reduction::sum   ? mpi_.sum
                         : reduction == Reduction::max ? mpi_.max
                                                       : mpi_.min;
  const auto size = tenon::size_of(dtype);
  for (std::int64_t at = 0; at < count; at += longest_message / 8) {
    const int some = static_cast<int>(std::min<std::int64_t>(longest_message / 8, count - at));
    MPI_Request request{};
    check(mpi_.Iallreduce(MPI_IN_PLACE,
                          static_cast<std::byte*>(elements) + static_cast<std::size_t>(at) * size,
                          some, *type, operation, comm_, &request),
          "MPI_Iallreduce");
    const auto done = [&] {
      int finished = 0;
      MPI_Status status;
      check(mpi_.Test(&request, &finished, &status), "MPI_Test");
      return finished != 0;
    };
    wait(
        done, wait_options, [] { return "the other ranks, in the library's all-reduce"; }, [] {});
  }
  return true;
}
