// The optimizers against their papers' formulas in double, as sums over the whole history.
#include <doctest/doctest.h>

#include <array>
#include <cmath>

#include "check.hpp"
#include "on_device.hpp"

namespace {

constexpr unsigned steps = 6;

/// One number for each step so far. std::vector would take most of these tests' time: there are a
/// million of these.
class Numbers {
 public:
  void push_back(double number) { numbers_.at(count_++) = number; }
  double& operator[](std::size_t i) { return numbers_.at(i); }
  double operator[](std::size_t i) const { return numbers_.at(i); }
  double back() const { return numbers_.at(count_ - 1); }
  std::size_t size() const { return count_; }

 private:
  std::array<double, steps> numbers_{};
  std::size_t count_ = 0;
};

/// The history of one element: weights before each step, gradients and learning rates.
struct History {
  Numbers weights, grads, rates;
  double rate() const { return rates.back(); }
  double weight() const { return weights.back(); }
  /// The gradients plus weight decay.
  Numbers slopes(double decay) const {
    auto slopes = grads;
    for (std::size_t k = 0; k < grads.size(); ++k) slopes[k] += decay * weights[k];
    return slopes;
  }
};

/// Sum of share^(age) * term over the steps.
template <class Term>
double faded(const Numbers& slopes, double share, Term term) {
  double sum = 0;
  for (std::size_t k = 0; k < slopes.size(); ++k)
    sum += std::pow(share, static_cast<double>(slopes.size() - 1 - k)) * term(slopes[k]);
  return sum;
}
double itself(double x) {
  return x;
}
double squared(double x) {
  return x * x;
}

struct OptimizerFormula {
  std::string op;
  tenon::Attributes attributes;
  std::function<double(const History&)> updated;
};

double adam_step(const Numbers& slopes, double beta1, double beta2, double epsilon) {
  const auto t = static_cast<double>(slopes.size());
  const double mean = (1 - beta1) * faded(slopes, beta1, itself) / (1 - std::pow(beta1, t));
  const double square = (1 - beta2) * faded(slopes, beta2, squared) / (1 - std::pow(beta2, t));
  return mean / (std::sqrt(square) + epsilon);
}

const OptimizerFormula formulas[] = {
    {"sgd", {}, [](const History& h) { return h.weight() - h.rate() * h.grads.back(); }},
    {"sgd",
     {{"weight_decay", 0.25}},
     [](const History& h) { return h.weight() - h.rate() * h.slopes(0.25).back(); }},
    {"momentum",
     {},
     [](const History& h) { return h.weight() - h.rate() * faded(h.grads, 0.9, itself); }},
    {"momentum",
     {{"momentum", 0.5}, {"weight_decay", 0.125}},
     [](const History& h) { return h.weight() - h.rate() * faded(h.slopes(0.125), 0.5, itself); }},
    {"nesterov",
     {{"momentum", 0.75}, {"weight_decay", 0.125}},
     [](const History& h) {
       const auto slopes = h.slopes(0.125);
       return h.weight() - h.rate() * (slopes.back() + 0.75 * faded(slopes, 0.75, itself));
     }},
    {"adam",
     {},
     [](const History& h) { return h.weight() - h.rate() * adam_step(h.grads, 0.9, 0.999, 1e-8); }},
    {"adam",
     {{"beta1", 0.5}, {"beta2", 0.75}, {"epsilon", 0.125}, {"weight_decay", 0.25}},
     [](const History& h) {
       return h.weight() - h.rate() * adam_step(h.slopes(0.25), 0.5, 0.75, 0.125);
     }},
    {"adamw",
     {},
     [](const History& h) {
       return h.weight() * (1 - h.rate() * 0.01) - h.rate() * adam_step(h.grads, 0.9, 0.999, 1e-8);
     }},
    {"adamw",
     {{"weight_decay", 0.5}},
     [](const History& h) {
       return h.weight() * (1 - h.rate() * 0.5) - h.rate() * adam_step(h.grads, 0.9, 0.999, 1e-8);
     }},
    {"rmsprop",
     {{"alpha", 0.75}, {"epsilon", 0.0625}, {"weight_decay", 0.25}},
     [](const History& h) {
       const auto slopes = h.slopes(0.25);
       return h.weight() -
              h.rate() * slopes.back() / (std::sqrt(0.25 * faded(slopes, 0.75, squared)) + 0.0625);
     }},
    {"adagrad",
     {{"epsilon", 0.0625}, {"weight_decay", 0.25}},
     [](const History& h) {
       const auto slopes = h.slopes(0.25);
       return h.weight() -
              h.rate() * slopes.back() / (std::sqrt(faded(slopes, 1, squared)) + 0.0625);
     }},
};

/// Error of one rounding to the dtype, and of a few in the float that 16-bit dtypes are computed
/// in.
double step_tolerance(tenon::DType dtype) {
  return dtype == tenon::f64   ? 1e-13
         : dtype == tenon::f32 ? 4e-6
         : dtype == tenon::f16 ? 0x1p-10
                               : 0x1p-7;
}

Array scalar(double value) {
  return {tenon::f32, DoubleArray{tenon::Shape::scalar(), {value}}};
}

void check_row(const OptimizerFormula& row, tenon::DType dtype, const tenon::Shape& shape) {
  PluginOperator op("optim", row.op, row.attributes);
  const auto start = random_doubles(shape, 1);
  Array weight(dtype, start);
  std::vector<History> history(start.values.size());
  auto states = op.make_states({weight, weight, scalar(0)});
  for (std::size_t i = 0; i < states.size(); ++i)  // the third one counts steps
    CHECK(states[i].type().dtype == (i == 2                ? tenon::i64
                                     : dtype == tenon::f64 ? dtype
                                                           : tenon::f32));
  for (unsigned step = 0; step < steps; ++step) {
    const double rate = 0.25 / (step + 1.0);
    const std::vector<Array> inputs{weight, Array(dtype, random_doubles(shape, 100 + step)),
                                    scalar(rate)};
    auto spread_states = states, shared_states = states;
    const auto updated = op.forward(inputs, states, {true, 1})[0];
    CHECK(updated.same_bits(op.forward(inputs, spread_states, {false, 4})[0]));
    CHECK(updated.same_bits(op.forward_in_place(inputs, 0, shared_states, {true, 4})[0]));
    for (std::size_t i = 0; i < states.size(); ++i)
      CHECK((states[i].same_bits(spread_states[i]) && states[i].same_bits(shared_states[i])));
    const auto before = weight.doubles(), grads = inputs[1].doubles(), after = updated.doubles();
    double worst = 0;
    for (std::int64_t i = 0; i < before.size(); ++i) {
      auto& of = history[static_cast<std::size_t>(i)];
      of.weights.push_back(before[i]);
      of.grads.push_back(grads[i]);
      of.rates.push_back(static_cast<double>(static_cast<float>(rate)));
      worst = std::max(worst, std::abs(after[i] - row.updated(of)) / (1 + std::abs(after[i])));
    }
    CHECK(worst <= step_tolerance(dtype));
    weight = updated;
  }
}

}  // namespace

