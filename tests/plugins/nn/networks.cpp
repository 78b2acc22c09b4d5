// Gradients of whole networks against finite differences of a forward pass in double, implemented
// here without Tenon.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <tenon/host/host.hpp>
#include <tenon/host/session.hpp>

#include "built.hpp"
#include "plugin_options.hpp"
#include "plugins/array.hpp"
#include "temporary_folder.hpp"

namespace {

using tenon::Tensor;
using tenon::Value;
using Doubles = std::vector<double>;
using Weights = std::map<std::string, Doubles>;

struct NetworkHost {
  TemporaryFolder cache;
  tenon::Host host;
  NetworkHost() : host(plugin_options(cache)) { host.add_plugins(built("plugins")); }
};

Tensor tensor_of(const Doubles& values, tenon::DType dtype, const tenon::Shape& shape) {
  if (dtype == tenon::f64) return Tensor::from(values, shape);
  return Tensor::from(std::vector<float>(values.begin(), values.end()), shape);
}

Doubles numbers_of(const Tensor& tensor) {
  if (tensor.dtype() == tenon::f64)
    return Doubles(tensor.values<double>().begin(), tensor.values<double>().end());
  return Doubles(tensor.values<float>().begin(), tensor.values<float>().end());
}

/// A network with the given weights, with its gradients as outputs `d_NAME`.
struct Network {
  Network(tenon::Host& host, tenon::DType type) : graph(host), dtype(type) {}

  Value weight(const std::string& name, const tenon::Shape& shape, unsigned seed) {
    weights[name] = random_doubles(shape, seed).values;
    if (dtype == tenon::f32)  // the reference uses the rounded weights, too
      for (auto& value : weights[name]) value = static_cast<float>(value);
    return variables[name] = graph.variable(name, tensor_of(weights[name], dtype, shape));
  }

  void differentiate(Value loss) {
    graph.output("loss", loss);
    std::vector<Value> wrt;
    for (const auto& [name, value] : variables) wrt.push_back(value);
    const auto gradients = graph.gradient(loss, wrt);
    std::size_t i = 0;
    for (const auto& [name, value] : variables) graph.output("d_" + name, gradients[i++]);
  }

  /// Checks the loss, and every gradient by central differences of `reference`.
  void check(const tenon::NamedTensors& outputs,
             const std::function<double(const Weights&)>& reference, double tolerance) const {
    CHECK(numbers_of(outputs.at("loss"))[0] ==
          doctest::Approx(reference(weights)).epsilon(tolerance));
    for (const auto& weight : weights) {
      const auto& name = weight.first;  // clang 14 cannot capture a structured binding in a lambda,
                                        // and so not in CAPTURE
      const auto& values = weight.second;
      CAPTURE(name);
      const auto gradient = numbers_of(outputs.at("d_" + name));
      REQUIRE(gradient.size() == values.size());
      for (std::size_t i = 0; i < values.size(); ++i) {
        auto moved = weights;
        const double step = 1e-5;
        moved[name][i] = values[i] + step;
        const double above = reference(moved);
        moved[name][i] = values[i] - step;
        const double difference = (above - reference(moved)) / (2 * step);
        CHECK(gradient[i] == doctest::Approx(difference).epsilon(tolerance).scale(0.1));
      }
    }
  }

  tenon::Graph graph;
  tenon::DType dtype;
  Weights weights;
  std::map<std::string, Value> variables;
};

/// x [rows, in] times w [out, in] transposed, plus b.
Doubles dense(const Doubles& x, const Doubles& w, const Doubles& b) {
  const auto out = b.size(), in = w.size() / out, rows = x.size() / in;
  Doubles y(rows * out);
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t o = 0; o < out; ++o) {
      y[row * out + o] = b[o];
      for (std::size_t i = 0; i < in; ++i) y[row * out + o] += x[row * in + i] * w[o * in + i];
    }
  return y;
}

