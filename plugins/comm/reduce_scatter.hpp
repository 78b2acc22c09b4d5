// Sum over all processes, split between them.
#pragma once
#include "all_gather.hpp"
#include "all_reduce.hpp"

struct ReduceScatter : AllReduce {
  static constexpr void describe(auto& op) {
    op.doc(
        "sums x over all processes; each process gets the rows of its rank, bit-identical to those "
        "of all_reduce (torch.distributed.reduce_scatter_tensor)");
    op.types(tenon::numeric);
    op.input("x",
             "[processes * n, ...], where processes is the number of processes in the group; same "
             "shape in all processes");
    op.output("y",
              "[n, ...]: rows rank * n to (rank + 1) * n (exclusive) of the sum, with the rank "
              "within the group");
    op.backward_reads();
    describe_group(op);
    op.example({{"x", {2, 3}}});
  }

  void infer(tenon::Infer& io) const {
    auto shape = io.input(0).shape;
    if (shape.has_rank()) {
      io.require(shape.rank() > 0, "x is a scalar but needs at least one axis");
      if (shape[0] != tenon::unknown) {
        io.require(shape[0] % group_size() == 0, "x has ", shape[0],
                   " rows but needs a multiple of ", group_size(),
                   ", the number of processes in the group");
        shape.set(0, shape[0] / group_size());
      }
    }
    io.set_output(0, shape);
  }
  std::size_t workspace(const tenon::Infer& io) const {
    return 2 * static_cast<std::size_t>(io.input(0).shape.size()) *
           tenon::size_of(io.input(0).dtype);
  }

  void gradient(tenon::Gradient& g) const {
    g.set_input_grad(0, g.add("tenon.all_gather", {g.output_grad(0)},
                              {{"group", group}, {"strided", strided}, {"timeout", timeout}}));
  }

  void forward(const tenon::Call& call) const { run(call, SingleProcess::get(), HostMemory(call)); }

 protected:
  void run(const tenon::Call& call, Peers& peers, const Memory& memory) const {
    const auto group = group_of(peers);
    const auto size = call.input_bytes(0), chunk = size / static_cast<std::size_t>(group.size);
    auto* const y = bytes::output(call, 0);
    if (group.size == 1) return memory.copy(y, bytes::input(call, 0), size);
    const auto dtype = call.input_type(0).dtype;
    auto* const sum = call.workspace<std::byte>(2 * size);
    memory.copy(sum, bytes::input(call, 0), size);
    reduce(call, memory, group,
           {dtype, sum, sum + size, static_cast<std::int64_t>(size / tenon::size_of(dtype))},
           Gets::own_chunk);
    memory.copy(y, sum + static_cast<std::size_t>(group.rank) * chunk, chunk);
  }
};
