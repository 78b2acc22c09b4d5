// Base of the collective operators: participating processes, timeouts, and a process without a
// launcher.
#pragma once
#include <algorithm>
#include <cstring>
#include <tenon/detail/launcher.hpp>
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
    op.param("timeout", &Collective::timeout,
             "maximum time to wait for another process, in seconds; then the call fails")
        .greater_than(0);
  }
  static constexpr void describe_group(auto& op) {
    op.param(
          "group", &Collective::group,
          "number of processes in each process group, a divisor of the number of processes; each "
          "group of consecutive ranks communicates separately; 0: all processes are one group")
        .at_least(0);
    op.param("strided", &Collective::strided,
             "form groups of equally spaced ranks instead of consecutive ranks: with 4 processes "
             "and groups of 2, ranks 0 and 2, and ranks 1 and 3");
    describe_waiting(op);
  }

  /// Returns the size of the group according to the launcher: shape inference must not start MPI.
  std::int64_t group_size() const { return group_in(tenon::launcher().size); }

  Group group_of(Peers& peers) const {
    const int size = group_in(peers.size()), groups = peers.size() / size;
    if (strided) return {peers, peers.rank() % groups, groups, size, peers.rank() / groups};
    return {peers, peers.rank() / size * size, 1, size, peers.rank() % size};
  }

  WaitOptions wait_options(const tenon::Call& call) const {
    return {timeout, [&call] { return call.cancelled(); }};
  }

  /// Returns the same tag on ranks that make the same call; other calls most likely have another
  /// tag.
  static int tag_of(std::initializer_list<std::int64_t> what) {
    std::uint64_t hash = 0x9E3779B97F4A7C15;
    for (const auto each : what)
      hash = (hash ^ static_cast<std::uint64_t>(each)) * 0xD6E8FEB86659FD93, hash ^= hash >> 32;
    return static_cast<int>(hash & 0x7FFF);
  }

  /// Sends messages in elements of `size` bytes from `vector`, and receives into it or into scratch
  /// memory.
  static void send_messages(const Group& group, std::span<const comm::Message> messages,
                            std::byte* vector, std::byte* scratch, std::size_t size, int tag,
                            const WaitOptions& wait_options) {
    std::vector<Transfer> transfers;
    for (const auto& message : messages)
      transfers.push_back({message.peer, vector + static_cast<std::size_t>(message.send) * size,
                           static_cast<std::size_t>(message.send_count) * size,
                           (message.into_scratch ? scratch : vector) +
                               static_cast<std::size_t>(message.receive) * size,
                           static_cast<std::size_t>(message.receive_count) * size});
    group.exchange(transfers, tag, wait_options);
  }

  /// Returns the rank that a parameter names. A process without a launcher is always rank 0.
  static int named_rank(const char* name, std::int64_t rank, int size) {
    if (size == 1) return 0;
    if (rank >= size)
      throw tenon::Error(tenon::ErrorKind::parameter, name, " is ", rank,
                         " but needs to be less than ", size, ", the number of processes");
    return static_cast<int>(rank);
  }

 private:
  int group_in(int size) const {
    if (group == 0 || size == 1) return size;
    if (group > size || size % group != 0)
      throw tenon::Error(tenon::ErrorKind::parameter, "parameter 'group' is ", group,
                         ", which does not divide the number of processes, ", size);
    return static_cast<int>(group);
  }
};

/// The only process: there is no launcher.
class SingleProcess : public Peers {
 public:
  /// Throws if a launcher started several processes: its transport would have been chosen
  /// otherwise.
  static SingleProcess& get() {
    const auto found = tenon::launcher();
    if (found.size > 1)
      throw tenon::Error(found.name(), " started ", found.size,
                         " processes, but no plugin provides a transport between them: ",
                         how_to_reach(found.kind));
    static SingleProcess instance;
    return instance;
  }
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void exchange(std::span<const Transfer> transfers, int,
                const WaitOptions&) override {  // a transfer to itself
    for (const auto& transfer : transfers)
      if (transfer.in_bytes > 0)
        std::memcpy(transfer.in, transfer.out, std::min(transfer.in_bytes, transfer.out_bytes));
  }
  bool reduce(void*, std::int64_t, tenon::DType, Reduction, const WaitOptions&) override {
    return true;
  }

 private:
  static const char* how_to_reach(tenon::Launcher::Kind kind) {
    if (kind == tenon::Launcher::Kind::slurm) return "start them with srun --mpi=pmix";
    if (kind == tenon::Launcher::Kind::open_mpi)
      return "add the folder of its libmpi_abi.so.1 (Open MPI 6 and later) or libmpi.so.40 to "
             "LD_LIBRARY_PATH; the latter also needs "
             "tenon_comm_openmpi.so, which is built if Open MPI's headers are installed when Tenon "
             "is built";
    return "add the folder of its libmpi_abi.so.1 (MPICH 5 and later) or libmpich.so.12 to "
           "LD_LIBRARY_PATH; the latter also needs "
           "tenon_comm_mpich.so, which is built if MPICH's headers are installed when Tenon is "
           "built";
  }
};
