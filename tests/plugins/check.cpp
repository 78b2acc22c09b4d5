#include "check.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <tenon/shape.hpp>

namespace {

/// Each element equals the oracle's, added to `before` if there is one.
void compare(const Array& found, const DoubleArray& expected, double tolerance,
             const std::string& what, const Array& before = {}) {
  const auto values = found.doubles(), base = before ? before.doubles() : zeros(found.type().shape);
  std::string wrong;
  for (std::int64_t i = 0; i < expected.size() && wrong.empty(); ++i) {
    const auto needed = base[i] + expected[i];
    if (!(std::abs(values[i] - needed) <= tolerance * (1 + std::abs(needed))))
      wrong = "element " + std::to_string(i) + " is " + std::to_string(values[i]) + " instead of " +
              std::to_string(needed);
  }
  INFO(what);
  CHECK(wrong == "");
}

std::vector<DoubleArray> doubles_of(const std::vector<Array>& arrays) {
  std::vector<DoubleArray> result;
  for (const auto& array : arrays) result.push_back(array ? array.doubles() : DoubleArray{});
  return result;
}

/// Random numbers to accumulate into, with the types of `like`.
std::vector<Array> random_like(const std::vector<Array>& like, unsigned seed) {
  std::vector<Array> result;
  for (const auto& array : like)
    result.push_back(array ? Array(array.type().dtype, random_doubles(array.type().shape, seed++))
                           : Array());
  return result;
}

/// A step from the inputs along some elements of one of them, and the derivative of sum(weights *
/// first output) along it.
struct Slope {
  std::vector<std::int64_t> places;
  std::vector<double> direction;
  double value = 0;
};

/// Central differences of the oracle with respect to input `which`: along a sample of single
/// elements, and along all others in a few groups.
std::vector<Slope> slopes(const Oracle& oracle, std::vector<DoubleArray> inputs, std::size_t which,
                          const DoubleArray& weights) {
  constexpr double step = 1e-5;
  constexpr std::int64_t singles = 10, groups = 6;
  const auto input = inputs[which];
  std::vector<Slope> result;
  std::vector<Slope> together(groups);
  std::mt19937 generator(31);
  const auto distance = input.size() <= singles + groups ? 1 : 1 + input.size() / singles;
  for (std::int64_t i = 0; i < input.size(); ++i) {
    if (i % distance == 0) {
      result.push_back({{i}, {1}});
    } else {
      auto& group = together[generator() % groups];
      group.places.push_back(i);
      group.direction.push_back((generator() % 2 == 0 ? 0.5 : -0.5) +
                                static_cast<double>(generator() % 1024) / 4096);
    }
  }
  for (auto& group : together)
    if (!group.places.empty()) result.push_back(std::move(group));
  const auto after = [&](const Slope& slope, double length) {
    for (std::size_t i = 0; i < slope.places.size(); ++i)
      inputs[which][slope.places[i]] += length * slope.direction[i];
    auto output = std::move(oracle(inputs)[0]);
    inputs[which] = input;
    return output;
  };
  for (auto& slope : result) {
    const auto up = after(slope, step), down = after(slope, -step);
    for (std::int64_t j = 0; j < up.size(); ++j)
      slope.value += (up[j] - down[j]) * weights[j];  // differences first: the sums may be large
    slope.value /= 2 * step;
  }
  return result;
}

/// The gradient has the oracle's slopes, added to `before` if there is one. Along several elements,
/// errors may add up.
void compare(const Array& gradient, const std::vector<Slope>& expected, double tolerance,
             const std::string& what, const Array& before = {}) {
  const auto values = gradient.doubles(),
             base = before ? before.doubles() : zeros(gradient.type().shape);
  std::string wrong;
  for (const auto& slope : expected) {
    double found = 0, scale = 0;
    for (std::size_t i = 0; i < slope.places.size(); ++i) {
      const auto place = slope.places[i];
      found += (values[place] - base[place]) * slope.direction[i];
      scale += std::pow((1 + std::abs(values[place])) * slope.direction[i], 2);
    }
    if (!std::isfinite(found) || !(std::abs(found - slope.value) <= tolerance * std::sqrt(scale)))
      wrong = tenon::join("along ", slope.places.size(), " elements from ", slope.places[0],
                          " it is ", found, " instead of ", slope.value);
  }
  INFO(what);
  CHECK(wrong == "");
}

void require_same_bits(const std::vector<Array>& left, const std::vector<Array>& right,
                       const std::string& what) {
  for (std::size_t i = 0; i < left.size(); ++i) {
    INFO(what << ", tensor " << i);
    CHECK(left[i].same_bits(right[i]));
  }
}

class Check {
 public:
  explicit Check(const Case& test)
      : case_(test), operator_(test.plugin, test.op, test.attributes) {}

