// Each process's rows, dealt to all.
#pragma once
#include "collective.hpp"

struct AllToAll : Collective {
  static constexpr void describe(auto& op) {
    op.doc("cuts the first axis into a part for each process, and joins the parts that it gets from them in the order of their ranks");
    op.types(tenon::every_type);
    op.input("x", "at least one axis, whose size the number of processes divides; the same shape in all processes");
    op.output("y", "same shape");
    op.backward_reads();
    describe_group(op);
    op.example({{"x", {2, 3}}});
  }

  void infer(tenon::Infer& io) const {
    io.require_same_shape("x", "y");
    const auto shape = io.input(0).shape;
    if (!shape.has_rank()) return;
    io.require(shape.rank() > 0, "x is a scalar but needs an axis");
    if (shape[0] != tenon::unknown)
      io.require(shape[0] % group_size() == 0, "x has ", shape[0], " rows, which ", group_size(), " processes do not divide");
  }

  void gradient(tenon::Gradient& g) const {
    g.set_input_grad(0, g.add("tenon.all_to_all", {g.output_grad(0)}, {{"group", group}, {"strided", strided}, {"timeout", timeout}}));
  }

  void forward(const tenon::Call& call) const { run(call, Alone::get(), HostMemory(call)); }

 protected:
  void run(const tenon::Call& call, Peers& peers, const Memory& memory) const {
    const auto group = group_of(peers);
    const auto part = call.input_bytes(0) / static_cast<std::size_t>(group.size);
    const auto* const x = bytes::input(call, 0);
    auto* const y = bytes::output(call, 0);
    std::vector<Transfer> transfers;
    for (int other = 0; other < group.size; ++other) {
      const auto at = static_cast<std::size_t>(other) * part;
      if (other == group.rank)
        memory.copy(y + at, x + at, part);
      else
        transfers.push_back({other, x + at, part, y + at, part});
    }
    group.exchange(transfers, tag_of({4, static_cast<std::int64_t>(part)}), patience(call));
  }
};
