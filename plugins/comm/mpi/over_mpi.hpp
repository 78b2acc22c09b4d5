// Shared by kernels that run if an MPI launcher started several processes. Include it in only one
// source of a plugin.
#pragma once
#include <mutex>
#include <tenon/detail/host_function.hpp>
#include <tenon/detail/launcher.hpp>
#include <tenon/operator.hpp>

#include "mpi_job.hpp"

namespace over_mpi {

inline std::mutex
    calling;  // serializes calls: other processes expect one call of a plugin at a time

#ifdef TENON_MPI_ABI
inline constexpr int priority = 5;  // below a plugin for the launcher's own MPI, if there is one
inline bool is_started_by(tenon::Launcher::Kind kind) {
  return kind == tenon::Launcher::Kind::open_mpi || kind == tenon::Launcher::Kind::mpich;
}
#else
inline constexpr int priority = 10;
inline bool is_started_by(tenon::Launcher::Kind kind) {
  return kind == tenon::Launcher::Kind::TENON_MPI_KIND;
}
#endif

/// Whether there are other processes and this MPI can reach them.
inline bool is_here() {
  const auto found = tenon::launcher();
  return found.size > 1 && is_started_by(found.kind) && MpiLibrary::is_here();
}

inline MpiPeers& join(const tenon::Call& call, const WaitOptions& wait_options) {
  const auto at_end = tenon::detail::host_function<tenon_at_end>(call.raw(), "at_end/1");
  if (at_end == nullptr)
    throw tenon::Error(
        "operators that communicate cannot run in a worker process; do not isolate their plugin");
  auto& peers = join_mpi_job(wait_options);
  static const bool registered = (at_end(leave_mpi_job), true);
  static_cast<void>(registered);
  return peers;
}

}  // namespace over_mpi

/// TENON_MPI_NAME is this MPI's suffix of class names; TENON_MPI_KIND is the enumerator of its
/// launcher (unset for the standard ABI). OVER_MPI(all_reduce, cpu, Over, AllReduce) registers
/// Over<AllReduce> under a class name with the MPI's suffix, because several plugins have such
/// variants.
#define OVER_MPI(name, device, Over, Class) \
  OVER_MPI_NAMED(name, device, Over, Class, TENON_MPI_NAME)
#define OVER_MPI_NAMED(name, device, Over, Class, Mpi) \
  OVER_MPI_JOINED(name, device, Over, Class, Mpi)
#define OVER_MPI_JOINED(name, device, Over, Class, Mpi) \
  OVER_MPI_AS(name, device, Over, Class, Class##Over##Mpi)
#define OVER_MPI_AS(name, device, Over, Class, Variant) \
  using Variant = Over<Class>;                          \
  TENON_KERNEL_VARIANT(name, device, Variant)
