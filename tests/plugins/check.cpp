#include "check.hpp"

#include <doctest/doctest.h>

#include <cmath>

namespace {

/// What an oracle says of some elements of a tensor.
struct Expected {
  std::vector<std::int64_t> places;
  std::vector<double> values;
};

Expected all_of(const DoubleArray& doubles) {
  Expected expected{{}, doubles.values};
  for (std::int64_t i = 0; i < doubles.size(); ++i) expected.places.push_back(i);
  return expected;
}

/// Each element is what the oracle says, on top of `before` where there is one.
void compare(const Array& found, const Expected& expected, double tolerance, const std::string& what, const Array& before = {}) {
  const auto values = found.doubles(), base = before ? before.doubles() : zeros(found.type().shape);
  std::string wrong;
  for (std::size_t i = 0; i < expected.places.size() && wrong.empty(); ++i) {
    const auto place = expected.places[i];
    const auto needed = base[place] + expected.values[i];
    if (!(std::abs(values[place] - needed) <= tolerance * (1 + std::abs(needed))))
      wrong = "element " + std::to_string(place) + " is " + std::to_string(values[place]) + " instead of " + std::to_string(needed);
  }
  INFO(what);
  CHECK(wrong == "");
}

std::vector<DoubleArray> doubles_of(const std::vector<Array>& arrays) {
  std::vector<DoubleArray> result;
  for (const auto& array : arrays) result.push_back(array ? array.doubles() : DoubleArray{});
  return result;
}

/// Random numbers to add to, of the types of `like`.
std::vector<Array> random_like(const std::vector<Array>& like, unsigned seed) {
  std::vector<Array> result;
  for (const auto& array : like) result.push_back(array ? Array(array.type().dtype, random_doubles(array.type().shape, seed++)) : Array());
  return result;
}

/// Gradient of sum(weights * first output) by input `which`: central differences of the oracle, at up to 60 places spread over the input.
Expected differences(const Oracle& oracle, std::vector<DoubleArray> inputs, std::size_t which, const DoubleArray& weights) {
  constexpr double step = 1e-5;
  Expected expected;
  auto& input = inputs[which];
  for (std::int64_t i = 0; i < input.size(); i += 1 + input.size() / 60) {
    const auto before = input[i];
    input[i] = before + step;
    const auto up = oracle(inputs)[0];
    input[i] = before - step;
    const auto down = oracle(inputs)[0];
    input[i] = before;
    double slope = 0;  // differences first: they are small where the sums are large
    for (std::int64_t j = 0; j < up.size(); ++j) slope += (up[j] - down[j]) * weights[j];
    expected.places.push_back(i);
    expected.values.push_back(slope / (2 * step));
  }
  return expected;
}

void require_same_bits(const std::vector<Array>& left, const std::vector<Array>& right, const std::string& what) {
  for (std::size_t i = 0; i < left.size(); ++i) {
    INFO(what << ", tensor " << i);
    CHECK(left[i].same_bits(right[i]));
  }
}

class Check {
 public:
  explicit Check(const Case& test) : case_(test), operator_(test.plugin, test.op, test.attributes) {}

  std::vector<Array> forward(PluginOperator::Mode mode, const std::vector<Array>& add_to = {}) {
    auto states = operator_.make_states(case_.inputs);
    return operator_.forward(case_.inputs, states, mode, add_to);
  }

  void check_forward() {
    const auto expected = case_.oracle(doubles_of(case_.inputs));
    outputs_ = forward(one());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      REQUIRE(tenon::to_string(outputs_[i].type().shape) == tenon::to_string(expected[i].shape));
      compare(outputs_[i], all_of(expected[i]), case_.tolerance, "output " + std::to_string(i));
    }
    require_same_bits(outputs_, forward(four()), "forward on four threads");
    if (operator_.accumulates()) {
      const auto before = random_like(outputs_, 77);
      const auto after = forward(four(), before);
      for (std::size_t i = 0; i < expected.size(); ++i)
        compare(after[i], all_of(expected[i]), case_.tolerance, "adding to output " + std::to_string(i), before[i]);
    }
    if (const auto shared = operator_.forward_in_place_input(); shared >= 0 && may_share(static_cast<std::size_t>(shared))) {
      auto states = operator_.make_states(case_.inputs);
      require_same_bits(outputs_, operator_.forward_in_place(case_.inputs, static_cast<std::size_t>(shared), states, four()),
                        "forward in place");
    }
  }

  void check_backward() {
    const Array output_grad(outputs_[0].type().dtype, random_doubles(outputs_[0].type().shape, 99));
    std::vector<bool> wanted(case_.inputs.size());
    for (const auto which : case_.differentiable) wanted[which] = true;
    const auto gradients = operator_.backward(case_.inputs, outputs_, {output_grad}, wanted, one());
    require_same_bits(gradients, operator_.backward(case_.inputs, outputs_, {output_grad}, wanted, four()), "backward on four threads");
    const auto before = random_like(gradients, 55);
    const auto after =
        operator_.accumulates() ? operator_.backward(case_.inputs, outputs_, {output_grad}, wanted, four(), before) : std::vector<Array>{};
    for (const auto which : case_.differentiable) {
      const auto expected = differences(case_.oracle, doubles_of(case_.inputs), which, output_grad.doubles());
      const auto name = "gradient of input " + std::to_string(which);
      compare(gradients[which], expected, case_.tolerance, name);
      if (!after.empty()) compare(after[which], expected, case_.tolerance, "adding to the " + name, before[which]);
      std::vector<bool> alone(wanted.size());
      alone[which] = true;
      const auto single = operator_.backward(case_.inputs, outputs_, {output_grad}, alone, one());
      INFO(name << " alone");
      CHECK(single[which].same_bits(gradients[which]));
    }
    if (const auto shared = operator_.backward_in_place_input(); shared >= 0 && may_share(static_cast<std::size_t>(shared))) {
      require_same_bits(gradients, operator_.backward_in_place(case_.inputs, outputs_, {output_grad}, wanted, four()), "backward in place");
    }
  }

 private:
  PluginOperator::Mode one() const { return {case_.training, 1}; }
  PluginOperator::Mode four() const { return {case_.training, 4}; }

  /// Memory is shared only where input and output take the same number of bytes, as after broadcasting they may not.
  bool may_share(std::size_t input) const { return case_.inputs[input].bytes() == outputs_[0].bytes(); }

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

std::string refusal(const Case& test) {
  try {
    Check(test).forward({test.training, 1});
  } catch (const tenon::Error& error) {
    return error.what();
  }
  return {};
}

std::string refusal(const std::string& plugin, const std::string& op, const tenon::Attributes& attributes,
                    const std::vector<tenon::TensorType>& inputs) {
  try {
    PluginOperator(plugin, op, attributes).infer(inputs);
  } catch (const tenon::Error& error) {
    return error.what();
  }
  return {};
}
