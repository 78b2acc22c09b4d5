#include "check/differences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tenon/host/failure.hpp>
#include <tenon/visit.hpp>

namespace tenon::checks {
namespace {

bool is_perturbable(const tenon_type& type) {
  return type.present && perturbable.has(static_cast<DType>(type.dtype));
}

bool is_narrow(DType dtype) {
  return dtype != DType::f64 && dtype != DType::c128;
}

/// Sets element k, counted as in doubles_of().
void set(const Tensor& tensor, std::size_t k, double value) {
  visit<perturbable>(tensor.dtype(), [&]<class T>() {
    auto values = tensor.values<T>();
    if constexpr (!is_complex<T>)
      values[k] = static_cast<T>(value);
    else
      (k % 2 == 0 ? values[k / 2].re : values[k / 2].im) = static_cast<decltype(T::re)>(value);
  });
}

// Flips the sign of about half of the numbers, because functions with a corner at 0 have another
// slope there.
void randomize_signs(const Tensor& tensor, const InputNumbers& numbers, std::uint64_t seed) {
  if (!numbers.both_signs) return;
  RandomBits generator(seed);
  visit<perturbable>(tensor.dtype(), [&]<class T>() {
    for (auto& value : tensor.values<T>()) {
      const double factor = generator() % 2 == 1 ? -numbers.scale : numbers.scale;
      if constexpr (is_complex<T>)
        value = value * T(static_cast<decltype(T::re)>(factor));
      else
        value = static_cast<T>(factor * static_cast<double>(value));
    }
  });
}

std::string element_label(const Tensor& tensor, std::size_t k) {
  if (!any_complex.has(tensor.dtype())) return fmt::format("element {}", k);
  return fmt::format("the {} part of element {}", k % 2 == 0 ? "real" : "imaginary", k / 2);
}

}  // namespace

std::string describe_numbers(const InputNumbers& numbers) {
  return fmt::format(", numbers {}up to {}", numbers.both_signs ? "of both signs " : "",
                     0.9 * numbers.scale);
}

bool is_small(const TestInput& sample) {
  constexpr std::int64_t max_elements = 2000;
  std::int64_t elements = 0;
  for (const auto& type : sample.types.inputs)
    if (type.present) elements += element_count(type);
  return elements <= max_elements;
}

Differences::Differences(Host& host, const CheckedOperator& checked, const TestInput& sample,
                         std::uint32_t output, Order order)
    : checked_(checked), sample_(sample), order_(order), node_(host, checked.op, sample) {
  for (std::size_t i = 0; i < sample.types.inputs.size(); ++i) {
    if (!SingleNode::is_input(sample, i) || !is_perturbable(sample.types.inputs[i])) continue;
    const auto& declared = checked.op.info->inputs;
    // sizes and similar inputs are not trained
    if (declared[std::min(i, declared.size() - 1)].on_cpu) continue;
    wrt_.push_back(node_.inputs[i]);
    checked_inputs_.push_back({fmt::format("input_{}", i), fmt::format("gradient of input {}", i)});
  }
  const auto value = node_.output.output(output);
  order == Order::first ? build_first(value) : build_second(value);
  for (const auto& [name, seed] : loss_) loss_only_.outputs.push_back(name);
  if (has_slopes()) session_.emplace(node_.graph);
}

/// A graph input with the weights of one term of the loss; empty if its size is unknown.
Value Differences::seed_for(Value output, const std::string& name, std::uint64_t seed) {
  const auto shape = node_.graph.shape(output);
  const auto dtype = node_.graph.dtype(output);
  narrow_ = narrow_ || is_narrow(dtype);
  if (!shape.known()) return {};
  auto& factors = inputs_[name] = Tensor::empty(dtype, shape);
  fill_with_numbers(factors, checked_.seed + seed);
  return node_.graph.input(name, dtype, shape);
}

void Differences::add_gradients(Value differentiated, const std::string& name,
                                const GradientOptions& options) {
  const auto gradients = node_.graph.gradient(differentiated, wrt_, options);
  for (std::size_t k = 0; k < gradients.size(); ++k) {
    if (gradients[k].empty()) continue;
    checked_inputs_[k].gradients.push_back(fmt::format("{}_{}", name, k));
    node_.graph.output(checked_inputs_[k].gradients.back(), gradients[k]);
  }
}

void Differences::build_first(Value output) {
  GradientOptions options;
  options.seed = seed_for(output, "seed", 50);
  add_gradients(output, "gradient", options);
  node_.graph.output("loss", output);
  loss_["loss"] = "seed";
}

// One gradient at a time, since summing them would need more operators; the slope of a sum is the
// sum of the slopes.
void Differences::build_second(Value output) {
  GradientOptions options;
  options.seed = seed_for(output, "seed", 50);
  const auto gradients = node_.graph.gradient(output, wrt_, options);
  if (!options.seed.empty()) {
    wrt_.push_back(options.seed);
    checked_inputs_.push_back({"seed", "gradient of the output's gradient"});
  }
  for (std::size_t k = 0; k < gradients.size(); ++k) {
    if (gradients[k].empty()) continue;
    const auto name = fmt::format("loss_{}", k), seed = fmt::format("seed_{}", k);
    GradientOptions again;
    again.seed = seed_for(gradients[k], seed, 60 + k);
    add_gradients(gradients[k], fmt::format("second_{}", k), again);
    node_.graph.output(name, gradients[k]);
    loss_[name] = seed;
  }
}

std::optional<std::string> Differences::test(const InputNumbers& numbers,
                                             std::size_t max_elements) {
  for (std::size_t i = 0; i < sample_.types.inputs.size(); ++i) add_input(numbers, i);
  repeated_of_test_ = 0;
  bool forward_accepts = false;
  try {
    run(loss_only_);
    forward_accepts = true;
    const auto outputs = run({});
    const double here = loss_of(outputs);
    for (const auto& checked_input : checked_inputs_) {
      const auto& input = inputs_.at(checked_input.input);
      const auto gradient = gradient_of(checked_input, outputs);
      const auto& precision = narrow_ || is_narrow(input.dtype()) ? numbers.narrow : numbers.wide;
      auto stride = gradient.size() / max_elements + 1;
      // an odd stride visits real and imaginary parts
      if (any_complex.has(input.dtype())) stride |= 1U;
      for (std::size_t k = 0; k < gradient.size(); k += stride) {
        auto comparison = compare(checked_input, k, gradient[k], here, precision);
        if (comparison.verdict == Comparison::unclear)
          comparison = repeat_nearby(checked_input, k, precision);
        if (comparison.verdict == Comparison::differs)
          return describe(checked_input, k, comparison);
      }
    }
  } catch (const Failure& failure) {
    if (is_kernel_bug(failure) || (forward_accepts && !numbers.both_signs)) throw;
    return std::nullopt;
  }
  return std::string();
}

std::vector<double> Differences::gradient_of(const CheckedInput& checked_input,
                                             const NamedTensors& outputs) {
  std::vector<double> gradient(doubles_of(inputs_.at(checked_input.input)).size());
  for (const auto& name : checked_input.gradients) {
    const auto term = doubles_of(outputs.at(name));
    for (std::size_t k = 0; k < gradient.size(); ++k) gradient[k] += term[k];
  }
  return gradient;
}

void Differences::add_input(const InputNumbers& numbers, std::size_t i) {
  const auto& type = sample_.types.inputs[i];
  if (!SingleNode::is_input(sample_, i)) return;
  auto& tensor = inputs_[fmt::format("input_{}", i)];
  if (!tensor) tensor = Tensor::empty(static_cast<DType>(type.dtype), shape_of(type));
  fill_input(tensor, *checked_.op.info, sample_, i, checked_.seed + i);
  if (is_perturbable(type) && !sample_.has_elements(i))
    randomize_signs(tensor, numbers, checked_.seed + 90 + i);
}

NamedTensors Differences::run(const RunOptions& options) {
  session_->set_step(0);  // the same random numbers each time
  return session_->run(inputs_, options);
}

double Differences::loss_of(const NamedTensors& outputs) {
  double sum = 0, compensation = 0;  // Kahan summation, since there are many terms
  terms_ = 0;
  for (const auto& [name, seed] : loss_) {
    const auto output = doubles_of(outputs.at(name));
    const auto found = inputs_.find(seed);  // absent for an output that its kernel allocates
    const auto factors =
        found != inputs_.end() ? doubles_of(found->second) : std::vector<double>(output.size(), 1);
    for (std::size_t i = 0; i < output.size(); ++i) {
      const double term = output[i] * factors[i], next = term - compensation, total = sum + next;
      compensation = (total - sum) - next;
      sum = total;
      terms_ += std::abs(term);
    }
  }
  return sum;
}

/// One-sided slopes in both directions of element k of an input.
Differences::Slopes Differences::slopes(const Tensor& input, std::size_t k, double here,
                                        double step) {
  const double value = doubles_of(input)[k];
  set(input, k, value + step);
  const double up = (loss_of(run(loss_only_)) - here) / step;
  set(input, k, value - step);
  const double down = (here - loss_of(run(loss_only_))) / step;
  set(input, k, value);
  return {up, down};
}

// If the one-sided slopes differ, there is a kink. If they depend on the step, the function jumps,
// like the gradient of a maximum between two equal elements. At a kink, the gradient is that of a
// side or between them.
Differences::Comparison Differences::compare(const CheckedInput& checked_input, std::size_t k,
                                             double gradient, double here,
                                             const Precision& precision) {
  const auto& input = inputs_.at(checked_input.input);
  const auto near = slopes(input, k, here, precision.step);
  const double slope = near.mean(), size = 1 + std::abs(slope) + std::abs(gradient);
  const double allowed = precision.tolerance * size + precision.rounding * terms_ / precision.step;
  if (!std::isfinite(slope) || std::abs(slope - gradient) <= allowed)
    return {Comparison::agrees, gradient, slope};
  const bool is_kink = std::abs(near.up - near.down) > 2 * allowed;
  const auto wider = slopes(input, k, here, 2 * precision.step);
  if (!is_kink) {
    const bool jumps = std::abs(wider.mean() - slope) > std::abs(slope - gradient) / 4;
    return {jumps ? Comparison::unclear : Comparison::differs, gradient, slope};
  }
  const auto [low, high] = std::minmax(near.up, near.down);
  const bool is_between = gradient >= low - allowed && gradient <= high + allowed;
  const double outside = gradient < low ? low - gradient : gradient - high;
  const bool jumps =
      std::max(std::abs(wider.up - near.up), std::abs(wider.down - near.down)) > outside / 4;
  if (is_between || jumps) return {Comparison::unclear, gradient, slope};
  return {Comparison::differs, gradient, gradient < low ? low : high};
}

// The first element nearby that is far enough from the kink or jump decides. A function may have
// such places everywhere, for example one that rounds to numbers that are closer than the steps.
Differences::Comparison Differences::repeat_nearby(const CheckedInput& checked_input, std::size_t k,
                                                   const Precision& precision) {
  constexpr double displacements[] = {3.5, -3.5, 8.5};  // in steps; comparisons look 2 steps far
  constexpr std::size_t max_elements = 2;               // of a test, because each costs many runs
  Comparison comparison{Comparison::unclear, 0, 0};
  if (repeated_of_test_ == max_elements) return comparison;
  ++repeated_, ++repeated_of_test_;
  const auto& input = inputs_.at(checked_input.input);
  const double value = doubles_of(input)[k];
  for (const double displacement : displacements) {
    set(input, k, value + displacement * precision.step);
    try {
      const auto outputs = run({});
      comparison = compare(checked_input, k, gradient_of(checked_input, outputs)[k],
                           loss_of(outputs), precision);
    } catch (const Failure& failure) {  // it may reject the number
      if (is_kernel_bug(failure)) throw;
    }
    if (comparison.verdict != Comparison::unclear) break;
  }
  set(input, k, value);
  return comparison;
}

std::string Differences::describe(const CheckedInput& checked_input, std::size_t k,
                                  const Comparison& comparison) const {
  return fmt::format("{} of the {}{} is {}, but finite differences of {} give {}",
                     element_label(inputs_.at(checked_input.input), k),
                     order_ == Order::first ? "" : "second ", checked_input.description,
                     comparison.gradient, order_ == Order::first ? "forward" : "the gradient",
                     comparison.slope);
}

}  // namespace tenon::checks
