// Detects the launcher that started this process together with others of the same program, such as
// mpirun and srun. They set environment variables; nothing is started or contacted here:
//
//     const auto started = tenon::launcher();
//     if (started.size > 1)
//       std::printf("rank %d of %d, by %s\n", started.rank, started.size, started.name());
//
// Open MPI sets OMPI_COMM_WORLD_RANK and _SIZE; MPICH, and srun --mpi=pmi2, set PMI_RANK and
// PMI_SIZE; srun sets SLURM_PROCID and SLURM_STEP_NUM_TASKS, and with --mpi=pmix also PMIX_RANK.
//
// Uses only the standard library. Applications include <tenon/host/launcher.hpp>; the plugin comm
// uses it, too.
#pragma once
#include <cstdlib>

#pragma GCC visibility push(hidden)
namespace tenon {

/// The processes that were started together; rank 0 of 1 without a launcher. It does not say
/// whether the other processes are running: a transport detects that.
struct Launcher {
  enum class Kind {
    none,
    open_mpi,
    mpich,
    slurm
  };  ///< slurm: srun without a mechanism for the processes to find each other
  Kind kind = Kind::none;
  int rank = 0, size = 1;

  /// The launcher's name in messages.
  const char* name() const {
    switch (kind) {
      case Kind::open_mpi:
        return "the launcher of Open MPI";
      case Kind::mpich:
        return "the launcher of MPICH";
      case Kind::slurm:
        return "srun";
      case Kind::none:
        break;
    }
    return "no launcher";
  }
};

namespace launcher_words {
/// Returns -1 if the variable is not set or not a number.
inline int number_in_environment(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return -1;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  return *end == '\0' && value >= 0 && value <= (1 << 24) ? static_cast<int>(value) : -1;
}

/// Returns false and changes nothing if one of the two is missing or if they contradict each other.
inline bool read_launcher(Launcher& launcher, Launcher::Kind kind, const char* rank,
                          const char* size) {
  const int own = number_in_environment(rank), all = number_in_environment(size);
  if (all < 1 || own < 0 || own >= all) return false;
  launcher = {kind, own, all};
  return true;
}
}  // namespace launcher_words

/// Reads the environment on each call. Invalid values, such as a rank that is not below the size,
/// count as not set. If several launchers set their variables, for example mpirun inside a Slurm
/// job, the first of those above counts. Thread-safe as long as the environment does not change.
inline Launcher launcher() {
  using Kind = Launcher::Kind;
  Launcher found;
  if (launcher_words::read_launcher(found, Kind::open_mpi, "OMPI_COMM_WORLD_RANK",
                                    "OMPI_COMM_WORLD_SIZE"))
    return found;
  if (launcher_words::read_launcher(found, Kind::mpich, "PMI_RANK", "PMI_SIZE")) return found;
  // set by srun if its option --mpi is pmix
  const bool pmix = std::getenv("PMIX_RANK") != nullptr;
  if (launcher_words::read_launcher(found, pmix ? Kind::open_mpi : Kind::slurm, "SLURM_PROCID",
                                    "SLURM_STEP_NUM_TASKS"))
    return found;
  return found;
}

}  // namespace tenon
#pragma GCC visibility pop
