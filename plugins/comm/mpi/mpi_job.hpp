// The MPI job that this process belongs to.
#pragma once
#include "mpi_peers.hpp"

/// Starts MPI, in which all processes meet, once; `patience`: for all to come. Throws tenon::Error where the launcher and the library do
/// not agree on how many processes there are.
MpiPeers& join_mpi_job(const Patience& patience);

/// When the process ends in order: leaves the job, or ends all of it where this process failed. Exits where MPI hangs in that.
void leave_mpi_job(int status);
