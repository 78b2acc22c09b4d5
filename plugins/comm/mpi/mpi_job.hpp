// The MPI job of this process.
#pragma once
#include "mpi_peers.hpp"

/// Initializes MPI on the first call, in which all processes meet; `wait_options` limits the wait
/// for them. Throws tenon::Error if the launcher and the library disagree on the number of
/// processes.
MpiPeers& join_mpi_job(const WaitOptions& wait_options);

/// Called when the process exits normally: leaves the job, or aborts it if this process failed.
/// Calls _exit if MPI hangs.
void leave_mpi_job(int status);
