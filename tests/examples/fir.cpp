// Parameters that are small tensors and lists of texts: a filter whose taps are a parameter, and
// functions selected by name.
#include <tenon/operator.hpp>

// Each output is a weighted sum of neighbouring inputs, y[i] = sum over k of taps[k] x[i + k]. The
// taps are a parameter and not an input, so training does not change them.
struct Fir : tenon::Operator {
  tenon::Table<float> taps;

  static constexpr void describe(auto& op) {
    op.doc("correlation of each row of x with taps, without padding");
    op.types({tenon::f32});
    op.input("x", "[rows, columns]");
    op.output("y", "[rows, columns - taps + 1]");
    op.param("taps", &Fir::taps, "[taps] weights of neighbours").required();
    op.linear("x");
    op.backward_reads();
    op.example({{"x", {2, 5}}}, {{"taps", {1, 2, 1}}});
  }

  void configure() {
    if (taps.rank() != 1 || taps.empty())
      throw tenon::Error("taps are ", taps, " but must be a list of at least one number");
  }

  void infer(tenon::Infer& io) const {
    io.set_input(0, tenon::Shape::of_rank(2));
    const tenon::Shape x = io.input(0).shape;
    const std::int64_t columns = x[1];
    io.require(columns == tenon::unknown || columns >= taps.size(), "x is ", x,
               " but the taps need ", taps.size(), " columns");
    io.set_output(0, {x[0], columns == tenon::unknown ? columns : columns - taps.size() + 1});
  }

  void forward(const tenon::Call& call) const {
    const auto x = call.input<float>(0);
    const auto y = call.output<float>(0);
    for (std::int64_t row = 0; row < y.shape()[0]; ++row)
      for (std::int64_t i = 0; i < y.shape()[1]; ++i) {
        float sum = 0;
        for (std::int64_t k = 0; k < taps.size(); ++k)
          sum += taps[k] * x[row * x.shape()[1] + i + k];
        y[row * y.shape()[1] + i] = sum;
      }
  }

  void backward(const tenon::Call& call) const {
    const auto dy = call.output_grad<float>(0);
    const auto dx = call.input_grad<float>(0);
    for (float& value : dx) value = 0;
    for (std::int64_t row = 0; row < dy.shape()[0]; ++row)
      for (std::int64_t i = 0; i < dy.shape()[1]; ++i)
        for (std::int64_t k = 0; k < taps.size(); ++k)
          dx[row * dx.shape()[1] + i + k] += taps[k] * dy[row * dy.shape()[1] + i];
  }
};
TENON_OPERATOR(fir, Fir)

// Applies functions by name, one after the other: relu, negate, halve.
struct Apply : tenon::Operator {
  tenon::Texts functions = {"relu", "halve"};

  static constexpr void describe(auto& op) {
    op.doc("applies a list of functions to x, in order");
    op.types({tenon::f32});
    op.input("x", "any shape");
    op.output("y", "the shape of x");
    op.param("functions", &Apply::functions, "names of the functions")
        .one_of({"relu", "negate", "halve"});
    op.backward_reads("x");
    op.example({{"x", {2, 3}}}, {{"functions", {"negate", "relu"}}});
  }

  void infer(tenon::Infer& io) const { io.set_output(0, io.input(0).shape); }

  void forward(const tenon::Call& call) const {
    const auto x = call.input<float>(0);
    const auto y = call.output<float>(0);
    for (std::int64_t i = 0; i < x.size(); ++i) y[i] = applied(x[i]).value;
  }
  void backward(const tenon::Call& call) const {
    const auto x = call.input<float>(0);
    const auto dy = call.output_grad<float>(0);
    const auto dx = call.input_grad<float>(0);
    for (std::int64_t i = 0; i < x.size(); ++i) dx[i] = dy[i] * applied(x[i]).slope;
  }

 private:
  struct Point {
    float value, slope;
  };
  Point applied(float x) const {
    Point point{x, 1};
    for (const tenon::Text& function : functions) {
      if (function == "relu") {
        if (!(point.value > 0)) point = {0, 0};
      } else {
        const float factor = function == "negate" ? -1.0f : 0.5f;
        point = {point.value * factor, point.slope * factor};
      }
    }
    return point;
  }
};
TENON_OPERATOR(apply, Apply)

// Composes both operators, and passes its parameters on to them.
struct Smooth : tenon::Operator {
  tenon::Texts functions = {"relu"};
  tenon::Table<float> taps = {0.25f, 0.5f, 0.25f};

  static constexpr void describe(auto& op) {
    op.doc("applies functions to x, then a filter");
    op.types({tenon::f32});
    op.input("x", "[rows, columns]");
    op.output("y", "[rows, columns - taps + 1]");
    op.param("functions", &Smooth::functions, "names of the functions that are applied first");
    op.param("taps", &Smooth::taps, "[taps] weights of neighbours");
    op.example({{"x", {2, 5}}});
  }

  void forward(tenon::Compose& c) const {
    const auto applied = c.add("apply", {c.input("x")}, {{"functions", functions}});
    c.set_output("y", c.add("fir", {applied}, {{"taps", taps}}));
  }
};
TENON_OPERATOR(smooth, Smooth)
