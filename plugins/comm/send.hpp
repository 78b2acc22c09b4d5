// One process's tensor for one other.
#pragma once
#include "collective.hpp"

struct Send : Collective {
  std::int64_t to = 0;

  static constexpr void describe(auto& op) {
    op.doc(
        "sends a tensor to one other process, whose recv gets it, and passes it on; on GPUs, and where it is long, it waits for that recv");
    op.types(tenon::every_type);
    op.input("x", "any shape");
    op.output("y", "x. Its gradient, and what recv's has sent back, make that of x: the loss must depend on y, if only on 0 times its sum");
    op.inplace("x", "y");
    op.backward_reads();
    op.param("to", &Send::to, "the other process's rank").required().at_least(0);
    describe_waiting(op);
    op.example({{"x", {2, 3}}}, {{"to", 0}});
  }

  void infer(tenon::Infer& io) const { io.require_same_shape("x", "y"); }

  void gradient(tenon::Gradient& g) const {
    const auto back = g.add("tenon.recv", {g.output_grad(0)}, {{"source", to}, {"timeout", timeout}});
    g.set_input_grad(0, g.add("tenon.add", {g.output_grad(0), back}));
  }

  void forward(const tenon::Call& call) const { run(call, Alone::get(), HostMemory(call)); }

 protected:
  void run(const tenon::Call& call, Peers& peers, const Memory& memory) const {
    const auto size = call.input_bytes(0);
    if (bytes::input(call, 0) != bytes::output(call, 0)) memory.copy(bytes::output(call, 0), bytes::input(call, 0), size);
    if (peers.size() == 1) return;
    const int peer = named_rank("to", to, peers.size());
    if (peer == peers.rank()) throw tenon::Error(tenon::ErrorKind::parameter, "rank ", peer, " cannot send to itself");
    const Transfer transfer{peer, bytes::output(call, 0), size, nullptr, 0};
    peers.exchange(std::span(&transfer, 1), tag_of({5, static_cast<std::int64_t>(size)}), patience(call));
  }
};
