// Concatenation of all processes' tensors.
#pragma once
#include "collective.hpp"

struct AllGather : Collective {
  static constexpr void describe(auto& op) {
    op.doc(
        "concatenates x of all processes along the first axis, in order of rank "
        "(torch.distributed.all_gather_into_tensor)");
    op.types(tenon::any_type);
    op.input("x", "[n, ...]; same shape in all processes");
    op.output("y", "[processes * n, ...], where processes is the number of processes in the group");
    op.backward_reads();
    describe_group(op);
    op.example({{"x", {2, 3}}});
  }

  void infer(tenon::Infer& io) const { io.set_output(0, times(io, 0, group_size())); }

  void gradient(tenon::Gradient& g) const {
    g.set_input_grad(0, g.add("tenon.reduce_scatter", {g.output_grad(0)},
                              {{"group", group}, {"strided", strided}, {"timeout", timeout}}));
  }

  void forward(const tenon::Call& call) const { run(call, SingleProcess::get(), HostMemory(call)); }

 protected:
  static tenon::Shape times(tenon::Infer& io, int input, std::int64_t factor) {
    auto shape = io.input(input).shape;
    if (!shape.has_rank()) return shape;
    io.require(shape.rank() > 0, "x is a scalar but needs at least one axis");
    if (shape[0] != tenon::unknown) {
      std::int64_t rows = 0;
      io.require(!__builtin_mul_overflow(shape[0], factor, &rows),
                 "the first axis of the result overflows 64 bits");
      shape.set(0, rows);
    }
    return shape;
  }

  void run(const tenon::Call& call, Peers& peers, const Memory& memory) const {
    const auto group = group_of(peers);
    const auto size = call.input_bytes(0);
    auto* const y = bytes::output(call, 0);
    memory.copy(y + static_cast<std::size_t>(group.rank) * size, bytes::input(call, 0), size);
    if (group.size == 1) return;
    const auto owners = tenon::MicroBatchOwners::even(group.size, group.size);
    const comm::TreePlan plan(owners, group.size, group.rank, 0);
    const auto wait = wait_options(call);
    comm::gather(plan, group.rank, static_cast<std::int64_t>(size),
                 [&](std::span<const comm::Message> messages) {
                   send_messages(group, messages, y, nullptr, 1,
                                 tag_of({2, static_cast<std::int64_t>(size)}), wait);
                 });
  }
};
