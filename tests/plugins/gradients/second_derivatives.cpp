// Second derivatives of the bundled operators against central differences of their first gradients,
// which other files compare with differences of forward.
#include <doctest/doctest.h>

#include <tenon/host/graph.hpp>
#include <tenon/host/session.hpp>

#include "built.hpp"
#include "failure_of.hpp"
#include "plugins/numbers.hpp"

using namespace plugin_tests;

namespace {

struct SecondRow {
  std::string op;
  Attributes attributes;
  std::vector<Tensor> inputs;
  bool training = false;
};

Tensor doubles_between(const Shape& shape, double low = -2, double high = 2, unsigned seed = 3) {
  return arbitrary(tenon::f64, shape, low, high, seed);
}
Tensor floats_between(const Shape& shape, double low = -2, double high = 2, unsigned seed = 3) {
  return arbitrary(tenon::f32, shape, low, high, seed);
}

/// The first gradients of a node, multiplied by constants and summed, and the gradient of that with
/// respect to the inputs and the output's gradient.
class Twice {
 public:
  /// known: whether the graph has the inputs' shapes, or only their ranks.
  explicit Twice(const SecondRow& row, bool known = true, tenon::Host& host = plugin_tests::host())
      : graph_(host) {
    std::vector<tenon::Value> inputs;
    for (std::size_t i = 0; i < row.inputs.size(); ++i) {
      const auto name = "x" + std::to_string(i);
      const auto& tensor = row.inputs[i];
      if (!tenon::floating.has(tensor.dtype())) {
        inputs.push_back(graph_.constant(name, tensor));
        continue;
      }
      inputs.push_back(graph_.input(
          name, tensor.dtype(), known ? tensor.shape() : Shape::of_rank(tensor.shape().rank())));
      feed(name, inputs.back(), tensor);
    }
    const auto y = graph_.add(row.op, inputs, row.attributes, "y");
    const auto output = host.call(row.op, row.inputs, row.attributes);
    const auto seed = arbitrary(output.dtype(), output.shape(), -1, 1, 17);
    const auto dy = graph_.input("dy", output.dtype(), graph_.shape(y));
    tenon::GradientOptions seeded;
    seeded.seed = dy;
    const auto first = graph_.gradient(y, wrt_, seeded);
    feed("dy", dy, seed);
    tenon::Value total;
    for (std::size_t i = 0; i < first.size(); ++i) {
      REQUIRE(!first[i].empty());
      const auto weights =
          graph_.constant("v" + std::to_string(i),
                          arbitrary(feeds_.at(names_[i]).dtype(), feeds_.at(names_[i]).shape(), -1,
                                    1, 40 + unsigned(i)));
      const auto term = graph_.add("sum", {graph_.add("mul", {first[i], weights})});
      total = !total.empty() ? graph_.add("add", {total, term}) : term;
    }
    graph_.output("total", total);
    const auto second = graph_.gradient(total, wrt_);
    for (std::size_t i = 0; i < second.size(); ++i)
      if (!second[i].empty()) graph_.output("second" + std::to_string(i), second[i]);
    tenon::SessionOptions options;
    options.training = row.training;
    session_.emplace(graph_, options);
  }

  void check(double step, double tolerance) {
    const auto found = values();
    for (std::size_t i = 0; i < names_.size(); ++i) {
      Doubles expected;
      for (std::size_t element = 0; element < found[i].size(); ++element)
        expected.push_back(difference(names_[i], element, step));
      CAPTURE(names_[i]);
      const auto& at = feeds_.at(names_[i]);
      check_near(tensor(at.dtype(), at.shape(), found[i]), at.dtype(), at.shape(), expected,
                 tolerance);
    }
  }

  /// The second derivatives with respect to each of the inputs and the output's gradient.
  std::vector<Doubles> values() {
    const auto found = session_->run(feeds_);
    std::vector<Doubles> all;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const auto second = found.find("second" + std::to_string(i));
      all.push_back(second == found.end()
                        ? Doubles(static_cast<std::size_t>(feeds_.at(names_[i]).size()))
                        : doubles(second->second));
    }
    return all;
  }

