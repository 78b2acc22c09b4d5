// More ranks than cores, under SimGrid: the MPI transport and the tree, with real elements. Every
// rank ends with the bits of a tree that is computed directly. Compiled by smpicxx: smpirun -np
// 1024 ... ranks MICRO_BATCHES COUNT
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "mpi/mpi_peers.hpp"
#include "tree.hpp"

namespace {

/// SimGrid's MPI, with which this program is linked.
MpiLibrary simulated() {
  MpiLibrary mpi{};
#define TENON_MPI_FUNCTION(name) mpi.name = &MPI_##name;
  TENON_MPI_FUNCTIONS(TENON_MPI_FUNCTION)
#undef TENON_MPI_FUNCTION
  mpi.world = MPI_COMM_WORLD;
  mpi.errors_return = MPI_ERRORS_RETURN;
  mpi.byte = MPI_BYTE;
  return mpi;
}

/// The element of a micro-batch at an index: numbers whose sums are rounded.
float element(std::int64_t micro_batch, std::int64_t at) {
  auto bits = static_cast<std::uint64_t>(micro_batch) * 0x9E3779B97F4A7C15 +
              static_cast<std::uint64_t>(at) * 0xD6E8FEB86659FD93;
  bits = (bits ^ bits >> 32) * 0xD6E8FEB86659FD93;
  return static_cast<float>(static_cast<std::int64_t>(bits >> 40) - (1 << 23)) / 3e4F;
}

float tree_of(std::int64_t begin, std::int64_t count, std::int64_t at) {
  if (count == 1) return element(begin, at);
  std::int64_t left = 1;
  while (left * 2 < count) left *= 2;
  return tree_of(begin, left, at) + tree_of(begin + left, count - left, at);
}

bool sums_are_right(MpiPeers& peers, std::int64_t micro_batches, std::int64_t count, bool whole) {
  const Group group{peers, 0, 1, peers.size(), peers.rank()};
  const auto owners = tenon::MicroBatchOwners::even(micro_batches, group.size);
  const auto begin = owners.first(group.rank),
             end = group.rank + 1 < group.size ? owners.first(group.rank + 1) : micro_batches;
  std::vector<float> own(static_cast<std::size_t>(count)), scratch(own.size());
  for (std::int64_t at = 0; at < count; ++at)
    own[static_cast<std::size_t>(at)] = tree_of(begin, end - begin, at);
  const auto exchange = [&](const std::vector<comm::Message>& messages) {
    std::vector<Transfer> transfers;
    for (const auto& message : messages)
      transfers.push_back({message.peer, own.data() + message.send,
                           static_cast<std::size_t>(message.send_count) * sizeof(float),
                           (message.into_scratch ? scratch : own).data() + message.receive,
                           static_cast<std::size_t>(message.receive_count) * sizeof(float)});
    group.exchange(transfers, 1, {1e9, [] { return false; }});
  };
  const auto add = [&](std::int64_t to, std::int64_t from, std::int64_t n, bool) {
    for (std::int64_t i = 0; i < n; ++i)
      own[static_cast<std::size_t>(to + i)] += scratch[static_cast<std::size_t>(from + i)];
  };
  const comm::TreePlan plan(owners, micro_batches, group.rank, count);
  if (whole)
    comm::all_reduce_whole(plan, group.rank, count, exchange, add);
  else
    comm::all_reduce_segments(plan, exchange, add);
  const auto step = count > 97 ? count / 97 : 1;  // a direct sum takes all micro-batches
  for (std::int64_t at = 0; at<count; at += group.size> 64 ? step * 16 : step) {
    const float expected = tree_of(0, micro_batches, at);
    if (std::memcmp(&expected, &own[static_cast<std::size_t>(at)], sizeof expected) != 0)
      return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int wrong = 0;
  {
    const auto mpi = simulated();
    MpiPeers peers(mpi, mpi.world);
    const std::int64_t micro_batches = argc > 1 ? std::atoll(argv[1]) : peers.size(),
                       count = argc > 2 ? std::atoll(argv[2]) : 1000;
    for (const bool whole : {true, false})
      wrong += sums_are_right(peers, micro_batches, count, whole) ? 0 : 1;
    int all = 0;
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    wrong = all;
    if (peers.rank() == 0)
      std::printf("%d ranks, %lld micro-batches: %d wrong\n", peers.size(),
                  static_cast<long long>(micro_batches), wrong);
  }
  MPI_Finalize();
  return wrong == 0 ? 0 : 1;
}
