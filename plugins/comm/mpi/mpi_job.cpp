#include "mpi_job.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <optional>
#include <tenon/detail/launcher.hpp>
#include <tenon/text.hpp>
#include <thread>
#include <vector>

#include "deadline.hpp"
#include "tree.hpp"

namespace {

std::string name_of(const MpiLibrary& mpi) {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int size = 0;
  mpi.Get_library_version(text, &size);
  std::string name(text, static_cast<std::size_t>(size));
  name.resize(std::min(name.size(), name.find_first_of(",\n")));
  std::replace(name.begin(), name.end(), '\t', ' ');
  return name;
}

/// The MPI state of this process.
struct Job {
  MPI_Comm comm{};
  bool started = false;  // by this plugin, which must then finalize MPI
  std::optional<MpiPeers> peers;
};

Job start(const WaitOptions& wait_options) {
  const auto launcher = tenon::launcher();
  const Deadline deadline(wait_options.seconds, 1,
                          tenon::join("rank ", launcher.rank, " has waited ", wait_options.seconds,
                                      " s for the other processes to start"));
  const auto& mpi = MpiLibrary::get();
  Job job;
  int there = 0;
  mpi.Initialized(&there);
  if (there == 0) {
    int level = 0;
    if (mpi.Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level) != MPI_SUCCESS ||
        level < MPI_THREAD_SERIALIZED)
      throw tenon::Error("MPI failed to initialize with MPI_THREAD_SERIALIZED");
    job.started = true;
  }
  int size = 0;
  mpi.Comm_set_errhandler(mpi.world, mpi.errors_return);
  mpi.Comm_size(mpi.world, &size);
  if (size != launcher.size)
    throw tenon::Error(launcher.name(), " started ", launcher.size, " processes, but ",
                       name_of(mpi), ", which this plugin uses, sees ", size,
                       "; use that MPI's mpirun");
  if (mpi.Comm_dup(mpi.world, &job.comm) != MPI_SUCCESS) throw tenon::Error("MPI_Comm_dup failed");
  job.peers.emplace(mpi, job.comm);
  return job;
}

Job* joined = nullptr;

}  // namespace

MpiPeers& join_mpi_job(const WaitOptions& wait_options) {
  static Job job = start(wait_options);
  joined = &job;
  return *job.peers;
}

/// Returns true once all processes are here, without a timeout, or false if one of them failed.
static bool meet(MpiPeers& peers) {
  try {
    const auto owners = tenon::MicroBatchOwners::even(peers.size(), peers.size());
    const comm::TreePlan plan(owners, peers.size(), peers.rank(), 0);
    std::vector<std::byte> here(static_cast<std::size_t>(peers.size()));
    const WaitOptions wait_options{std::numeric_limits<double>::infinity(), [] { return false; },
                                   true};
    constexpr int tag = 0x7fff;
    comm::gather(plan, peers.rank(), 1, [&](std::span<const comm::Message> messages) {
      std::vector<Transfer> transfers;
      for (const auto& message : messages)
        transfers.push_back(
            {message.peer, here.data() + message.send, static_cast<std::size_t>(message.send_count),
             here.data() + message.receive, static_cast<std::size_t>(message.receive_count)});
      if (!transfers.empty()) peers.exchange(transfers, tag, wait_options);
    });
    return true;
  } catch (const tenon::Error& error) {
    std::fprintf(stderr, "tenon: %s\n", error.what());
    return false;
  }
}

/// Finalizes MPI after all processes are done. MPI_Finalize of MPICH 4.0 over UCX's TCP often
/// hangs, in any program.
static void end_mpi(const MpiLibrary& mpi) {
  constexpr double seconds_to_end = 10;
  const Deadline deadline(
      seconds_to_end, 0,
      "all processes are done, but MPI_Finalize hangs; the process ends without it");
  mpi.Comm_free(&joined->comm);
  mpi.Finalize();
  MpiLibrary::close();
}

static void abort_mpi(const MpiLibrary& mpi, int status) {
  constexpr double seconds_to_abort = 8;
  const Deadline deadline(seconds_to_abort, status, "");
  // The launcher must forward error messages before it kills all processes. Ranks whose
  // communication failed wait longer, so that all can report which rank they wait for and rank 0
  // can save its state.
  const auto& peers = *joined->peers;
  std::this_thread::sleep_for(std::chrono::milliseconds(!peers.failed()     ? 300
                                                        : peers.rank() == 0 ? 1000
                                                                            : 5000));
  mpi.Abort(mpi.world, status);
}

void leave_mpi_job(int status) {
  if (joined == nullptr) return;
  const auto& mpi = MpiLibrary::get();
  int ended = 0;
  mpi.Finalized(&ended);
  auto& peers = *joined->peers;
  const bool done = status == 0 && !peers.failed();
  if (ended != 0 || (done && !joined->started))
    return MpiLibrary::close();  // another plugin finalizes MPI and has the library open, too
  try {
    if (done && meet(peers)) return end_mpi(mpi);
    abort_mpi(mpi, status == 0 ? 1 : status);
  } catch (const std::exception& error) {  // the system is out of threads or memory
    std::fprintf(stderr, "tenon: MPI was not finalized properly: %s\n", error.what());
  }
}
