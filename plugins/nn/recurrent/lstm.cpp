// A layer of long short-term memory.
#include "gradient.hpp"

struct Lstm : Recurrent {
  bool input_forget = false;

  static constexpr void describe(auto& op) {
    op.doc("long short-term memory: c = f c + i g(candidate), h = o h(c), step by step, with gates in the order i, o, f, c");
    describe_inputs(op, "[directions, 4 hidden, features], the rows of i, o, f and c");
    op.input("initial_c", "the same for the cells").optional();
    op.input("peepholes", "[directions, 3 hidden]: the cells' weights in i, o and f; default: 0").optional();
    describe_outputs(op);
    op.output("last_c", "the last cells of each sample, with initial_h's shape");
    describe_parameters(op);
    op.backward_reads("data", "weight", "recurrent", "bias", "lengths", "initial_h", "initial_c", "peepholes");
    op.param("input_forget", &Lstm::input_forget, "f is 1 - i");
    op.example({{"data", {3, 2, 4}}, {"weight", {1, 20, 4}}, {"recurrent", {1, 20, 5}}, {"bias", {1, 40}}});
    describe_onnx(op.onnx("", "LSTM")
                      .since(7)
                      .inputs("data", "weight", "recurrent", "bias", "lengths", "initial_h", "initial_c", "peepholes")
                      .outputs("output", "last_h", "last_c")
                      .attribute("input_forget", "input_forget"));
  }

  void infer(tenon::Infer& io) const {
    infer_tensors(io, 4, 3);
    const auto state = io.output(1).shape;
    io.set_output(2, state);
    if (!state.has_rank()) return;
    if (io.has_input("initial_c")) require_fit(io, "initial_c", state);
    const auto hidden = state[2];
    if (io.has_input("peepholes")) require_fit(io, "peepholes", {directions(), hidden == tenon::unknown ? hidden : 3 * hidden});
  }

  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const Cells<T> cells(*this, call);
      recurrent::run<T>(*this, call, 4, 4 * cells.hidden, true, cells);
    });
  }

  void backward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const Cells<T> cells(*this, call);
      const auto back = [&](const auto& of, std::int64_t way, const auto& at) { cells.back(of, way, at); };
      recurrent::run_back<T>(*this, call, 4, 4 * cells.hidden, true, cells, back, "peepholes", 3 * cells.hidden);
    });
  }

 private:
  template <class T>
  struct Cells {
    using W = Wide<T>;
    using Matrices = recurrent::Matrices<W>;
    const bool input_forget;
    const std::int64_t hidden;
    std::vector<recurrent::Function> functions;
    std::vector<W> peepholes;

    Cells(const Lstm& op, const tenon::Call& call)
        : input_forget(op.input_forget),
          hidden(call.input_type(2).shape[2]),
          functions(recurrent::functions_of(op, 3)),
          peepholes(recurrent::widened<T>(call, "peepholes")) {
      for (std::size_t i = 2; i < functions.size(); i += 3) functions[i].clip = 0;  // of cells: onnxruntime does not clip them
    }

    /// The four sums of products of a step.
    void add_sums(const Matrices& of, const W* x, const W* h, W* sums) const {
      for (std::size_t k = 0; k < static_cast<std::size_t>(of.rows); ++k) sums[k] = of.bias[k] + of.recurrent_bias[k];
      of.add_product(of.weight, x, of.features, 0, of.rows, sums);
      of.add_product(of.recurrent, h, hidden, 0, of.rows, sums);
    }
    /// What the gate reads of the cell: 0 is i, 1 is o, 2 is f.
    W peephole(std::int64_t way, std::int64_t gate, std::int64_t k) const {
      return peepholes.empty() ? W(0) : peepholes[static_cast<std::size_t>((way * 3 + gate) * hidden + k)];
    }

    void operator()(const Matrices& of, std::int64_t way, const W* x, W* h, W* c, W* sums) const {
      const auto* const own = &functions[static_cast<std::size_t>(3 * way)];
      add_sums(of, x, h, sums);
      for (std::int64_t k = 0; k < hidden; ++k) {
        const W i = own[0](sums[k] + peephole(way, 0, k) * c[k]);
        const W f = input_forget ? 1 - i : own[0](sums[2 * hidden + k] + peephole(way, 2, k) * c[k]);
        c[k] = f * c[k] + i * own[1](sums[3 * hidden + k]);
        const W o = own[0](sums[hidden + k] + peephole(way, 1, k) * c[k]);
        h[k] = o * own[2](c[k]);
      }
    }

    void back(const Matrices& of, std::int64_t way, const recurrent::StepBack<W>& at) const {
      const auto* const own = &functions[static_cast<std::size_t>(3 * way)];
      add_sums(of, at.x, at.h, at.scratch);
      for (std::int64_t k = 0; k < hidden; ++k) {
        const W before = at.c[k];
        const W in = at.scratch[k] + peephole(way, 0, k) * before, in_f = at.scratch[2 * hidden + k] + peephole(way, 2, k) * before;
        const W i = own[0](in), f = input_forget ? 1 - i : own[0](in_f), g = own[1](at.scratch[3 * hidden + k]);
        const W c = f * before + i * g, in_o = at.scratch[hidden + k] + peephole(way, 1, k) * c;
        const W d_o = at.dh[k] * own[2](c) * own[0].slope(in_o);
        const W dc = at.dc[k] + at.dh[k] * own[0](in_o) * own[2].slope(c) + d_o * peephole(way, 1, k), df = dc * before;
        const W d_i = (dc * g - (input_forget ? df : W(0))) * own[0].slope(in), d_f = input_forget ? W(0) : df * own[0].slope(in_f);
        at.sums[k] = d_i, at.sums[hidden + k] = d_o, at.sums[2 * hidden + k] = d_f;
        at.sums[3 * hidden + k] = dc * i * own[1].slope(at.scratch[3 * hidden + k]);
        at.dc[k] = dc * f + d_i * peephole(way, 0, k) + d_f * peephole(way, 2, k);
        at.extra[k] += d_i * before, at.extra[hidden + k] += d_o * c, at.extra[2 * hidden + k] += d_f * before;
      }
      std::copy_n(at.sums, of.rows, at.recurrent_sums);
      std::fill_n(at.dh, hidden, W(0));
      of.add_gradient(of.recurrent, at.sums, hidden, 0, of.rows, at.dh);
    }
  };
};
TENON_OPERATOR(lstm, Lstm)
