// Sends a tensor to another process.
#pragma once
#include "collective.hpp"

struct Send : Collective {
  std::int64_t to = 0;

  static constexpr void describe(auto& op) {
    op.doc(
        "sends x to another process, which receives it with the operator recv, and returns x "
        "(torch.distributed.send); blocks until x is received if x is large or on a GPU");
    op.types(tenon::every_type);
    op.input("x", "any shape");
    op.output("y",
              "x itself, same shape. The gradient of x is the gradient of y plus the gradient that "
              "the receiving process sends back, so the loss of this process must depend on y (0 * "
              "sum(y) is enough)");
    op.inplace("x", "y");
    op.backward_reads();
    op.param("to", &Send::to, "rank of the receiving process").required().at_least(0);
    describe_waiting(op);
    op.example({{"x", {2, 3}}}, {{"to", 0}});
  }

  void infer(tenon::Infer& io) const { io.require_same_shape("x", "y"); }

  void gradient(tenon::Gradient& g) const {
    const auto back =
        g.add("tenon.recv", {g.output_grad(0)}, {{"source", to}, {"timeout", timeout}});
    g.set_input_grad(0, g.add("tenon.add", {g.output_grad(0), back}));
  }

  void forward(const tenon::Call& call) const { run(call, SingleProcess::get(), HostMemory(call)); }

 protected:
  void run(const tenon::Call& call, Peers& peers, const Memory& memory) const {
    const auto size = call.input_bytes(0);
    if (bytes::input(call, 0) != bytes::output(call, 0))
      memory.copy(bytes::output(call, 0), bytes::input(call, 0), size);
    if (peers.size() == 1) return;
    const int peer = named_rank("to", to, peers.size());
    if (peer == peers.rank())
      throw tenon::Error(tenon::ErrorKind::parameter, "rank ", peer, " cannot send to itself");
    const Transfer transfer{peer, bytes::output(call, 0), size, nullptr, 0};
    peers.exchange(std::span(&transfer, 1), tag_of({5, static_cast<std::int64_t>(size)}),
                   wait_options(call));
  }
};
