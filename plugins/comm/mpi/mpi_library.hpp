// MPI's library, opened on first use, because merely loading it changes a process: it installs
// signal handlers, for example.
#pragma once
#ifdef TENON_MPI_ABI
#include "standard_abi.hpp"
#else
#include <mpi.h>
#endif

#define TENON_MPI_FUNCTIONS(use)                                                                 \
  use(Abort) use(Comm_dup) use(Comm_free) use(Comm_rank) use(Comm_set_errhandler) use(Comm_size) \
      use(Error_string) use(Finalize) use(Finalized) use(Get_count) use(Get_library_version)     \
          use(Iallreduce) use(Init_thread) use(Initialized) use(Iprobe) use(Irecv) use(Isend)    \
              use(Test)

/// Functions are named as in MPI, without the prefix MPI_.
struct MpiLibrary {
#define TENON_MPI_FUNCTION(name) decltype(&MPI_##name) name;
  TENON_MPI_FUNCTIONS(TENON_MPI_FUNCTION)
#undef TENON_MPI_FUNCTION
  MPI_Comm world;
  MPI_Errhandler errors_return;
  MPI_Datatype byte, f32, f64, i32, i64;
  MPI_Op sum, max, min;

  /// Whether the dynamic linker finds the library; opens it. Thread-safe.
  static bool is_here();
  /// Throws tenon::Error if the library or one of its functions is missing. Thread-safe, except
  /// with close().
  static const MpiLibrary& get();
  /// Closes the library after MPI_Finalize, when nothing uses it any more, and so runs its
  /// destructors: this process ends by _exit. MPICH 5 disconnects from its launcher there;
  /// otherwise the launcher kills the other processes.
  static void close();
};
