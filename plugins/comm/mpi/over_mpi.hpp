// What kernels share that run where an MPI's launcher started several processes. For one source of a plugin.
#pragma once
#include <mutex>
#include <tenon/host_function.hpp>
#include <tenon/launcher.hpp>
#include <tenon/operator.hpp>

#include "mpi_job.hpp"

namespace over_mpi {

inline std::mutex calling;  // other processes meet one call of a plugin at a time

#ifdef TENON_MPI_ABI
inline constexpr int priority = 5;  // behind a plugin for the launcher's own MPI, where that is found
inline bool is_started_by(tenon::Launcher::Kind kind) {
  return kind == tenon::Launcher::Kind::open_mpi || kind == tenon::Launcher::Kind::mpich;
}
#else
inline constexpr int priority = 10;
inline bool is_started_by(tenon::Launcher::Kind kind) {
  return kind == tenon::Launcher::Kind::TENON_MPI_KIND;
}
#endif

/// Whether there are other processes, which this MPI can reach.
inline bool is_here() {
  const auto found = tenon::launcher();
  return found.size > 1 && is_started_by(found.kind) && MpiLibrary::is_here();
}

inline MpiPeers& join(const tenon::Call& call, const Patience& patience) {
  const auto at_end = tenon::detail::host_function<tenon_at_end>(call.raw(), "at_end/1");
  if (at_end == nullptr)
    throw tenon::Error("operators that wait for other processes do not run in a worker process: isolate no plugin of theirs");
  auto& peers = join_mpi_job(patience);
  static const bool registered = (at_end(leave_mpi_job), true);
  static_cast<void>(registered);
  return peers;
}

}  // namespace over_mpi

/// TENON_MPI_NAME: this MPI's name in those of classes; TENON_MPI_KIND: the enumerator of its launcher, but for the standard ABI.
/// OVER_MPI(all_reduce, cpu, Over, AllReduce) registers Over<AllReduce>, whose name ends in the MPI's: several plugins have such variants.
#define OVER_MPI(name, device, Over, Class) OVER_MPI_NAMED(name, device, Over, Class, TENON_MPI_NAME)
#define OVER_MPI_NAMED(name, device, Over, Class, Mpi) OVER_MPI_JOINED(name, device, Over, Class, Mpi)
#define OVER_MPI_JOINED(name, device, Over, Class, Mpi) OVER_MPI_AS(name, device, Over, Class, Class##Over##Mpi)
#define OVER_MPI_AS(name, device, Over, Class, Variant) \
  using Variant = Over<Class>;                          \
  TENON_KERNEL_VARIANT(name, device, Variant)
