// Which program started this process beside others that run the same, as mpirun and srun do. They say so in the environment; nothing is
// asked and nothing is started here:
//
//     const auto started = tenon::launcher();
//     if (started.size > 1) std::printf("rank %d of %d, by %s\n", started.rank, started.size, started.name());
//
// Open MPI sets OMPI_COMM_WORLD_RANK and _SIZE; MPICH, and srun --mpi=pmi2, PMI_RANK and PMI_SIZE; srun SLURM_PROCID and
// SLURM_STEP_NUM_TASKS, and with --mpi=pmix PMIX_RANK besides.
#pragma once
#include <cstdlib>

#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK {

/// Of the processes that were started together. Without a launcher: rank 0 of 1. A process is told who it is, not whether the others came:
/// a transport finds that out.
struct Launcher {
  enum class Kind { none, open_mpi, mpich, slurm };  ///< slurm: srun, which offers the processes no way to find each other
  Kind kind = Kind::none;
  int rank = 0, size = 1;

  /// As a sentence calls it.
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
/// -1: not there, or no number.
inline int number_in_environment(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return -1;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  return *end == '\0' && value >= 0 && value <= (1 << 24) ? static_cast<int>(value) : -1;
}

/// False, and nothing changes, where one of the two is missing or they contradict each other.
inline bool read_launcher(Launcher& launcher, Launcher::Kind kind, const char* rank, const char* size) {
  const int own = number_in_environment(rank), all = number_in_environment(size);
  if (all < 1 || own < 0 || own >= all) return false;
  launcher = {kind, own, all};
  return true;
}
}  // namespace launcher_words

/// Reads the environment each time. A rank that is not below the size, and what is no number, is as if it were not there: what comes from
/// outside is not believed. Where several launchers left their words, as in an mpirun inside of a job of Slurm, the first of those above
/// counts. Threads: any, while nobody changes it.
inline Launcher launcher() {
  using Kind = Launcher::Kind;
  Launcher found;
  if (launcher_words::read_launcher(found, Kind::open_mpi, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")) return found;
  if (launcher_words::read_launcher(found, Kind::mpich, "PMI_RANK", "PMI_SIZE")) return found;
  const bool pmix = std::getenv("PMIX_RANK") != nullptr;  // srun --mpi=pmix
  if (launcher_words::read_launcher(found, pmix ? Kind::open_mpi : Kind::slurm, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS")) return found;
  return found;
}

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop
