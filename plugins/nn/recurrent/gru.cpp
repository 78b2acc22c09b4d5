// A layer of gated recurrent units.
#include "gradient.hpp"

struct Gru : Recurrent {
  bool linear_before_reset = false;

  static constexpr void describe(auto& op) {
    op.doc("gated recurrent units: h = (1 - z) g(candidate) + z h, step by step, with gates in the order z, r, h");
    describe_inputs(op, "[directions, 3 hidden, features], the rows of z, r and h");
    describe_outputs(op);
    describe_parameters(op);
    op.backward_reads("data", "weight", "recurrent", "bias", "lengths", "initial_h");
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
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const Units<Wide<T>> units(*this, call);
      recurrent::run<T>(*this, call, 3, 4 * units.hidden, false, units);
    });
  }

  void backward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const Units<Wide<T>> units(*this, call);
      const auto back = [&](const auto& of, std::int64_t way, const auto& at) { units.back(of, way, at); };
      recurrent::run_back<T>(*this, call, 3, 5 * units.hidden, false, units, back);
    });
  }

 private:
  template <class W>
  struct Units {
    using Matrices = recurrent::Matrices<W>;
    const bool linear_before_reset;
    const std::int64_t hidden;
    std::vector<recurrent::Function> functions;

    Units(const Gru& op, const tenon::Call& call)
        : linear_before_reset(op.linear_before_reset), hidden(call.input_type(2).shape[2]), functions(recurrent::functions_of(op, 2)) {}

    const recurrent::Function& gate(std::int64_t way) const { return functions[static_cast<std::size_t>(2 * way)]; }
    const recurrent::Function& candidate(std::int64_t way) const { return functions[static_cast<std::size_t>(2 * way + 1)]; }

    /// sums: four blocks. The arguments of z and r; the candidate's, but for its product with recurrent; and that product. `reset` gets
    /// what recurrent is multiplied with there: h, or r h.
    void add_sums(const Matrices& of, std::int64_t way, const W* x, const W* h, W* sums, W* reset) const {
      const auto size = static_cast<std::size_t>(hidden);
      W *const r = sums + hidden, *const recurrent = sums + 3 * hidden;
      for (std::size_t k = 0; k < 3 * size; ++k) sums[k] = of.bias[k] + (k < 2 * size ? of.recurrent_bias[k] : W(0));
      of.add_product(of.weight, x, of.features, 0, 3 * hidden, sums);
      of.add_product(of.recurrent, h, hidden, 0, 2 * hidden, sums);
      std::copy_n(of.recurrent_bias.data() + 2 * hidden, hidden, recurrent);
      for (std::int64_t k = 0; k < hidden; ++k) reset[k] = linear_before_reset ? h[k] : gate(way)(r[k]) * h[k];
      of.add_product(of.recurrent, reset, hidden, 2 * hidden, hidden, recurrent);
    }

    void operator()(const Matrices& of, std::int64_t way, const W* x, W* h, W* reset, W* sums) const {
      add_sums(of, way, x, h, sums, reset);  // there is no cell, so that its memory is free
      const W *const r = sums + hidden, *const recurrent = sums + 3 * hidden;
      for (std::int64_t k = 0; k < hidden; ++k) {
        const W z = gate(way)(sums[k]), factor = linear_before_reset ? gate(way)(r[k]) : W(1);
        h[k] = (1 - z) * candidate(way)(sums[2 * hidden + k] + factor * recurrent[k]) + z * h[k];
      }
    }

    void back(const Matrices& of, std::int64_t way, const recurrent::StepBack<W>& at) const {
      W *const sums = at.scratch, *const dreset = sums + 4 * hidden;
      add_sums(of, way, at.x, at.h, sums, at.last_block);
      const W *const in_r = sums + hidden, *const recurrent = sums + 3 * hidden;
      for (std::int64_t k = 0; k < hidden; ++k) {
        const W z = gate(way)(sums[k]), factor = linear_before_reset ? gate(way)(in_r[k]) : W(1);
        const W in = sums[2 * hidden + k] + factor * recurrent[k], d = at.dh[k] * (1 - z) * candidate(way).slope(in);
        at.sums[k] = at.dh[k] * (at.h[k] - candidate(way)(in)) * gate(way).slope(sums[k]);
        at.sums[hidden + k] = d * recurrent[k] * gate(way).slope(in_r[k]);  // where linear_before_reset
        at.sums[2 * hidden + k] = d;
        at.recurrent_sums[2 * hidden + k] = d * factor;
        at.dh[k] *= z;
      }
      std::fill_n(dreset, hidden, W(0));
      of.add_gradient(of.recurrent, at.recurrent_sums + 2 * hidden, hidden, 2 * hidden, hidden, dreset);
      for (std::int64_t k = 0; k < hidden; ++k) {
        if (!linear_before_reset) at.sums[hidden + k] = dreset[k] * at.h[k] * gate(way).slope(in_r[k]);
        at.dh[k] += linear_before_reset ? dreset[k] : dreset[k] * gate(way)(in_r[k]);
      }
      std::copy_n(at.sums, 2 * hidden, at.recurrent_sums);
      of.add_gradient(of.recurrent, at.recurrent_sums, hidden, 0, 2 * hidden, at.dh);
    }
  };
};
TENON_OPERATOR(gru, Gru)
