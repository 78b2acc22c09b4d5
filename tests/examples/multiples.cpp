// gradient() of operators with any number of inputs and outputs; conditions on a parameter; a rule
// between two parameters.
#include <algorithm>
#include <tenon/operator.hpp>
#include <vector>

// x, 2 x, 3 x ..., one output for each multiple.
struct Multiples : tenon::Operator {
  std::int32_t parts = 3;

  static constexpr void describe(auto& op) {
    op.doc("x, 2 x, 3 x ...");
    op.types({tenon::f32});
    op.input("x", "any shape");
    op.output("part", "the shape of x").count(&Multiples::parts);
    op.param("parts", &Multiples::parts, "number of outputs").at_least(1);
  }

  void forward(const tenon::Call& call) const {
    const auto x = call.input<float>(0);
    for (int i = 0; i < call.outputs(); ++i)
      std::transform(x.begin(), x.end(), call.output<float>(i).begin(),
                     [&](float value) { return static_cast<float>(i + 1) * value; });
  }

  // Output i of the multiples of dy is (i + 1) dy. Only the outputs that reach the loss count.
  void gradient(tenon::Gradient& g) const {
    std::vector<tenon::Gradient::Value> terms;
    for (int i = 0; i < g.outputs(); ++i) {
      if (!g.has_output_grad(i)) continue;
      const tenon::Gradient::Value dy = g.output_grad(i);
      std::vector<tenon::Gradient::Value> multiples(static_cast<std::size_t>(i) + 1);
      g.add_outputs("multiples", &dy, 1, multiples.data(), multiples.size(), {{"parts", i + 1}});
      terms.push_back(multiples.back());
    }
    g.set_input_grad(0, g.add("clipped_sum", terms.data(), terms.size()));
  }
};
TENON_OPERATOR(multiples, Multiples)

// The sum of any number of tensors, optionally clipped. Only if it is clipped does backward read
// it.
struct ClippedSum : tenon::Operator {
  bool clip = false;
  float low = -1, high = 1;

  static constexpr void describe(auto& op) {
    op.doc("sum of all parts, clipped to [low, high] if clip is set");
    op.types({tenon::f32});
    op.input("part", "any shape").variadic();
    op.output("sum", "the shape of part0");
    op.param("clip", &ClippedSum::clip, "whether to clip the sum");
    op.param("low", &ClippedSum::low, "lower bound");
    op.param("high", &ClippedSum::high, "upper bound");
    op.require("low", tenon::less_than, "high");
    op.backward_reads("sum").when("clip", true);
    op.example({{"part0", {2, 3}}, {"part1", {2, 3}}}, {{"clip", true}});
  }

  void infer(tenon::Infer& io) const {
    for (int i = 0; i < io.inputs(); ++i) io.set_output(0, io.input(i).shape);
    for (int i = 0; i < io.inputs(); ++i) io.set_input(i, io.output(0).shape);
  }

  void forward(const tenon::Call& call) const {
    const auto sum = call.output<float>(0);
    std::fill(sum.begin(), sum.end(), 0.0f);
    for (int i = 0; i < call.inputs(); ++i) {
      const auto part = call.input<float>(i);
      for (std::int64_t k = 0; k < sum.size(); ++k) sum[k] += part[k];
    }
    if (!clip) return;
    for (float& value : sum) value = std::clamp(value, low, high);
  }

  void backward(const tenon::Call& call) const {
    const auto dy = call.output_grad<float>(0);
    for (int i = 0; i < call.inputs(); ++i) {
      if (call.write(i) == tenon::Write::none) continue;
      const auto dx = call.input_grad<float>(i);
      std::copy(dy.begin(), dy.end(), dx.begin());
      if (!clip) continue;
      const auto sum = call.output_value<float>(0);
      for (std::int64_t k = 0; k < dx.size(); ++k)
        if (sum[k] <= low || sum[k] >= high) dx[k] = 0;
    }
  }
};
TENON_OPERATOR(clipped_sum, ClippedSum)