double cross_entropy(const Doubles& logits, const Integers& labels) {
  const auto classes = logits.size() / labels.size();
  double loss = 0;
  for (std::size_t row = 0; row < labels.size(); ++row) {
    double sum = 0;
    for (std::size_t c = 0; c < classes; ++c) sum += std::exp(logits[row * classes + c]);
    loss += std::log(sum) - logits[row * classes + static_cast<std::size_t>(labels[row])];
  }
  return loss / static_cast<double>(labels.size());
}

Doubles map(Doubles values, double (*f)(double)) {
  for (auto& value : values) value = f(value);
  return values;
}

tenon::SessionOptions for_training() {
  tenon::SessionOptions options;
  options.training = true;
  options.seed = 7;
  return options;
}

}  // namespace

TEST_CASE("gradients of an MLP") {
  NetworkHost host;
  Network net(host.host, tenon::f64);
  const auto x = net.graph.input("x", tenon::f64, {4, 6}),
             labels = net.graph.input("labels", tenon::i64, {4});
  const auto fc1 =
      net.graph.add("fully_connected", {x, net.weight("w1", {5, 6}, 1), net.weight("b1", {5}, 2)},
                    {{"num_hidden", 5}});
  const auto fc2 = net.graph.add(
      "fully_connected",
      {net.graph.add("tanh", {fc1}), net.weight("w2", {3, 5}, 3), net.weight("b2", {3}, 4)},
      {{"num_hidden", 3}});
  net.differentiate(net.graph.add("softmax_cross_entropy", {fc2, labels}));
  const auto data = random_doubles({4, 6}, 9).values;
  const Integers expected{2, 0, 1, 1};
  const auto outputs = tenon::Session(net.graph).run(
      {{"x", Tensor::from(data, {4, 6})}, {"labels", Tensor::from(expected, {4})}});
  net.check(
      outputs,
      [&](const Weights& w) {
        return cross_entropy(
            dense(map(dense(data, w.at("w1"), w.at("b1")), std::tanh), w.at("w2"), w.at("b2")),
            expected);
      },
      1e-7);
}

TEST_CASE("gradients of a recurrent network of 50 steps with shared weights") {
  constexpr std::size_t steps = 50, size = 3;
  NetworkHost host;
  Network net(host.host, tenon::f64);
  const auto u = net.weight("u", {size, size}, 1), w = net.weight("w", {size, 2}, 2),
             b = net.weight("b", {size}, 3);
  const auto data = random_doubles({steps, 2}, 5).values;
  const auto x = net.graph.input("x", tenon::f64, {steps, 2});
  Value hidden = net.graph.constant("start", Tensor::zeros(tenon::f64, {1, size}));
  for (std::size_t t = 0; t < steps; ++t) {
    const auto begin = static_cast<std::int64_t>(t);
    const auto row = net.graph.add(
        "slice", {x}, {{"begin", Integers{begin, 0}}, {"end", Integers{begin + 1, 2}}});
    const auto from_input = net.graph.add("fully_connected", {row, w, b}, {{"num_hidden", 3}});
    const auto from_hidden =
        net.graph.add("fully_connected", {hidden, u}, {{"num_hidden", 3}, {"no_bias", true}});
    hidden = net.graph.add("tanh", {net.graph.add("add", {from_input, from_hidden})});
  }
  net.differentiate(net.graph.add("sum", {net.graph.add("square", {hidden})}));
  tenon::Session session(net.graph);
  CHECK(session.describe_plan({}).find("sum_gradients") == std::string::npos);
  net.check(
      session.run({{"x", Tensor::from(data, {steps, 2})}}),
      [&](const Weights& weights) {
        Doubles h(size);
        for (std::size_t t = 0; t < steps; ++t) {
          auto next = dense({data[2 * t], data[2 * t + 1]}, weights.at("w"), weights.at("b"));
          const auto more = dense(h, weights.at("u"), Doubles(size));
          for (std::size_t i = 0; i < size; ++i) h[i] = std::tanh(next[i] + more[i]);
        }
        double sum = 0;
        for (const double value : h) sum += value * value;
        return sum;
      },
      1e-6);
}

