// A layer of gated recurrent units.
#include "sequence.hpp"

struct Gru : Recurrent {
  bool linear_before_reset = false;

  static constexpr void describe(auto& op) {
    op.doc("gated recurrent units: h = (1 - z) g(candidate) + z h, step by step, with gates in the order z, r, h; it has no gradient");
    describe_inputs(op, "[directions, 3 hidden, features], the rows of z, r and h");
    describe_outputs(op);
    describe_parameters(op);
    op.param("linear_before_reset", &Gru::linear_before_reset, "r is multiplied with recurrent h + bias, not with h");
    op.example({{"data", {3, 2, 4}}, {"weight", {1, 15, 4}}, {"recurrent", {1, 15, 5}}, {"bias", {1, 30}}});
    describe_onnx(op.onnx("", "GRU")
                      .since(7)
                      .inputs("data", "weight", "recurrent", "bias", "lengths", "initial_h")
                      .outputs("output", "last_h")
                      .attribute("linear_before_reset", "linear_before_reset"));
  }

  void infer(tenon::Infer& io) const { infer_tensors(io, 3, 2); }

  void forward(const tenon::Call& call) const {
    const auto functions = recurrent::functions_of(*this, 2);
    const auto hidden = call.input_type(2).shape[2];
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      using W = Wide<T>;
      const auto step = [&](const recurrent::Matrices<W>& of, std::int64_t way, const W* x, W* h, W*, W* sums) {
        const auto &f = functions[static_cast<std::size_t>(2 * way)], &g = functions[static_cast<std::size_t>(2 * way + 1)];
        const auto size = static_cast<std::size_t>(hidden);
        W *const z = sums, *const r = sums + hidden, *const candidate = r + hidden, *const recurrent = candidate + hidden;
        for (std::size_t k = 0; k < 3 * size; ++k) sums[k] = of.bias[k] + (k < 2 * size ? of.recurrent_bias[k] : W(0));
        of.add_product(of.weight, x, of.features, 0, 3 * hidden, sums);
        of.add_product(of.recurrent, h, hidden, 0, 2 * hidden, sums);
        for (std::int64_t k = 0; k < hidden; ++k) z[k] = f(z[k]), r[k] = f(r[k]);
        std::copy_n(of.recurrent_bias.data() + 2 * hidden, hidden, recurrent);
        if (linear_before_reset) {
          of.add_product(of.recurrent, h, hidden, 2 * hidden, hidden, recurrent);
          for (std::int64_t k = 0; k < hidden; ++k) recurrent[k] *= r[k];
        } else {
          for (std::int64_t k = 0; k < hidden; ++k) r[k] *= h[k];
          of.add_product(of.recurrent, r, hidden, 2 * hidden, hidden, recurrent);
        }
        for (std::int64_t k = 0; k < hidden; ++k) h[k] = (1 - z[k]) * g(candidate[k] + recurrent[k]) + z[k] * h[k];
      };
      recurrent::run<T>(*this, call, 3, 4 * hidden, false, step);
    });
  }
};
TENON_OPERATOR(gru, Gru)
