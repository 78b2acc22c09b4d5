// MPI's library, opened when it is first needed: one that is merely loaded changes a process, by handlers of signals for one.
#pragma once
#ifdef TENON_MPI_ABI
#include "standard_abi.hpp"
#else
#include <mpi.h>
#endif

#define TENON_MPI_FUNCTIONS(use)                                                                                                      \
  use(Abort) use(Comm_dup) use(Comm_free) use(Comm_rank) use(Comm_set_errhandler) use(Comm_size) use(Error_string) use(Finalize)      \
      use(Finalized) use(Get_count) use(Get_library_version) use(Iallreduce) use(Init_thread) use(Initialized) use(Iprobe) use(Irecv) \
          use(Isend) use(Test)

/// Functions have their names without MPI_.
struct MpiLibrary {
#define TENON_MPI_FUNCTION(name) decltype(&MPI_##name) name;
  TENON_MPI_FUNCTIONS(TENON_MPI_FUNCTION)
#undef TENON_MPI_FUNCTION
  MPI_Comm world;
  MPI_Errhandler errors_return;
  MPI_Datatype byte, f32, f64, i32, i64;
  MPI_Op sum, max, min;

  /// Whether the system's linker finds it, which opens it. Threads: any.
  static bool is_here();
  /// Throws tenon::Error where it is not here, or lacks something. Threads: any, but for close().
  static const MpiLibrary& get();
  /// After Finalize, where nothing uses it any more: what it left to the end of the process runs now, for this process ends by _exit. That
  /// is how MPICH 5 takes leave of its launcher, which kills the other processes otherwise.
  static void close();
};
