// What the operators share: which processes take part, how long they wait, and who is there without a launcher.
#pragma once
#include <algorithm>
#include <cstring>
#include <tenon/launcher.hpp>
#include <tenon/operator.hpp>
#include <vector>

#include "../shared/bytes.hpp"
#include "memory.hpp"
#include "peers.hpp"
#include "tree.hpp"

struct Collective : tenon::Operator {
  std::int64_t group = 0;
  bool strided = false;
  double timeout = 300;

 protected:
  static constexpr void describe_waiting(auto& op) {
    op.communicates();
    op.param("timeout", &Collective::timeout, "seconds that a process waits for another one before everything is given up").greater_than(0);
  }
  static constexpr void describe_group(auto& op) {
    op.param("group", &Collective::group,
             "processes that take part: groups of this many neighbouring ranks, each by itself. It divides the number of processes; 0: all")
        .at_least(0);
    op.param(
        "strided", &Collective::strided,
        "the groups are ranks as far from each other as there are groups: of 4 ranks in groups of 2, ranks 0 and 2, and ranks 1 and 3");
    describe_waiting(op);
  }

  /// Of the group, as the launcher says: nothing is started while shapes are inferred.
  std::int64_t group_size() const { return group_in(tenon::launcher().size); }

  Group group_of(Peers& peers) const {
    const int size = group_in(peers.size()), groups = peers.size() / size;
    if (strided) return {peers, peers.rank() % groups, groups, size, peers.rank() / groups};
    return {peers, peers.rank() / size * size, 1, size, peers.rank() % size};
  }

  Patience patience(const tenon::Call& call) const {
    return {timeout, [&call] { return call.cancelled(); }};
  }

  /// The same on ranks that make the same call, and most likely another one elsewhere.
  static int tag_of(std::initializer_list<std::int64_t> what) {
    std::uint64_t hash = 0x9E3779B97F4A7C15;
    for (const auto each : what) hash = (hash ^ static_cast<std::uint64_t>(each)) * 0xD6E8FEB86659FD93, hash ^= hash >> 32;
    return static_cast<int>(hash & 0x7FFF);
  }

  /// Messages in elements of `size` bytes, for a vector at `vector` and scratch memory.
  static void send_messages(const Group& group, std::span<const comm::Message> messages, std::byte* vector, std::byte* scratch,
                            std::size_t size, int tag, const Patience& patience) {
    std::vector<Transfer> transfers;
    for (const auto& message : messages)
      transfers.push_back({message.peer, vector + static_cast<std::size_t>(message.send) * size,
                           static_cast<std::size_t>(message.send_count) * size,
                           (message.into_scratch ? scratch : vector) + static_cast<std::size_t>(message.receive) * size,
                           static_cast<std::size_t>(message.receive_count) * size});
    group.exchange(transfers, tag, patience);
  }

  /// A rank that a parameter names; of a process by itself, whatever it names is that process.
  static int named_rank(const char* name, std::int64_t rank, int size) {
    if (size == 1) return 0;
    if (rank >= size) throw tenon::Error(tenon::ErrorKind::parameter, name, " is ", rank, " but there are ", size, " processes");
    return static_cast<int>(rank);
  }

 private:
  int group_in(int size) const {
    if (group == 0 || size == 1) return size;
    if (group > size || size % group != 0)
      throw tenon::Error(tenon::ErrorKind::parameter, "groups of ", group, " processes do not divide the ", size, " that were started");
    return static_cast<int>(group);
  }
};

/// A process by itself.
class Alone : public Peers {
 public:
  /// Throws where a launcher started several: a transport of its kind would have run instead.
  static Alone& get() {
    const auto found = tenon::launcher();
    if (found.size > 1)
      throw tenon::Error(found.name(), " started ", found.size,
                         " processes, but no plugin here can reach the others: ", how_to_reach(found.kind));
    static Alone alone;
    return alone;
  }
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void exchange(std::span<const Transfer> transfers, int, const Patience&) override {  // with itself
    for (const auto& transfer : transfers)
      if (transfer.in_bytes > 0) std::memcpy(transfer.in, transfer.out, std::min(transfer.in_bytes, transfer.out_bytes));
  }
  bool reduce(void*, std::int64_t, tenon::DType, Reduction, const Patience&) override { return true; }

 private:
  static const char* how_to_reach(tenon::Launcher::Kind kind) {
    if (kind == tenon::Launcher::Kind::slurm) return "start them by srun --mpi=pmix";
    if (kind == tenon::Launcher::Kind::open_mpi)
      return "put the folder of its libmpi_abi.so.1 (Open MPI 6 and later) or libmpi.so.40 into LD_LIBRARY_PATH; for the latter build "
             "Tenon where "
             "its headers are, which gives tenon_comm_openmpi.so";
    return "put the folder of its libmpi_abi.so.1 (MPICH 5 and later) or libmpich.so.12 into LD_LIBRARY_PATH; for the latter build Tenon "
           "where its "
           "headers are, which gives tenon_comm_mpich.so";
  }
};