TEST_CASE("optimizers match their formulas, in place or not, on any number of threads") {
  for (const auto& row : formulas)
    for (const auto dtype : all_floating)
      for (const tenon::Shape& shape : {tenon::Shape::scalar(), {0}, {3, 5}, {67, 3}}) {
        CAPTURE(row.op);
        CAPTURE(dtype);
        check_row(row, dtype, shape);
      }
  for (const auto& row : formulas) check_row(row, tenon::f32, {16384 + 70});
}

TEST_CASE("a 16-bit weight is trained with 32-bit moments") {
  PluginOperator op("optim", "momentum", {{"momentum", 1.0}});
  const std::vector<Array> inputs{Array(tenon::bf16, DoubleArray{{1}, {1}}),
                                  Array(tenon::bf16, DoubleArray{{1}, {0x1p-12}}), scalar(1)};
  auto states = op.make_states(inputs);
  for (int step = 0; step < 257; ++step) op.forward(inputs, states, {true, 1});
  CHECK(states[0].doubles()[0] == 257 * 0x1p-12);  // in bfloat16, the sum would stop at 256
}

#if defined(__SSE2__)
TEST_CASE(
    "denormal numbers are flushed to 0 by optimizers on the CPU, and no 16-bit weight is lost") {
  if (test_device() != nullptr) return;  // a GPU is not slower for them
  for (const std::int64_t count : {1, 40}) {
    const auto all = [&](double value) {
      return DoubleArray{{count}, std::vector<double>(static_cast<std::size_t>(count), value)};
    };
    PluginOperator op("optim", "adam", {});
    const std::vector<Array> inputs{Array(tenon::f32, all(1)), Array(tenon::f32, all(0x1p-130)),
                                    scalar(1)};
    auto states = op.make_states(inputs);
    states[0] = Array(tenon::f32, all(0x1p-126));  // a tenth less is denormal
    states[1] = Array(tenon::f32, all(0x1p-149));
    const auto updated = op.forward(inputs, states, {true, 1})[0].doubles();
    for (std::int64_t i = 0; i < count; ++i) {
      CHECK(updated[i] == 1);
      CHECK(states[0].doubles()[i] == 0);
      CHECK(states[1].doubles()[i] == 0);
    }
    PluginOperator divides(
        "optim", "rmsprop",
        {{"epsilon", 0.0}});  // divides by the root of a possibly denormal number
    auto average = divides.make_states(inputs);
    const auto moved =
        divides
            .forward({inputs[0], Array(tenon::f32, all(0x1p-70)), inputs[2]}, average, {true, 1})[0]
            .doubles();
    for (std::int64_t i = 0; i < count; ++i) CHECK(std::isfinite(moved[i]));
    for (const double least : {0x1p-24, 0x1.8p-15}) {  // denormal numbers of f16
      const std::vector<Array> narrow{Array(tenon::f16, all(least)), Array(tenon::f16, all(0)),
                                      scalar(1)};
      PluginOperator plain("optim", "sgd", {});
      auto none = plain.make_states(narrow);
      CHECK(plain.forward(narrow, none, {true, 1})[0].same_bits(narrow[0]));
    }
  }
}
#endif

TEST_CASE("optimizers infer shapes from weight or gradient, and report mismatches") {
  PluginOperator op("optim", "adam", {});
  const tenon::TensorType nothing{{}, tenon::f32}, rate{tenon::Shape::scalar(), tenon::f32};
  const auto types = op.infer({nothing, {{2, 3}, tenon::f32}, rate});
  CHECK(tenon::to_string(types.inputs[0].shape) == "[2, 3]");
  CHECK(tenon::to_string(types.states[1].shape) == "[2, 3]");
  CHECK(types.states[2].dtype == tenon::i64);
  CHECK(error_of("optim", "adam", {}, {{{2, 3}, tenon::f32}, {{3}, tenon::f32}, rate}) ==
        "input 'grad' is [3] but needs [2, 3]");
  CHECK(error_of("optim", "sgd", {}, {{{2}, tenon::f32}, {{2}, tenon::f32}, {{1}, tenon::f32}}) ==
        "input 'learning_rate' is [1] but needs []");
  CHECK(error_of("optim", "adam", {{"beta1", 1.0}}, {}).find("beta1") != std::string::npos);
}
