// Gradients of gradients of classes defined in tests, without plugins. tests/plugins has those of
// the bundled operators.
#include <doctest/doctest.h>

#include <cmath>
#include <tenon/host/session.hpp>
#include <tenon/host/udf.hpp>

#include "application_host.hpp"
#include "check_says.hpp"
#include "failure_of.hpp"

using namespace tenon;

namespace {

/// By dual numbers only.
struct Wave : Elementwise {
  float speed = 1;
  static constexpr void describe(auto& op) {
    op.doc("sin(speed * x)");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.param("speed", &Wave::speed, "factor");
  }
  template <class T>
  TENON_FN T operator()(T x) const {
    return sin(T(speed) * x);
  }
};

/// With a member that is not a parameter.
struct Scaled : Elementwise {
  double scale = 1;
  static constexpr void describe(auto& op) {
    op.doc("scale * x^3");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
  }
  template <class T>
  TENON_FN T operator()(T x) const {
    return T(scale) * x * x * x;
  }
};

/// Two inputs that broadcast: d/dl = 2 l r + 1, d/dr = l^2.
struct SquareTimes : Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("l * l * r + l");
    op.input("l", "any shape");
    op.input("r", "a shape that broadcasts with that of l");
    op.output("y", "both broadcast");
  }
  template <class T>
  TENON_FN T operator()(T l, T r) const {
    return l * l * r + l;
  }
};

/// A gradient of the output that accepts duals.
struct Growth : Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("exp(2 x)");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.gradient_of_duals();
  }
  template <class T>
  TENON_FN T operator()(T x) const {
    return exp(T(2) * x);
  }
  template <class T>
  TENON_FN T gradient(T dy, OutputOf<T> y) const {
    return T(2) * dy * T(y);
  }
};

/// And one of two inputs.
struct OwnProduct : Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("l * l * r");
    op.input("l", "any shape");
    op.input("r", "a shape that broadcasts with that of l");
    op.output("y", "both broadcast");
    op.gradient_of_duals();
  }
  template <class T>
  TENON_FN T operator()(T l, T r) const {
    return l * l * r;
  }
  template <class T>
  TENON_FN Pair<T> gradient(T dy, InputOf<T> l, InputOf<T> r) const {
    return {T(2) * dy * T(l) * T(r), dy * T(l) * T(l)};
  }
};

/// Has a gradient for numbers only: std::exp does not accept duals.
struct NumbersOnly : Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("exp(x)");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
  }
  template <class T>
  TENON_FN T operator()(T x) const {
    return exp(x);
  }
  template <class T>
  TENON_FN T gradient(T dy, InputOf<T> x) const {
    return dy * std::exp(T(x));
  }
};

/// l . r + bias, by kernels only.
struct Affine : Operator {
  static constexpr void describe(auto& op) {
    op.doc("l . r + bias");
    op.types({f64});
    op.input("l", "[n]");
    op.input("r", "[n]");
    op.input("bias", "0-d").optional();
    op.output("y", "0-d");
    op.linear("l", "r");
    op.linear("bias");
    op.backward_reads("l", "r");
  }
  void infer(Infer& io) const { io.set_output(0, Shape::scalar()); }
  void forward(const Call& call) const {
    double sum = call.has_input(2) ? *call.input<double>(2).data() : 0;
    for (std::int64_t i = 0; i < call.input<double>(0).size(); ++i)
      sum += call.input<double>(0)[i] * call.input<double>(1)[i];
    *call.output<double>(0).data() = sum;
  }
  void backward(const Call& call) const {
    const double dy = *call.output_grad<double>(0).data();
    for (const int i : {0, 1})
      if (call.write(i) != Write::none)
        for (std::int64_t k = 0; k < call.input<double>(0).size(); ++k)
          call.input_grad<double>(i)[k] = dy * call.input<double>(1 - i)[k];
    if (call.inputs() > 2 && call.write(2) != Write::none) *call.input_grad<double>(2).data() = dy;
  }
};

/// A kernel only.
struct KernelOnly : Operator {
  static constexpr void describe(auto& op) {
    op.doc("x^3");
    op.types({f64});
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.output("square", "x^2").hidden();
    op.backward_reads("square");
  }
  void forward(const Call& call) const {
    for (std::int64_t i = 0; i < call.input<double>(0).size(); ++i) {
      const double x = call.input<double>(0)[i];
      call.output<double>(0)[i] = x * x * x;
      if (call.write(1) != Write::none) call.output<double>(1)[i] = x * x;
    }
  }
  void backward(const Call& call) const {
    for (std::int64_t i = 0; i < call.output_grad<double>(0).size(); ++i)
      call.input_grad<double>(0)[i] =
          3 * call.output_grad<double>(0)[i] * call.output_value<double>(1)[i];
  }
};