 private:
  void feed(const std::string& name, tenon::Value value, const Tensor& tensor) {
    names_.push_back(name), wrt_.push_back(value), feeds_[name] = tensor;
  }
  double total_at(const std::string& name, std::size_t element, double change) {
    auto feeds = feeds_;
    auto values = doubles(feeds.at(name));
    values[element] += change;
    feeds.at(name) = tensor(feeds.at(name).dtype(), feeds.at(name).shape(), values);
    return doubles(session_->run(feeds).at("total"))[0];
  }
  double difference(const std::string& name, std::size_t element, double step) {
    return (total_at(name, element, step) - total_at(name, element, -step)) / (2 * step);
  }

  tenon::Graph graph_;
  std::vector<std::string> names_;
  std::vector<tenon::Value> wrt_;
  std::map<std::string, Tensor> feeds_;
  std::optional<tenon::Session> session_;
};

/// Compares with narrower dtypes, in a graph without known sizes if it does not need them. A second
/// derivative takes some twenty operations, each of which rounds.
void check_other_dtypes(const SecondRow& row) {
  for (const auto dtype : {tenon::f16, tenon::f32, tenon::f64}) {
    const bool wide_only = row.op == "matmul" || row.op == "fully_connected";
    if (row.op == "cast" || (wide_only && dtype == tenon::f16)) continue;
    SecondRow exact = row, rounded = row;
    for (std::size_t i = 0; i < row.inputs.size(); ++i) {
      if (row.inputs[i].dtype() != tenon::f64) continue;
      rounded.inputs[i] = tensor(dtype, row.inputs[i].shape(), doubles(row.inputs[i]));
      exact.inputs[i] = tensor(tenon::f64, row.inputs[i].shape(), doubles(rounded.inputs[i]));
    }
    CAPTURE(dtype);
    const auto found = Twice(rounded, row.op == "softmax_cross_entropy").values(),
               expected = Twice(exact).values();
    for (std::size_t i = 0; i < found.size(); ++i)
      for (std::size_t k = 0; k < found[i].size(); ++k)
        CHECK(std::abs(found[i][k] - expected[i][k]) <=
              100 * epsilon(dtype) * std::max(1.0, std::abs(expected[i][k])));
  }
}

/// In double: a step of 1e-4 has a truncation error of about 1e-8 times the fourth derivative, and
/// a rounding error of 1e-12.
void check_twice(const std::vector<SecondRow>& rows) {
  for (const auto& row : rows) {
    CAPTURE(row.op);
    CAPTURE(row.inputs[0].shape().rank());
    Twice(row).check(1e-4, 1e-6);
    check_other_dtypes(row);
  }
}

/// For float32-only operators, which are all linear in each input: differences with any step are
/// exact up to rounding.
void check_twice_in_float(const std::vector<SecondRow>& rows) {
  for (const auto& row : rows) {
    CAPTURE(row.op);
    Twice(row).check(0.5, 2e-4);
  }
}

}  // namespace

TEST_CASE("second derivatives of elementwise operators, with broadcasting") {
  const auto x = doubles_between({3, 5}), positive = doubles_between({3, 5}, 0.4, 3);
  check_twice({{"abs", {}, {x}},
               {"add", {}, {x, doubles_between({5})}},
               {"cast", {{"dtype", "float64"}}, {x}},
               {"clip", {{"low", -1.0}, {"high", 1.0}}, {x}},
               {"cos", {}, {x}},
               {"cosine", {{"scale", 1.5}}, {x}},
               {"div", {}, {x, doubles_between({3, 1}, 0.5, 2, 4)}},
               {"erf", {}, {x}},
               {"exp", {}, {x}},
               {"gelu", {}, {x}},
               {"leaky_relu", {{"slope", 0.25}}, {x}},
               {"log", {}, {positive}},
               {"maximum", {}, {x, doubles_between({2, 1, 5}, -2, 2, 5)}},
               {"minimum", {}, {x, doubles_between({5}, -2, 2, 5)}},
               {"mul", {}, {x, doubles_between({2, 3, 1}, -2, 2, 6)}},
               {"neg", {}, {x}},
               {"pow", {}, {positive, doubles_between({5}, -2, 3, 7)}},
               {"quadratic", {{"a", 0.5}, {"b", -1.0}}, {x}},
               {"relu", {}, {x}},
               {"rsqrt", {}, {positive}},
               {"sigmoid", {}, {x}},
               {"sin", {}, {x}},
               {"smooth_l1", {{"sigma", 0.8}}, {x}},
               {"softplus", {}, {x}},
               {"sqrt", {}, {positive}},
               {"square", {}, {x}},
               {"sub", {}, {doubles_between({1, 5}), x}},
               {"tanh", {}, {x}},
               {"where",
                {},
                {arbitrary(tenon::boolean, {3, 5}, 0, 2), doubles_between({5}),
                 doubles_between({3, 1}, -2, 2, 8)}}});
}