  std::vector<Array> forward(PluginOperator::Mode mode, const std::vector<Array>& add_to = {}) {
    auto states = operator_.make_states(case_.inputs);
    return operator_.forward(case_.inputs, states, mode, add_to);
  }

  void check_forward() {
    const auto expected = case_.oracle(doubles_of(case_.inputs));
    outputs_ = forward(one());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      REQUIRE(tenon::to_string(outputs_[i].type().shape) == tenon::to_string(expected[i].shape));
      compare(outputs_[i], expected[i], case_.tolerance, "output " + std::to_string(i));
    }
    require_same_bits(outputs_, forward(four()), "forward on four threads");
    if (operator_.accumulates()) {
      const auto before = random_like(outputs_, 77);
      const auto after = forward(four(), before);
      for (std::size_t i = 0; i < expected.size(); ++i)
        compare(after[i], expected[i], case_.tolerance, "adding to output " + std::to_string(i),
                before[i]);
    }
    if (const auto shared = operator_.forward_in_place_input();
        shared >= 0 && may_share(static_cast<std::size_t>(shared))) {
      auto states = operator_.make_states(case_.inputs);
      require_same_bits(outputs_,
                        operator_.forward_in_place(case_.inputs, static_cast<std::size_t>(shared),
                                                   states, four()),
                        "forward in place");
    }
  }

  void check_backward() {
    const Array output_grad(outputs_[0].type().dtype, random_doubles(outputs_[0].type().shape, 99));
    std::vector<bool> requested(case_.inputs.size());
    for (const auto which : case_.differentiable) requested[which] = true;
    const auto gradients =
        operator_.backward(case_.inputs, outputs_, {output_grad}, requested, one());
    require_same_bits(gradients,
                      operator_.backward(case_.inputs, outputs_, {output_grad}, requested, four()),
                      "backward on four threads");
    const auto before = random_like(gradients, 55);
    const auto after =
        operator_.accumulates()
            ? operator_.backward(case_.inputs, outputs_, {output_grad}, requested, four(), before)
            : std::vector<Array>{};
    for (const auto which : case_.differentiable) {
      const auto expected =
          slopes(case_.oracle, doubles_of(case_.inputs), which, output_grad.doubles());
      const auto name = "gradient of input " + std::to_string(which);
      compare(gradients[which], expected, case_.tolerance, name);
      if (!after.empty())
        compare(after[which], expected, case_.tolerance, "adding to the " + name, before[which]);
      std::vector<bool> alone(requested.size());
      alone[which] = true;
      const auto single = operator_.backward(case_.inputs, outputs_, {output_grad}, alone, one());
      INFO(name << " alone");
      CHECK(single[which].same_bits(gradients[which]));
    }
    if (const auto shared = operator_.backward_in_place_input();
        shared >= 0 && may_share(static_cast<std::size_t>(shared))) {
      require_same_bits(
          gradients,
          operator_.backward_in_place(case_.inputs, outputs_, {output_grad}, requested, four()),
          "backward in place");
    }
  }

 private:
  PluginOperator::Mode one() const { return {case_.training, 1}; }
  PluginOperator::Mode four() const { return {case_.training, 4}; }

  /// Input and output can only share memory if they have the same size in bytes, which broadcasting
  /// may prevent.
  bool may_share(std::size_t input) const {
    return case_.inputs[input].bytes() == outputs_[0].bytes();
  }

  const Case& case_;
  PluginOperator operator_;
  std::vector<Array> outputs_;
};

}  // namespace

void check(const Case& test) {
  CAPTURE(test.op);
  CAPTURE(test.name);
  Check run(test);
  run.check_forward();
  if (!test.differentiable.empty()) run.check_backward();
}

std::string error_of(const Case& test) {
  try {
    Check(test).forward({test.training, 1});
  } catch (const tenon::Error& error) {
    return error.what();
  }
  return {};
}

std::string error_of(const std::string& plugin, const std::string& op,
                     const tenon::Attributes& attributes,
                     const std::vector<tenon::TensorType>& inputs) {
  try {
    PluginOperator(plugin, op, attributes).infer(inputs);
  } catch (const tenon::Error& error) {
    return error.what();
  }
  return {};
}