/// And the same gradient as a graph.
struct CubeKernel : KernelOnly {
  void gradient(Gradient& g) const {
    const auto x = g.input(0), three = g.add("fill_like", {x}, {{"value", 3.0}});
    g.set_input_grad(0, g.add("mul_gradients", {g.add("mul_gradients", {g.output_grad(0), three}),
                                                g.add("mul_gradients", {x, x})}));
  }
};

/// Its graph reads what no kernel differentiates.
struct HiddenCube : KernelOnly {
  void gradient(Gradient& g) const {
    const auto three = g.add("fill_like", {g.input(0)}, {{"value", 3.0}});
    g.set_input_grad(0, g.add("mul_gradients",
                              {g.add("mul_gradients", {g.output_grad(0), three}), g.output(1)}));
  }
};

/// x + slope^2, without a derivative by slope.
struct Offset : Operator {
  static constexpr void describe(auto& op) {
    op.doc("x + slope^2");
    op.types({f64});
    op.input("x", "0-d");
    op.input("slope", "0-d");
    op.output("y", "0-d");
    op.linear("x");
  }
  void forward(const Call& call) const {
    const double slope = *call.input<double>(1).data();
    *call.output<double>(0).data() = *call.input<double>(0).data() + slope * slope;
  }
  void backward(const Call& call) const {
    const double dy = *call.output_grad<double>(0).data();
    if (call.write(0) != Write::none) *call.input_grad<double>(0).data() = dy;
    if (call.write(1) != Write::none)
      *call.input_grad<double>(1).data() = 2 * dy * *call.input<double>(1).data();
  }
};

struct SecondHost : ApplicationHost {
  SecondHost() {
    add<Offset>();
    add<Wave>();
    add<SquareTimes>();
    add<Growth>();
    add<OwnProduct>();
    add<NumbersOnly>();
    add<Affine>();
    add<CubeKernel>("cube");
    add<HiddenCube>();
    add<KernelOnly>();
  }
};

std::vector<double> doubles_of(const Tensor& tensor) {
  std::vector<double> found;
  visit<floating>(tensor.dtype(), [&]<class T>() {
    for (const T value : tensor.values<T>()) found.push_back(static_cast<double>(value));
  });
  return found;
}

Tensor filled(DType dtype, const std::vector<double>& values, const Shape& shape) {
  const auto tensor = Tensor::empty(dtype, shape);
  visit<floating>(dtype, [&]<class T>() {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if constexpr (std::is_same_v<T, double>)
        tensor.data<T>()[i] = values[i];
      else
        tensor.data<T>()[i] = static_cast<T>(static_cast<float>(values[i]));
    }
  });
  return tensor;
}

/// y, y', y'' ... of an operator of one input, at these points.
std::vector<std::vector<double>> derivatives(Host& host, const std::string& op,
                                             const Attributes& attributes, const Tensor& x,
                                             int order) {
  Graph graph(host);
  const auto input = graph.input("x", x.dtype(), x.shape());
  auto value = graph.add(op, {input}, attributes);
  for (int i = 0; i <= order; ++i) {
    graph.output(std::to_string(i), value);
    if (i < order) value = graph.gradient(value, {input})[0];
  }
  const auto found = Session(graph).run({{"x", x}});
  std::vector<std::vector<double>> all;
  for (int i = 0; i <= order; ++i) all.push_back(doubles_of(found.at(std::to_string(i))));
  return all;
}

const std::vector<double> places{-1.5, -0.25, 0, 0.5, 2};

}  // namespace

TEST_CASE("second derivative: of a function by nested duals, in every floating-point dtype") {
  SecondHost host;
  for (const auto& each : {std::pair(f16, 4e-3), {bf16, 3e-2}, {f32, 1e-6}, {f64, 1e-14}}) {
    const auto [dtype, tolerance] = each;
    CAPTURE(each.first);
    const auto found =
        derivatives(host, "wave", {{"speed", 2.0}}, filled(dtype, places, {5}), 2)[2];
    for (std::size_t i = 0; i < places.size(); ++i)
      CHECK(std::abs(found[i] + 4 * std::sin(2 * places[i])) <= 4 * tolerance);
  }
}

TEST_CASE("second derivative: of an author's gradient that accepts duals") {
  SecondHost host;
  const auto found = derivatives(host, "growth", {}, filled(f64, places, {5}), 2);
  for (std::size_t i = 0; i < places.size(); ++i)
    CHECK(found[2][i] == doctest::Approx(4 * std::exp(2 * places[i])).epsilon(1e-14));
}

