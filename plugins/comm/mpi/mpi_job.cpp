#include "mpi_job.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <limits>
#include <mutex>
#include <optional>
#include <tenon/launcher.hpp>
#include <tenon/text.hpp>
#include <thread>
#include <vector>

#include "tree.hpp"

namespace {

/// Ends the process where what follows takes longer: MPI starts, ends and aborts without a deadline of its own.
class Deadline {
 public:
  Deadline(double seconds, int status, std::string what)
      : thread_([this, seconds, status, what = std::move(what)] {
          std::unique_lock lock(changing_);
          constexpr double longest = 1e9;  // clocks count nanoseconds in 64 bits
          if (changed_.wait_for(lock, std::chrono::duration<double>(std::min(seconds, longest)), [this] { return done_; })) return;
          if (!what.empty()) std::fprintf(stderr, "tenon: %s\n", what.c_str());
          std::fflush(stderr);
          _exit(status);
        }) {}
  ~Deadline() {
    {
      const std::lock_guard lock(changing_);
      done_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

 private:
  std::mutex changing_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread thread_;  // the last: it uses the others
};

std::string name_of(const MpiLibrary& mpi) {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int size = 0;
  mpi.Get_library_version(text, &size);
  std::string name(text, static_cast<std::size_t>(size));
  name.resize(std::min(name.size(), name.find_first_of(",\n")));
  std::replace(name.begin(), name.end(), '\t', ' ');
  return name;
}

/// This process's part in the job.
struct Job {
  MPI_Comm comm{};
  bool started = false;  // by this plugin, which then ends it, too
  std::optional<MpiPeers> peers;
};

Job start(const Patience& patience) {
  const auto launcher = tenon::launcher();
  const Deadline deadline(patience.seconds, 1,
                          tenon::join("rank ", launcher.rank, " has waited ", patience.seconds, " s for the other processes to start"));
  const auto& mpi = MpiLibrary::get();
  Job job;
  int there = 0;
  mpi.Initialized(&there);
  if (there == 0) {
    int level = 0;
    if (mpi.Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level) != MPI_SUCCESS || level < MPI_THREAD_SERIALIZED)
      throw tenon::Error("MPI does not start, or lets one thread alone use it");
    job.started = true;
  }
  int size = 0;
  mpi.Comm_set_errhandler(mpi.world, mpi.errors_return);
  mpi.Comm_size(mpi.world, &size);
  if (size != launcher.size)
    throw tenon::Error(launcher.name(), " started ", launcher.size, " processes, but ", name_of(mpi), ", which this plugin uses, sees ",
                       size, ": start them with the mpirun of that MPI");
  if (mpi.Comm_dup(mpi.world, &job.comm) != MPI_SUCCESS) throw tenon::Error("MPI_Comm_dup fails");
  job.peers.emplace(mpi, job.comm);
  return job;
}

Job* joined = nullptr;

}  // namespace

MpiPeers& join_mpi_job(const Patience& patience) {
  static Job job = start(patience);
  joined = &job;
  return *job.peers;
}

/// Returns once all processes are here, however long that takes; false where one of them never will be.
static bool meet(MpiPeers& peers) {
  try {
    const auto owners = tenon::LaneOwners::even(peers.size(), peers.size());
    const comm::TreePlan plan(owners, peers.size(), peers.rank(), 0);
    std::vector<std::byte> here(static_cast<std::size_t>(peers.size()));
    const Patience patience{std::numeric_limits<double>::infinity(), [] { return false; }, true};
    constexpr int tag = 0x7fff;
    comm::gather(plan, peers.rank(), 1, [&](std::span<const comm::Message> messages) {
      std::vector<Transfer> transfers;
      for (const auto& message : messages)
        transfers.push_back({message.peer, here.data() + message.send, static_cast<std::size_t>(message.send_count),
                             here.data() + message.receive, static_cast<std::size_t>(message.receive_count)});
      if (!transfers.empty()) peers.exchange(transfers, tag, patience);
    });
    return true;
  } catch (const tenon::Error& error) {
    std::fprintf(stderr, "tenon: %s\n", error.what());
    return false;
  }
}

void leave_mpi_job(int status) {
  if (joined == nullptr) return;
  const auto& mpi = MpiLibrary::get();
  int ended = 0;
  mpi.Finalized(&ended);
  if (ended != 0) return MpiLibrary::close();  // by another plugin, which has it open, too
  auto& peers = *joined->peers;
  if (status == 0 && !peers.failed() && !joined->started) return;
  if (status == 0 && !peers.failed() && meet(peers)) {
    // MPICH 4.0 over UCX's TCP often hangs in its end, in any program.
    constexpr double seconds_to_end = 10;
    const Deadline deadline(seconds_to_end, 0, "all is done, but MPI does not end; this process ends without it");
    mpi.Comm_free(&joined->comm);
    mpi.Finalize();
    return MpiLibrary::close();
  }
  constexpr double seconds_to_abort = 8;
  const Deadline deadline(seconds_to_abort, status == 0 ? 1 : status, "");
  // The launcher takes what was told before it ends all; others name whom they wait for, too, and rank 0 keeps what there is.
  const bool waited = peers.failed();
  std::this_thread::sleep_for(std::chrono::milliseconds(!waited ? 300 : peers.rank() == 0 ? 1000 : 5000));
  mpi.Abort(mpi.world, status == 0 ? 1 : status);
}
