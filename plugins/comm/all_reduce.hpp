// Elementwise sum, mean, maximum or minimum over all processes.
#pragma once
#include "collective.hpp"

struct AllReduce : Collective {
  enum class Order { tree, library };
  Reduction reduction = Reduction::sum;
  Order order = Order::tree;
  std::int64_t leaves = 0, root = -1;
  bool background = false;

  static constexpr void describe(auto& op) {
    op.doc(
        "elementwise sum, mean, maximum or minimum of x over all processes; every process gets the "
        "bit-identical result (torch.distributed.all_reduce)");
    op.types(tenon::numeric);
    op.input("x", "any shape; same shape in all processes");
    op.output("y", "same shape as x");
    op.inplace("x", "y");
    op.param("reduction", &AllReduce::reduction, "reduction over the processes")
        .one_of({{"sum", Reduction::sum},
                 {"mean", Reduction::mean},
                 {"max", Reduction::max},
                 {"min", Reduction::min}});
    op.param("order", &AllReduce::order,
             "order of the additions; tree: a fixed binary tree over consecutive ranks, "
             "bit-identical on all machines and with all communication libraries; library: the "
             "order of the communication library")
        .one_of({{"tree", Order::tree}, {"library", Order::library}});
    op.param("leaves", &AllReduce::leaves,
             "number of leaves of the tree, in training the number of micro-batches. Each process "
             "has consecutive leaves that form a subtree, for example 0-1, 2-3 and 4-7 of 8 leaves "
             "with 3 processes, and x is their sum. With fewer leaves than processes, x of the "
             "last ranks is ignored, but they get the result. 0: one leaf per process")
        .at_least(0);
    op.param("root", &AllReduce::root,
             "rank within the group that gets the result, while all others get zeros; -1: all "
             "processes get the result")
        .at_least(-1);
    op.param("background", &AllReduce::background,
             "sleep instead of polling while waiting for other processes, to leave the CPU to "
             "other threads");
    describe_group(op);
    op.version(2);
    op.renamed(2, "lanes", "leaves");
    op.example({{"x", {2, 3}}});
  }

  void configure() {
    if (leaves > 0 && group > 0)
      throw tenon::Error(
          tenon::ErrorKind::parameter,
          "parameter 'leaves' applies to all processes; it cannot be combined with 'group'");
    if (leaves > 0 && reduction == Reduction::mean)
      throw tenon::Error(
          tenon::ErrorKind::parameter,
          "parameter 'leaves' does not support reduction=mean; use sum and divide by "
          "the number you need");
  }

  void infer(tenon::Infer& io) const { io.require_same_shape("x", "y"); }
  std::size_t workspace(const tenon::Infer& io) const {
    return group_size() == 1 ? 0
                             : static_cast<std::size_t>(io.input(0).shape.size()) *
                                   tenon::size_of(io.input(0).dtype);
  }

  /// The gradient does not use the number of processes: the graph may run on another number of
  /// them.
  void gradient(tenon::Gradient& g) const {
    auto dy = g.output_grad(0);
    if (root >= 0)  // only root's result is used, so only its gradient counts
      dy = g.add("tenon.broadcast", {dy},
                 {{"root", root}, {"group", group}, {"strided", strided}, {"timeout", timeout}});
    else
      dy = sum(g, dy, reduction == Reduction::mean ? "mean" : "sum");
    if (root >= 0 && reduction == Reduction::mean)
      dy = g.add("tenon.div", {dy, sum(g, g.ones_like(dy))});
    if (reduction == Reduction::max ||
        reduction == Reduction::min) {  // elements that equal the extreme share the gradient
      const auto x = g.input("x");
      const auto extreme = g.add("tenon.all_reduce", {x},
                                 {{"reduction", reduction == Reduction::max ? "max" : "min"},
                                  {"group", group},
                                  {"strided", strided},
                                  {"timeout", timeout}});
      const auto is_it = g.add(
          "tenon.where", {g.add("tenon.equal", {x, extreme}), g.ones_like(x), g.zeros_like(x)});
      dy = g.add("tenon.mul", {is_it, g.add("tenon.div", {dy, sum(g, is_it)})});
    }
    if (leaves > 0) {  // processes without a leaf contribute nothing
      const auto ranks = g.add("tenon.cast", {g.add("tenon.ranks", {}, {{"timeout", timeout}})},
                               {{"dtype", "float32"}});
      const auto rank = g.add(
          "tenon.squeeze",
          {g.add("tenon.slice", {ranks}, {{"begin", tenon::Ints{0}}, {"end", tenon::Ints{1}}})});
      const auto has_leaf =
          g.add("tenon.less",
                {rank, g.add("tenon.fill_like", {rank}, {{"value", static_cast<double>(leaves)}})});
      dy = g.add("tenon.where", {has_leaf, dy, g.zeros_like(dy)});
    }
    g.set_input_grad(0, dy);
  }

