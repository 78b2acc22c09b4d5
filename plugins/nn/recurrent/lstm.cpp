// A layer of long short-term memory.
#include "sequence.hpp"

struct Lstm : Recurrent {
  bool input_forget = false;

  static constexpr void describe(auto& op) {
    op.doc(
        "long short-term memory: c = f c + i g(candidate), h = o h(c), step by step, with gates in the order i, o, f, c; it has no "
        "gradient");
    describe_inputs(op, "[directions, 4 hidden, features], the rows of i, o, f and c");
    op.input("initial_c", "the same for the cells").optional();
    op.input("peepholes", "[directions, 3 hidden]: the cells' weights in i, o and f; default: 0").optional();
    describe_outputs(op);
    op.output("last_c", "the last cells of each sample, with initial_h's shape");
    describe_parameters(op);
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
    auto functions = recurrent::functions_of(*this, 3);
    for (std::size_t i = 2; i < functions.size(); i += 3) functions[i].clip = 0;  // of cells: onnxruntime does not clip them
    const auto hidden = call.input_type(2).shape[2];
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      using W = Wide<T>;
      const auto peepholes = recurrent::widened<T>(call, "peepholes");
      const auto step = [&](const recurrent::Matrices<W>& of, std::int64_t way, const W* x, W* h, W* c, W* sums) {
        const auto* const own = &functions[static_cast<std::size_t>(3 * way)];
        const auto rows = 4 * hidden;
        for (std::int64_t k = 0; k < rows; ++k)
          sums[k] = of.bias[static_cast<std::size_t>(k)] + of.recurrent_bias[static_cast<std::size_t>(k)];
        of.add_product(of.weight, x, of.features, 0, rows, sums);
        of.add_product(of.recurrent, h, hidden, 0, rows, sums);
        const W* const peep = peepholes.empty() ? nullptr : peepholes.data() + way * 3 * hidden;
        for (std::int64_t k = 0; k < hidden; ++k) {
          const W i = own[0](sums[k] + (peep ? peep[k] * c[k] : W(0)));
          const W f = input_forget ? 1 - i : own[0](sums[2 * hidden + k] + (peep ? peep[2 * hidden + k] * c[k] : W(0)));
          c[k] = f * c[k] + i * own[1](sums[3 * hidden + k]);
          const W o = own[0](sums[hidden + k] + (peep ? peep[hidden + k] * c[k] : W(0)));
          h[k] = o * own[2](c[k]);
        }
      };
      recurrent::run<T>(*this, call, 4, 4 * hidden, true, step);
    });
  }
};
TENON_OPERATOR(lstm, Lstm)
