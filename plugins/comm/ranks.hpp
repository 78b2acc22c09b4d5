// The rank of this process.
#pragma once
#include "collective.hpp"

struct Ranks : Collective {
  static constexpr void describe(auto& op) {
    op.doc(
        "rank of this process and number of processes (torch.distributed.get_rank and "
        "get_world_size)");
    op.output("ranks",
              "int64 [2]: the rank, counted from 0, and the number of processes; [0, 1] without a "
              "launcher");
    describe_waiting(op);
    op.example({}, {{"timeout", 60.0}});
  }

  void infer(tenon::Infer& io) const { io.set_output(0, {2}, tenon::i64); }
  void forward(const tenon::Call& call) const { run(call, SingleProcess::get(), HostMemory(call)); }

 protected:
  void run(const tenon::Call& call, Peers& peers, const Memory&) const {
    const auto ranks = call.output<std::int64_t>(0);
    ranks[0] = peers.rank();
    ranks[1] = peers.size();
  }
};
