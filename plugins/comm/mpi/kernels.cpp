// A kernel of each operator for processes that an MPI's launcher started.
#include <mutex>
#include <tenon/host_function.hpp>

#include "all_gather.hpp"
#include "all_to_all.hpp"
#include "broadcast.hpp"
#include "mpi_job.hpp"
#include "ranks.hpp"
#include "recv.hpp"
#include "reduce_scatter.hpp"
#include "send.hpp"

namespace {

std::mutex calling;  // other processes meet one call at a time

#ifdef TENON_MPI_ABI
constexpr int mpi_priority = 5;  // whoever has a plugin for the launcher's own MPI has that MPI, too
bool starts_this_mpi(tenon::Launcher::Kind kind) {
  return kind == tenon::Launcher::Kind::open_mpi || kind == tenon::Launcher::Kind::mpich;
}
#else
constexpr int mpi_priority = 10;
bool starts_this_mpi(tenon::Launcher::Kind kind) {
  return kind == tenon::Launcher::Kind::TENON_MPI_KIND;
}
#endif

MpiPeers& join(const tenon::Call& call, const Patience& patience) {
  const auto at_end = tenon::detail::host_function<tenon_at_end>(call.raw(), "at_end/1");
  if (at_end == nullptr)
    throw tenon::Error("operators that wait for other processes do not run in a worker process: isolate no plugin of theirs");
  auto& peers = join_mpi_job(patience);
  static const bool registered = (at_end(leave_mpi_job), true);
  static_cast<void>(registered);
  return peers;
}

}  // namespace

/// TENON_MPI_NAME: this MPI's name in those of classes; TENON_MPI_KIND: the enumerator of its launcher, but for the standard ABI.
template <class Op>
struct OverMpi : Op {
  static constexpr int priority = mpi_priority;

  bool supports(const tenon::Infer&) const {
    const auto found = tenon::launcher();
    return found.size > 1 && starts_this_mpi(found.kind) && MpiLibrary::is_here();
  }

  void forward(const tenon::Call& call) const {
    const std::lock_guard lock(calling);
    Op::run(call, join(call, this->patience(call)));
  }
};

// AllReduceOverOpenMpi: variants of several plugins have names of their own.
#define OVER_MPI(name, Class) OVER_MPI_NAMED(name, Class, TENON_MPI_NAME)
#define OVER_MPI_NAMED(name, Class, Mpi) OVER_MPI_JOINED(name, Class, Mpi)
#define OVER_MPI_JOINED(name, Class, Mpi) OVER_MPI_AS(name, Class, Class##Over##Mpi)
#define OVER_MPI_AS(name, Class, Variant) \
  using Variant = OverMpi<Class>;         \
  TENON_KERNEL_VARIANT(name, cpu, Variant)

OVER_MPI(all_gather, AllGather)
OVER_MPI(all_reduce, AllReduce)
OVER_MPI(all_to_all, AllToAll)
OVER_MPI(broadcast, Broadcast)
OVER_MPI(ranks, Ranks)
OVER_MPI(recv, Recv)
OVER_MPI(reduce_scatter, ReduceScatter)
OVER_MPI(send, Send)
