// Simulates the time of a training step on many machines, under SimGrid: each rank is a node whose
// backward pass produces the gradients of one bucket after the other; the tree adds them, with
// messages of the real sizes but without content.
//     training MEGABYTES BUCKETS SECONDS OVERLAPS
// SECONDS: work per step, a third of it in the forward pass; OVERLAPS: 1 or 0.
// Prints the efficiency: the time of the work divided by that of the step.
#include <mpi.h>
#include <simgrid/actor.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tree.hpp"

namespace {

void sleep_until(double time) {
  if (const double now = MPI_Wtime(); now < time) sg_actor_sleep_for(time - now);
}

/// Reduces `bytes` bytes over all ranks.
void add(const comm::TreePlan& plan, char* memory) {
  constexpr double bytes_per_second = 1e10;  // an addition reads two numbers and writes one
  std::vector<MPI_Request> requests;
  comm::all_reduce_segments(
      plan,
      [&](const std::vector<comm::Message>& messages) {
        requests.clear();
        for (const auto& message : messages)
          if (message.receive_count > 0)
            MPI_Irecv(memory, static_cast<int>(message.receive_count), MPI_BYTE, message.peer, 1,
                      MPI_COMM_WORLD, &requests.emplace_back());
        for (const auto& message : messages)
          if (message.send_count > 0)
            MPI_Isend(memory, static_cast<int>(message.send_count), MPI_BYTE, message.peer, 1,
                      MPI_COMM_WORLD, &requests.emplace_back());
        MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
      },
      [&](std::int64_t, std::int64_t, std::int64_t count) {
        sg_actor_sleep_for(static_cast<double>(count) / bytes_per_second);
      });
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc < 5) return 2;
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const auto bytes = static_cast<std::int64_t>(std::atof(argv[1]) * 1e6);
  const int buckets = std::atoi(argv[2]);
  const double work = std::atof(argv[3]);
  const bool overlaps = std::atoi(argv[4]) != 0;
  auto* const memory =
      static_cast<char*>(SMPI_SHARED_MALLOC(static_cast<std::size_t>(bytes / buckets)));
  const auto owners = tenon::MicroBatchOwners::even(ranks, ranks);
  const comm::TreePlan plan(owners, ranks, rank, bytes / buckets);
  MPI_Barrier(MPI_COMM_WORLD);
  constexpr int steps = 2;
  const double begin = MPI_Wtime();
  for (int step = 0; step < steps; ++step) {
    const double start = MPI_Wtime();
    for (int bucket = 0; bucket < buckets; ++bucket) {
      const double done = overlaps ? (1 + 2. * (bucket + 1) / buckets) / 3 : 1;
      sleep_until(start + work * done);
      add(plan, memory);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  const double taken = (MPI_Wtime() - begin) / steps;
  if (rank == 0)
    std::printf("%d nodes, %s: %.4f s per step, efficiency %.3f\n", ranks,
                overlaps ? "overlapped" : "in turn", taken, work / taken);
  SMPI_SHARED_FREE(memory);
  MPI_Finalize();
}