TEST_CASE("gradients of a convnet with batch_norm and dropout, in training") {
  constexpr std::size_t batch = 4, filters = 3, side = 6, pooled = 3;
  NetworkHost host;
  Network net(host.host, tenon::f32);
  auto& graph = net.graph;
  const auto x = graph.input("x", tenon::f32, {batch, 1, side, side}),
             labels = graph.input("labels", tenon::i64, {batch});
  const auto conv =
      graph.add("convolution",
                {x, net.weight("filters", {filters, 1, 3, 3}, 1), net.weight("bias", {filters}, 2)},
                {{"num_filter", 3}, {"kernel", Integers{3, 3}}, {"pad", Integers{1}}});
  const auto norm = graph.add(
      "batch_norm", {conv, net.weight("gamma", {filters}, 3), net.weight("beta", {filters}, 4)});
  const auto pool =
      graph.add("avg_pool", {graph.add("tanh", {norm})}, {{"kernel", Integers{2, 2}}});
  const auto drop = graph.add("dropout", {pool}, {{"p", 0.25}}, "drop");
  const auto fc =
      graph.add("fully_connected",
                {drop, net.weight("w", {2, filters * pooled * pooled}, 5), net.weight("b", {2}, 6)},
                {{"num_hidden", 2}});
  graph.output("mask", graph.find("drop:mask"));
  net.differentiate(graph.add("softmax_cross_entropy", {fc, labels}));
  auto data = random_doubles({batch, 1, side, side}, 11).values;
  for (auto& value : data) value = static_cast<float>(value);
  const Integers expected{0, 1, 1, 0};
  const auto outputs = tenon::Session(graph, for_training())
                           .run({{"x", tensor_of(data, tenon::f32, {batch, 1, side, side})},
                                 {"labels", Tensor::from(expected, {batch})}});
  const auto mask = numbers_of(outputs.at("mask"));
  CHECK(std::count(mask.begin(), mask.end(), 0.0) > 0);

  const auto convolve = [&](const Weights& w) {
    Doubles y(batch * filters * side * side);
    const auto at = [&](std::size_t n, long row, long column) {
      const bool inside = row >= 0 && column >= 0 && row < long{side} && column < long{side};
      return inside ? data[(n * side + static_cast<std::size_t>(row)) * side +
                           static_cast<std::size_t>(column)]
                    : 0.0;
    };
    for (std::size_t i = 0; i < y.size(); ++i) {
      const auto column = static_cast<long>(i % side), row = static_cast<long>(i / side % side);
      const auto f = i / (side * side) % filters, n = i / (side * side * filters);
      y[i] = w.at("bias")[f];
      for (long k = 0; k < 9; ++k)
        y[i] += w.at("filters")[f * 9 + static_cast<std::size_t>(k)] *
                at(n, row + k / 3 - 1, column + k % 3 - 1);
    }
    return y;
  };
  const auto normalise = [&](Doubles y, const Weights& w) {
    for (std::size_t f = 0; f < filters; ++f) {
      double mean = 0, variance = 0;
      const auto each = [&](auto&& visit) {
        for (std::size_t n = 0; n < batch; ++n)
          for (std::size_t i = 0; i < side * side; ++i)
            visit(y[(n * filters + f) * side * side + i]);
      };
      constexpr double count = batch * side * side;
      each([&](double value) { mean += value / count; });
      each([&](double value) { variance += (value - mean) * (value - mean) / count; });
      each([&](double& value) {
        value = w.at("gamma")[f] * (value - mean) / std::sqrt(variance + 1e-5) + w.at("beta")[f];
      });
    }
    return y;
  };
  net.check(
      outputs,
      [&](const Weights& w) {
        const auto y = map(normalise(convolve(w), w), std::tanh);
        Doubles kept(mask.size());
        for (std::size_t i = 0; i < kept.size(); ++i) {
          const auto column = i % pooled, row = i / pooled % pooled, plane = i / (pooled * pooled);
          const auto first = (plane * side + 2 * row) * side + 2 * column;
          kept[i] = mask[i] * (y[first] + y[first + 1] + y[first + side] + y[first + side + 1]) / 4;
        }
        return cross_entropy(dense(kept, w.at("w"), w.at("b")), expected);
      },
      1e-3);
}