  void forward(const tenon::Call& call) const { run(call, SingleProcess::get(), HostMemory(call)); }

 protected:
  void run(const tenon::Call& call, Peers& peers, const Memory& memory) const {
    const auto group = group_of(peers);
    const bool gets_result = root < 0 || named_rank("root", root, group.size) == group.rank;
    const auto dtype = call.input_type(0).dtype;
    const auto size = call.input_bytes(0);
    auto* const y = bytes::output(call, 0);
    if (y != bytes::input(call, 0)) memory.copy(y, bytes::input(call, 0), size);
    const auto count = static_cast<std::int64_t>(size / tenon::size_of(dtype));
    if (group.size > 1)
      reduce(call, memory, group, {dtype, y, call.workspace<std::byte>(size), count});
    if (!gets_result) memory.zero(y, size);
  }

  /// A vector and scratch memory for the same number of elements.
  struct Vector {
    tenon::DType dtype;
    std::byte *elements, *scratch;
    std::int64_t count;
  };
  enum class Gets { all, own_chunk };

  /// Reduces in place. With Gets::own_chunk, each process ends with its own chunk of equal chunks;
  /// the rest of its vector is unspecified.
  void reduce(const tenon::Call& call, const Memory& memory, const Group& group,
              const Vector& vector, Gets gets = Gets::all) const {
    auto wait = wait_options(call);
    wait.sleeps = background;
    const auto dtype = vector.dtype;
    auto *const y = vector.elements, *const scratch = vector.scratch;
    const auto count = vector.count;
    const auto size = tenon::size_of(dtype);
    const auto all = leaves == 0 ? group.size : leaves;
    const int adding = static_cast<int>(std::min<std::int64_t>(all, group.size));
    const bool all_add = group.is_whole() && adding == group.size;
    if (order == Order::library && all_add && group.peers.reduce(y, count, dtype, reduction, wait))
      return;
    const auto owners = tenon::MicroBatchOwners::even(all, adding);
    const int tag = tag_of({1, static_cast<int>(dtype), count, static_cast<int>(reduction), all});
    const auto exchange = [&](std::span<const comm::Message> messages) {
      send_messages(group, messages, y, scratch, size, tag, wait);
    };
    const auto add = [&](std::int64_t to, std::int64_t from, std::int64_t n, bool is_left) {
      memory.join(reduction, dtype, y + static_cast<std::size_t>(to) * size,
                  scratch + static_cast<std::size_t>(from) * size, n, is_left);
    };
    constexpr std::size_t short_bytes = 65536;
    if (group.rank < adding) {
      const comm::TreePlan plan(owners, all, group.rank, count);
      if (static_cast<std::size_t>(count) * size < short_bytes) {
        comm::all_reduce_whole(plan, group.rank, count, exchange, add);
      } else if (gets == Gets::own_chunk) {
        comm::reduce_scatter_chunks(plan, group.rank, group.size, count, exchange, add);
      } else {
        comm::all_reduce_segments(plan, exchange, add);
      }
    }
    exchange(comm::to_idle(group.rank, adding, group.size, count));
    if (reduction == Reduction::mean) memory.divide(dtype, y, count, group.size);
  }

 private:
  tenon::Gradient::Value sum(tenon::Gradient& g, tenon::Gradient::Value value,
                             const char* how = "sum") const {
    return g.add("tenon.all_reduce", {value},
                 {{"reduction", how},
                  {"order", order == Order::tree ? "tree" : "library"},
                  {"group", group},
                  {"strided", strided},
                  {"timeout", timeout}});
  }
};