TEST_CASE("second derivatives of reductions and shaping operators") {
  const auto x = doubles_between({3, 4}), cube = doubles_between({2, 3, 4}, -2, 2, 9);
  check_twice({{"sum", {{"axis", {1}}}, {x}},
               {"mean", {}, {x}},
               {"max", {{"axis", {0}}}, {x}},
               {"min", {{"axis", {-1}}, {"keepdims", true}}, {cube}},
               {"broadcast_to", {{"shape", {2, 3, 4}}}, {x}},
               {"concat", {{"axis", 1}}, {x, doubles_between({3, 2}, -2, 2, 10)}},
               {"expand_dims", {{"axis", {1}}}, {x}},
               {"pad", {{"before", {1, 0}}, {"after", {2, 1}}}, {x}},
               {"pad", {{"before", {1, 2}}, {"after", {0, 1}}, {"value", 3.0}}, {x}},
               {"pad", {{"before", {1, 2}}, {"after", {2, 1}}, {"mode", "reflect"}}, {x}},
               {"reshape", {{"shape", {2, -1}}}, {x}},
               {"retain", {}, {x, tensor(tenon::i64, {2}, {2, 0})}},
               {"slice", {{"begin", {2, 0}}, {"end", {-9, 9}}, {"step", {-1, 2}}}, {x}},
               {"split", {{"sections", 1}, {"axis", 1}}, {x}},
               {"squeeze", {}, {doubles_between({3, 1, 2})}},
               {"take_rows", {}, {x, tensor(tenon::i64, {4}, {2, 0, 2, 1})}},
               {"transpose", {{"axes", {1, 2, 0}}}, {cube}},
               {"embedding",
                {{"input_dim", 3}, {"output_dim", 2}},
                {tensor(tenon::i64, {4}, {0, 2, 2, 1}), doubles_between({3, 2})}}});
}

TEST_CASE("second derivatives of products, layers and convolutions") {
  const auto matrix = doubles_between({3, 4});
  check_twice(
      {{"matmul", {}, {matrix, doubles_between({4, 2}, -1, 1, 5)}},
       {"matmul",
        {{"transpose_b", true}},
        {doubles_between({2, 1, 3, 4}), doubles_between({2, 2, 4}, -1, 1, 5)}},
       {"matmul", {}, {doubles_between({4}), doubles_between({4}, -1, 1, 5)}},
       {"fully_connected",
        {{"num_hidden", 2}},
        {doubles_between({2, 2, 2}), doubles_between({2, 4}, -1, 1, 5), doubles_between({2})}},
       {"fully_connected",
        {{"num_hidden", 2}, {"no_bias", true}, {"flatten", false}},
        {doubles_between({2, 2, 3}), doubles_between({2, 3}, -1, 1, 5)}}});
  const auto image = floats_between({2, 4, 4, 3});
  check_twice_in_float(
      {{"convolution",
        {{"num_filter", 2}, {"kernel", {2, 3}}, {"pad", {1}}},
        {image, floats_between({2, 4, 2, 3}, -1, 1, 5), floats_between({2})}},
       {"convolution",
        {{"num_filter", 4},
         {"kernel", {2, 2}},
         {"stride", {2, 1}},
         {"groups", 2},
         {"no_bias", true}},
        {image, floats_between({4, 2, 2, 2}, -1, 1, 5)}},
       {"avg_pool", {{"kernel", {2, 2}}, {"pad", {1}}, {"count_include_pad", false}}, {image}},
       {"global_avg_pool", {}, {image}}});
}