TEST_CASE("second derivative: of two inputs that broadcast, with shapes known beforehand or not") {
  SecondHost host;
  for (const char* op : {"square_times", "own_product"})
    for (const std::int64_t rows : {2, -1}) {
      CAPTURE(op);
      CAPTURE(rows);
      const double linear = std::string(op) == "square_times" ? 1 : 0;
      Graph graph(host);
      const auto l = graph.input("l", f64, {rows, 3}), r = graph.input("r", f64, {rows, 1});
      const auto first = graph.gradient(graph.add(op, {l, r}), {l, r});
      graph.output("l", first[0]);
      for (const int i : {0, 1}) {
        const auto second = graph.gradient(first[static_cast<std::size_t>(i)], {l, r});
        graph.output(i == 0 ? "ll" : "rl", second[0]);
        if (i == 0) graph.output("lr", second[1]);
        CHECK(second[1].empty() == false);
        graph.output(i == 0 ? "l_again" : "rr", second[1]);
      }
      const auto found = Session(graph).run(
          {{"l", filled(f64, {1, 2, 3, 4, 5, 6}, {2, 3})}, {"r", filled(f64, {0.5, -2}, {2, 1})}});
      using List = std::vector<double>;
      CHECK(doubles_of(found.at("l")) ==
            List{1 + linear, 2 + linear, 3 + linear, -16 + linear, -20 + linear, -24 + linear});
      CHECK(doubles_of(found.at("ll")) == List{1, 1, 1, -4, -4, -4});
      CHECK(doubles_of(found.at("lr")) == List{12, 30});  // the sum of 2 l over each row
      CHECK(doubles_of(found.at("rl")) == List{2, 4, 6, 8, 10, 12});
      CHECK(doubles_of(found.at("rr")) == List{0, 0});
    }
}

TEST_CASE(
    "second derivative: of a dot product plus offset, from its kernels, any number of times") {
  SecondHost host;
  Graph graph(host);
  const auto x = graph.input("x", f64, {2});
  const auto bias = graph.input("bias", f64, Shape::scalar());
  // (x . x + bias)^2, by the operator itself: with s = x . x + bias, the gradient is 4 s x, and the
  // Hessian 4 s I + 8 x x^T.
  const auto s = graph.add("affine", {x, x, bias});
  const auto square = graph.add("mul_gradients", {s, s});
  const auto first = graph.gradient(square, {x, bias});
  graph.output("first", first[0]);
  const auto direction = graph.constant("direction", filled(f64, {1, -1}, {2}));
  const auto along = graph.add("affine", {first[0], direction});
  const auto second = graph.gradient(along, {x, bias});
  graph.output("second", second[0]);
  graph.output("mixed", second[1]);
  // The third derivative along the direction v: 16 (x . v) v + 8 (v . v) x.
  const auto third = graph.gradient(graph.add("affine", {second[0], direction}), {x});
  graph.output("third", third[0]);
  const auto found = Session(graph).run(
      {{"x", filled(f64, {2, 1}, {2})}, {"bias", filled(f64, {0.5}, Shape::scalar())}});
  using List = std::vector<double>;
  CHECK(doubles_of(found.at("first")) == List{44, 22});                            // s = 5.5
  CHECK(doubles_of(found.at("second")) == List{22 + 8 * 2 * 1, -22 + 8 * 1 * 1});  // x . v = 1
  CHECK(doubles_of(found.at("mixed")) == List{4});                                 // 4 x . v
  CHECK(doubles_of(found.at("third")) == List{16 + 32, -16 + 16});
}

TEST_CASE("second derivative: by gradient() if backward() gives the first") {
  SecondHost host;
  const auto found = derivatives(host, "cube", {}, filled(f64, places, {5}), 3);
  for (std::size_t i = 0; i < places.size(); ++i) {
    CHECK(found[1][i] == doctest::Approx(3 * places[i] * places[i]));
    CHECK(found[2][i] == doctest::Approx(6 * places[i]));
    CHECK(found[3][i] == doctest::Approx(6));
  }
}

TEST_CASE("second derivative: through values that backward recomputes") {
  SecondHost host;
  Graph graph(host);
  const auto x = graph.input("x", f64, {5});
  const auto wave = graph.add("wave", {x}, {}, "wave");
  const auto y = graph.add("growth", {graph.add("mul_gradients", {wave, wave})}, {}, "growth");
  GradientOptions again;
  again.recompute = {wave};
  const auto first = graph.gradient(y, {x}, again)[0];
  graph.output("second", graph.gradient(first, {x})[0]);
  const auto found = doubles_of(Session(graph).run({{"x", filled(f64, places, {5})}}).at("second"));
  for (std::size_t i = 0; i < places.size(); ++i) {
    const double s = std::sin(places[i]), c = std::cos(places[i]);
    CHECK(found[i] ==
          doctest::Approx(std::exp(2 * s * s) * (16 * s * s * c * c + 4 * (c * c - s * s)))
              .epsilon(1e-13));
  }
}

