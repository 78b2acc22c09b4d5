// Receives a tensor from another process.
#pragma once
#include "collective.hpp"

struct Recv : Collective {
  std::int64_t source = 0;

  static constexpr void describe(auto& op) {
    op.doc(
        "receives the tensor that another process sends with the operator send "
        "(torch.distributed.recv); zeros without a launcher");
    op.types(tenon::every_type);
    op.input("like",
             "a tensor with the dtype and shape of the received one; its elements are not used, "
             "and its gradient is zero");
    op.output("y", "the received tensor; same shape and dtype as like");
    op.inplace("like", "y");
    op.backward_reads();
    op.param("source", &Recv::source, "rank of the sending process").required().at_least(0);
    describe_waiting(op);
    op.example({{"like", {2, 3}}}, {{"source", 0}});
  }

  void infer(tenon::Infer& io) const { io.require_same_shape("like", "y"); }

  /// The gradient must be sent back wherever this node is differentiated; `like` gets zeros that
  /// depend on that send.
  void gradient(tenon::Gradient& g) const {
    g.set_input_grad(0, g.zeros_like(g.add("tenon.send", {g.output_grad(0)},
                                           {{"to", source}, {"timeout", timeout}})));
  }

  void forward(const tenon::Call& call) const { run(call, SingleProcess::get(), HostMemory(call)); }

 protected:
  void run(const tenon::Call& call, Peers& peers, const Memory& memory) const {
    const auto size = call.input_bytes(0);
    if (peers.size() == 1) return memory.zero(bytes::output(call, 0), size);
    const int peer = named_rank("source", source, peers.size());
    if (peer == peers.rank())
      throw tenon::Error(tenon::ErrorKind::parameter, "rank ", peer, " cannot receive from itself");
    const Transfer transfer{peer, nullptr, 0, bytes::output(call, 0), size};
    peers.exchange(std::span(&transfer, 1), tag_of({5, static_cast<std::int64_t>(size)}),
                   wait_options(call));
  }
};
