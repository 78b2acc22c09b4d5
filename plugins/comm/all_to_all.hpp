// Exchange of rows between all processes.
#pragma once
#include "collective.hpp"

struct AllToAll : Collective {
  static constexpr void describe(auto& op) {
    op.doc(
        "splits the first axis of x into one chunk per process, sends chunk i to rank i, and "
        "concatenates the received chunks in order of rank (torch.distributed.all_to_all_single)");
    op.types(tenon::every_type);
    op.input("x",
             "[processes * n, ...], where processes is the number of processes in the group; same "
             "shape in all processes");
    op.output("y", "same shape as x");
    op.backward_reads();
    describe_group(op);
    op.example({{"x", {2, 3}}});
  }

  void infer(tenon::Infer& io) const {
    io.require_same_shape("x", "y");
    const auto shape = io.input(0).shape;
    if (!shape.has_rank()) return;
    io.require(shape.rank() > 0, "x is a scalar but needs at least one axis");
    if (shape[0] != tenon::unknown)
      io.require(shape[0] % group_size() == 0, "x has ", shape[0], " rows but needs a multiple of ",
                 group_size(), ", the number of processes in the group");
  }

  void gradient(tenon::Gradient& g) const {
    g.set_input_grad(0, g.add("tenon.all_to_all", {g.output_grad(0)},
                              {{"group", group}, {"strided", strided}, {"timeout", timeout}}));
  }

  void forward(const tenon::Call& call) const { run(call, SingleProcess::get(), HostMemory(call)); }

 protected:
  void run(const tenon::Call& call, Peers& peers, const Memory& memory) const {
    const auto group = group_of(peers);
    const auto chunk = call.input_bytes(0) / static_cast<std::size_t>(group.size);
    const auto* const x = bytes::input(call, 0);
    auto* const y = bytes::output(call, 0);
    std::vector<Transfer> transfers;
    for (int other = 0; other < group.size; ++other) {
      const auto at = static_cast<std::size_t>(other) * chunk;
      if (other == group.rank)
        memory.copy(y + at, x + at, chunk);
      else
        transfers.push_back({other, x + at, chunk, y + at, chunk});
    }
    group.exchange(transfers, tag_of({4, static_cast<std::int64_t>(chunk)}), wait_options(call));
  }
};
