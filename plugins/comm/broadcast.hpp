// Broadcast of one process's tensor to all.
#pragma once
#include "collective.hpp"

struct Broadcast : Collective {
  std::int64_t root = 0;

  static constexpr void describe(auto& op) {
    op.doc(
        "copies x of the process with rank `root` to all processes (torch.distributed.broadcast)");
    op.types(tenon::any_type);
    op.input("x",
             "any shape; same shape in all processes; only the elements of rank `root` are used");
    op.output("y", "same shape as x");
    op.inplace("x", "y");
    op.backward_reads();
    op.param("root", &Broadcast::root, "rank within the group of the process whose x is sent")
        .at_least(0);
    describe_group(op);
    op.example({{"x", {2, 3}}});
  }

  void infer(tenon::Infer& io) const { io.require_same_shape("x", "y"); }

  /// Root's gradient is the sum over all processes; that of the others is zero.
  void gradient(tenon::Gradient& g) const {
    g.set_input_grad(
        0, g.add("tenon.all_reduce", {g.output_grad(0)},
                 {{"root", root}, {"group", group}, {"strided", strided}, {"timeout", timeout}}));
  }

  void forward(const tenon::Call& call) const { run(call, SingleProcess::get(), HostMemory(call)); }

 protected:
  void run(const tenon::Call& call, Peers& peers, const Memory& memory) const {
    const auto group = group_of(peers);
    const int from = named_rank("root", root, group.size);
    const auto size = call.input_bytes(0);
    auto* const y = bytes::output(call, 0);
    if (bytes::input(call, 0) != y) memory.copy(y, bytes::input(call, 0), size);
    const int from_root = (group.rank - from + group.size) % group.size;
    send_on(call, group, y, size, from, from_root, 0, group.size);
  }

 private:
  /// Sends from `begin` of ranks [begin, end) to the others, in a binary tree. Ranks are counted
  /// from root.
  void send_on(const tenon::Call& call, const Group& group, std::byte* y, std::size_t size,
               int root_rank, int self, int begin, int end) const {
    if (end - begin < 2) return;
    const int split = begin + static_cast<int>(tenon::left_micro_batches(end - begin));
    const auto rank = [&](int counted) { return (counted + root_rank) % group.size; };
    Transfer transfer;
    if (self == begin) transfer = {rank(split), y, size, nullptr, 0};
    if (self == split) transfer = {rank(begin), nullptr, 0, y, size};
    if (self == begin || self == split)
      group.exchange(std::span(&transfer, 1), tag_of({3, static_cast<std::int64_t>(size), root}),
                     wait_options(call));
    self < split ? send_on(call, group, y, size, root_rank, self, begin, split)
                 : send_on(call, group, y, size, root_rank, self, split, end);
  }
};