TEST_CASE(
    "functions of complex numbers have no second derivative, which is refused when the graph is "
    "built") {
  tenon::Graph graph(host());
  const auto z = graph.input("z", tenon::c128, {2});
  const auto loss = graph.add("sum", {graph.add("abs", {graph.add("mul", {z, z})})});
  const auto penalty = graph.add("sum", {graph.add("abs", {graph.gradient(loss, {z})[0]})});
  const auto failure = failure_of([&] { graph.gradient(penalty, {z}); });
  CHECK(failure.message.find("second derivatives for complex128 are not supported") !=
        std::string::npos);
}

TEST_CASE("second derivatives of norms, softmax and losses") {
  const auto x = doubles_between({3, 4}), other = doubles_between({3, 4}, -1, 2, 9),
             vector = doubles_between({4}, 0.5, 2, 5);
  const auto labels = tensor(tenon::i64, {3}, {2, 0, 3});
  const auto image = doubles_between({3, 2, 2});
  const auto scale = doubles_between({2}, 0.5, 2, 5);
  std::vector<SecondRow> rows{
      {"softmax", {}, {x}},
      {"softmax", {{"axis", 0}}, {x}},
      {"log_softmax", {}, {x}},
      {"layer_norm", {}, {x, vector, vector}},
      {"layer_norm",
       {{"axis", 1}, {"epsilon", 0.1}},
       {image, doubles_between({2, 2}), doubles_between({2, 2})}},
      {"batch_norm", {}, {image, scale, scale}},
      {"batch_norm", {}, {image, scale, scale}, true},
      {"batch_norm", {{"axis", -1}, {"epsilon", 0.1}}, {image, scale, scale}, true}};
  for (const char* reduction : {"mean", "sum", "none"}) {
    rows.push_back({"softmax_cross_entropy", {{"reduction", reduction}}, {x, labels}});
    rows.push_back({"mean_squared_error", {{"reduction", reduction}}, {x, other}});
  }
  check_twice(rows);
}

TEST_CASE(
    "the second derivative of dropout: its mask is what the output's gradient is multiplied by") {
  const auto x = floats_between({200}, 1, 2), weights = floats_between({200}, 1, 2, 5);
  tenon::Graph graph(host());
  const auto input = graph.input("x", tenon::f32, {200}), dy = graph.input("dy", tenon::f32, {200});
  const auto y = graph.add("dropout", {input}, {{"p", 0.4}});
  tenon::GradientOptions seeded;
  seeded.seed = dy;
  const auto total =
      graph.add("mul", {graph.gradient(y, {input}, seeded)[0], graph.constant("weights", weights)});
  const auto second = graph.gradient(total, {dy, input});
  CHECK(second[1].empty());
  graph.output("y", y);
  graph.output("second", second[0]);
  tenon::SessionOptions options;
  options.training = true;
  const auto found =
      tenon::Session(graph, options).run({{"x", x}, {"dy", floats_between({200}, -1, 1, 9)}});
  Doubles expected;
  for (std::size_t i = 0; i < 200; ++i)
    expected.push_back(doubles(weights)[i] * doubles(found.at("y"))[i] / doubles(x)[i]);
  check_near(found.at("second"), tenon::f32, {200}, expected, 1e-6);
}

TEST_CASE("second derivatives of the example in the documentation") {
  tenon::HostOptions options;
  options.trust_writable = true;
  options.search_defaults = false;
  tenon::Host with_example(options);
  with_example.add_plugins(built("plugins"));
  with_example.add_plugins(built("tests/examples/outer_product.so"));
  for (const SecondRow& row :
       {SecondRow{"outer_product", {}, {doubles_between({3}), doubles_between({4}, -1, 1, 5)}},
        SecondRow{"length", {}, {doubles_between({2, 3})}}})
    Twice(row, true, with_example).check(1e-4, 1e-6);
}
