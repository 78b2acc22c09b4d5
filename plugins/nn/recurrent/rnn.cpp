// A plain recurrent layer.
#include "sequence.hpp"

struct Rnn : Recurrent {
  constexpr Rnn() { activations = {"Tanh", "Tanh"}; }  // as ONNX has it; the first direction takes the first

  static constexpr void describe(auto& op) {
    op.doc("recurrent layer: h = f(weight x + recurrent h + bias), step by step; it has no gradient");
    describe_inputs(op, "[directions, hidden, features]");
    describe_outputs(op);
    describe_parameters(op);
    op.example({{"data", {3, 2, 4}}, {"weight", {1, 5, 4}}, {"recurrent", {1, 5, 5}}, {"bias", {1, 10}}});
    describe_onnx(
        op.onnx("", "RNN").since(7).inputs("data", "weight", "recurrent", "bias", "lengths", "initial_h").outputs("output", "last_h"));
  }

  void infer(tenon::Infer& io) const { infer_tensors(io, 1, 1); }

  void forward(const tenon::Call& call) const {
    const auto functions = recurrent::functions_of(*this, 1);
    const auto hidden = call.input_type(2).shape[2];
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      using W = Wide<T>;
      const auto step = [&](const recurrent::Matrices<W>& of, std::int64_t way, const W* x, W* h, W*, W* sums) {
        for (std::int64_t k = 0; k < hidden; ++k)
          sums[k] = of.bias[static_cast<std::size_t>(k)] + of.recurrent_bias[static_cast<std::size_t>(k)];
        of.add_product(of.weight, x, of.features, 0, hidden, sums);
        of.add_product(of.recurrent, h, hidden, 0, hidden, sums);
        for (std::int64_t k = 0; k < hidden; ++k) h[k] = functions[static_cast<std::size_t>(way)](sums[k]);
      };
      recurrent::run<T>(*this, call, 1, hidden, false, step);
    });
  }
};
TENON_OPERATOR(rnn, Rnn)