TEST_CASE("second derivative: of the object that was passed to the graph") {
  SecondHost host;
  Graph graph(host);
  const auto x = graph.input("x", f64, {5});
  Scaled scaled;
  scaled.scale = 3;
  graph.output("second", graph.gradient(graph.gradient(graph.udf(scaled, {x}), {x})[0], {x})[0]);
  const auto found = doubles_of(Session(graph).run({{"x", filled(f64, places, {5})}}).at("second"));
  for (std::size_t i = 0; i < places.size(); ++i)
    CHECK(found[i] == doctest::Approx(18 * places[i]));
}

TEST_CASE("second derivative: a missing one is refused with the path to it") {
  SecondHost host;
  const auto refused = [&](const std::string& op, int order) {
    return failure_of([&] { derivatives(host, op, {}, filled(f64, places, {5}), order); });
  };
  for (const auto& [op, order, message, hint] :
       {std::tuple(
            "kernel_only", 2,
            "[kernel_only backward] node 'kernel_only_backward': cannot be differentiated again, "
            "but 'kernel_only:1' reaches the loss "
            "through it: kernel_only_backward",
            "declare op.linear(), or give the operator a gradient() in addition to its backward()"),
        {"numbers_only", 2,
         "[numbers_only backward] node 'numbers_only_backward': cannot be differentiated again, "
         "but 'x' reaches the loss through it: "
         "numbers_only_backward",
         "an elementwise operator needs SDK 0.2 or later, and op.gradient_of_duals() if it has its "
         "own gradient()"},
        {"wave", 3, "", "elementwise operators have first and second derivatives, but no third"},
        {"hidden_cube", 2,
         "[hidden_cube] node 'hidden_cube': its hidden output 'square' reaches the loss, but has "
         "no gradient",
         "put stop_gradient after it, or compute it from the inputs"}}) {
    const auto failure = refused(op, order);
    CHECK(failure.kind == 1);
    if (*message) CHECK(failure.message == message);
    CHECK(failure.hint == hint);
  }
}

TEST_CASE("second derivative: terms that omit a floating-point input are refused") {
  SecondHost host;
  Graph graph(host);
  const auto x = graph.input("x", f64, Shape::scalar()),
             slope = graph.input("slope", f64, Shape::scalar());
  const auto first = graph.gradient(graph.add("offset", {x, slope}), {slope})[0];
  const auto failure = failure_of([&] { graph.gradient(first, {slope}); });
  check_says(failure.message,
             {"[offset backward] node 'offset_backward':", "cannot be differentiated again",
              "'slope' reaches the loss through it", "offset_backward -> offset_backward:1"});
  CHECK(failure.hint == "op.linear() does not name input 'slope'");
}

TEST_CASE("parameter derivative: an elementwise operator computes its derivative") {
  SecondHost host;
  const auto x = filled(f32, places, {5});
  const auto slope = doubles_of(host.call("wave", {x}, {{"speed", 2.0}, {"derivative", 0}}));
  for (std::size_t i = 0; i < places.size(); ++i)
    CHECK(slope[i] == doctest::Approx(2 * std::cos(2 * places[i])).epsilon(1e-6));
  const auto message = [&](const std::string& op, const std::vector<Tensor>& inputs,
                           const AttributeValue& by) {
    return failure_of([&] { host.call(op, inputs, {{"derivative", by}}); }).message;
  };
  CHECK(message("wave", {x}, 1) == "[wave] parameter 'derivative' is 1 but must be at most 0");
  CHECK(message("wave", {x}, -1) == "[wave] parameter 'derivative' is -1 but must be at least 0");
  CHECK(message("wave", {x}, 0.5) == "[wave] parameter 'derivative' is 0.5 but must be an integer");
  CHECK(message("numbers_only", {x}, 0) == "[numbers_only] unknown parameter 'derivative'");
}

TEST_CASE("second derivative: saved and loaded, as a file and as text") {
  SecondHost host;
  Graph graph(host);
  const auto x = graph.input("x", f64, {5});
  const auto first = graph.gradient(graph.add("wave", {x}, {{"speed", 2.0}}), {x})[0];
  graph.output("second", graph.gradient(first, {x})[0]);
  const auto at = filled(f64, places, {5});
  const auto before = doubles_of(Session(graph).run({{"x", at}}).at("second"));
  const auto file = Graph::from_bytes(host, graph.to_bytes()),
             text = Graph::from_json(host, graph.to_json());
  CHECK(doubles_of(Session(file).run({{"x", at}}).at("second")) == before);
  CHECK(doubles_of(Session(text).run({{"x", at}}).at("second")) == before);
}
