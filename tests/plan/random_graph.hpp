// Random graphs of vectors: sequences, branches and sums, in place or not, with workspaces and
// gradients.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <tenon/host/graph.hpp>
#include <tenon/host/host.hpp>
#include <tenon/host/udf.hpp>
#include <vector>

/// If set, Mix and Blend call it while they run.
inline void (*while_mixing)() = nullptr;

/// A function of a few vectors, of the length given by its parameter; its backward reads only the
/// output's gradient. Values stay small, but forward and backward depend on every element, and
/// workspaces are written, so wrongly shared memory changes results.
struct Mix : tenon::Operator {
  std::int64_t size = 1, scratch = 0;
  static constexpr void describe(auto& op) {
    op.doc("the scaled sum of all elements, plus a small offset for each element");
    op.types({tenon::f32});
    op.input("data", "[n]").variadic();
    op.output("mixed", "[size]");
    op.param("size", &Mix::size, "elements of the result").at_least(0);
    op.param("scratch", &Mix::scratch, "elements of the workspace").at_least(0);
    op.backward_reads();
  }
  void infer(tenon::Infer& io) const { io.set_output(0, {size}); }
  std::size_t workspace(const tenon::Infer&) const {
    return static_cast<std::size_t>(scratch) * sizeof(float);
  }
  void forward(const tenon::Call& call) const {
    float sum = 0;
    for (int i = 0; i < call.inputs(); ++i) sum += total(call.input<float>(i));
    if (while_mixing != nullptr) while_mixing();
    std::fill_n(call.workspace<float>(static_cast<std::size_t>(scratch)), scratch, 1e30f);
    const auto mixed = call.output<float>(0);
    for (std::int64_t j = 0; j < mixed.size(); ++j)
      mixed[j] = small(sum) + static_cast<float>(j % 7) / 8;
  }
  void backward(const tenon::Call& call) const {
    const auto sum = total(call.output_grad<float>(0));
    for (int i = 0; i < call.inputs(); ++i)
      for (std::int64_t j = 0; j < call.input_grad<float>(i).size(); ++j)
        call.input_grad<float>(i)[j] = small(sum) + static_cast<float>(j % 5);
  }

 protected:
  static float small(float x) { return x / (1 + std::abs(x)); }
  template <class View>
  static float total(const View& values) {
    float sum = 0;
    for (std::int64_t j = 0; j < values.size(); ++j) sum += values[j];
    return sum;
  }
};

/// Like Mix, but its backward reads everything.
struct Blend : Mix {
  static constexpr void describe(auto& op) {
    op.doc("the scaled sum of all elements, plus a small offset for each element");
    op.types({tenon::f32});
    op.input("data", "[n]").variadic();
    op.output("mixed", "[size]");
    op.param("size", &Blend::size, "elements of the result").at_least(0);
    op.param("scratch", &Blend::scratch, "elements of the workspace").at_least(0);
  }
  void backward(const tenon::Call& call) const {
    const auto sum = total(call.output_grad<float>(0)) + total(call.output_value<float>(0));
    for (int i = 0; i < call.inputs(); ++i)
      for (std::int64_t j = 0; j < call.input_grad<float>(i).size(); ++j)
        call.input_grad<float>(i)[j] = small(sum + call.input<float>(i)[j]);
  }
};

/// Distribution of vector sizes.
enum class Sizes { uniform, powers_of_two, few };

/// The host has mix, blend, quadratic and test_add.
class RandomGraph {
 public:
  RandomGraph(tenon::Host& host, std::uint32_t seed) : random_(seed), graph_(host) {
    sizes_ = static_cast<Sizes>(below(3));
    reach_ = 1 + below(40);
  }

  /// Returns a graph of `nodes` nodes, plus those of its gradient if requested.
  tenon::Graph run(std::uint32_t nodes, bool gradient) {
    values_.push_back({graph_.input("x", tenon::DType::f32, {64}), 64});
    for (std::uint32_t i = 0; i < nodes; ++i) add();
    const auto loss = graph_.add("mix", {values_.back().value, recent().value}, {{"size", 1}});
    graph_.output("loss", loss);
    if (gradient) graph_.output("gradient", graph_.gradient(loss, {values_[0].value})[0]);
    return std::move(graph_);
  }

 private:
  struct Sized {
    tenon::Value value;
    std::int64_t size;
  };

  std::uint32_t below(std::uint32_t end) { return static_cast<std::uint32_t>(random_() % end); }
  // Usually the last value.
  const Sized& recent() {
    const auto back =
        below(2) == 0
            ? 0
            : below(static_cast<std::uint32_t>(std::min<std::size_t>(values_.size(), reach_)));
    return values_[values_.size() - 1 - back];
  }
  std::int64_t size() {
    if (sizes_ == Sizes::uniform) return 1 + below(16000);
    return sizes_ == Sizes::powers_of_two ? std::int64_t{16} << below(14)
                                          : std::int64_t{16} * (1 + below(8)) << (2 * below(4));
  }

  void add() {
    const auto kind = below(10);
    const auto left = recent(), right = recent();
    if (kind < 2) {
      values_.push_back({graph_.add("quadratic", {left.value}, {{"a", 1}}), left.size});
    } else if (kind < 4 && left.size == right.size) {
      values_.push_back({graph_.add("test_add", {left.value, right.value}), left.size});
    } else {
      std::vector<tenon::Value> inputs{left.value};
      if (below(2) == 0) inputs.push_back(right.value);
      const auto bytes = size();
      values_.push_back({graph_.add(kind < 7 ? "mix" : "blend", inputs,
                                    {{"size", bytes}, {"scratch", below(8) == 0 ? size() : 0}}),
                         bytes});
    }
  }

  std::mt19937 random_;
  tenon::Graph graph_;
  Sizes sizes_;
  std::uint32_t reach_;
  std::vector<Sized> values_;
};

/// The n-th of a fixed sequence of graphs of 50 to 450 nodes, every other one with its gradient.
inline tenon::Graph random_graph(tenon::Host& host, std::uint32_t n) {
  return RandomGraph(host, n).run(50 + n * 7919 % 400, n % 2 == 1);
}
