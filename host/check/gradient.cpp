#include <fmt/format.h>

#include <cmath>
#include <tenon/host/session.hpp>
#include <tenon/visit.hpp>

#include "check/test_call.hpp"
#include "io/counted.hpp"

namespace tenon::checks {
namespace {

constexpr std::int64_t most_elements = 2000;  // of a sample: each element that is looked at costs three runs
constexpr std::size_t most_looked_at = 16;    // elements of an input

/// What the inputs hold: numbers in (0.1, 0.9), half of these negative, or eight times that.
enum class InputNumbers : std::uint8_t { positive, both_signs, wide };

/// How far to step, and how near the difference must come; from the digits of the dtype.
struct Precision {
  double step, tolerance, rounding;
};
Precision precision_of(DType dtype, InputNumbers numbers) {
  const bool wide = numbers == InputNumbers::wide;
  if (dtype == DType::f64) return wide ? Precision{1e-5, 1e-4, 1e-15} : Precision{1e-7, 1e-6, 0};
  return wide ? Precision{5e-2, 5e-2, 5e-7} : Precision{1e-2, 2e-2, 0};
}

void set(const Tensor& tensor, std::size_t i, double value) {
  visit<Types{DType::f32, DType::f64}>(tensor.dtype(), [&]<class T>() { tensor.values<T>()[i] = static_cast<T>(value); });
}

// Every second number changes its sign, on average: functions with a corner at 0 have another slope there.
void spread(const Tensor& tensor, InputNumbers numbers, std::uint64_t seed) {
  RandomBits generator(seed);
  const float scale = numbers == InputNumbers::wide ? 8.F : 1.F;
  visit<floating>(tensor.dtype(), [&]<class T>() {
    for (auto& value : tensor.values<T>()) value = static_cast<T>((generator() % 2 == 1 ? -scale : scale) * value);
  });
}

/// The operator between its inputs and one output, and the sum of that output times fixed numbers.
class Differences {
 public:
  Differences(Host& host, const CheckedOperator& subject, const TestInput& sample, std::uint32_t output, InputNumbers numbers)
      : sample_(sample), numbers_(numbers), node_(host, subject.op, sample) {
    const auto& type = sample.types.outputs[output];
    const auto dtype = static_cast<DType>(type.dtype);
    const auto seed = node_.graph.input("seed", dtype, shape_of(type));
    seed_ = Tensor::empty(dtype, shape_of(type));
    fill_with_numbers(seed_, subject.seed + 50);
    std::vector<Value> wrt;
    for (std::size_t i = 0; i < sample.types.inputs.size(); ++i)
      if (is_floating(sample.types.inputs[i])) wrt.push_back(node_.inputs[i]), looked_at_.push_back(i);
    GradientOptions options;
    options.seed = seed;
    const auto gradients = node_.graph.gradient(node_.output.output(output), wrt, options);
    for (std::size_t k = 0; k < gradients.size(); ++k)
      if (!gradients[k].empty()) node_.graph.output(fmt::format("gradient_{}", looked_at_[k]), gradients[k]);
    node_.graph.output("checked", node_.output.output(output));
    for (std::size_t i = 0; i < sample.types.inputs.size(); ++i) add_input(subject, i);
    inputs_["seed"] = seed_;
    session_.emplace(node_.graph);
  }

  /// What is wrong, or nothing.
  std::string look() {
    const auto outputs = run();
    for (const auto i : looked_at_) {
      const auto found = outputs.find(fmt::format("gradient_{}", i));
      const auto& input = inputs_.at(fmt::format("input_{}", i));
      const auto gradient = found == outputs.end() ? std::vector<double>(doubles_of(input).size()) : doubles_of(found->second);
      const auto stride = gradient.size() / most_looked_at + 1;
      for (std::size_t k = 0; k < gradient.size(); k += stride)
        if (auto fault = compare(i, k, input, gradient[k]); !fault.empty()) return fault;
    }
    return {};
  }

 private:
  void add_input(const CheckedOperator& subject, std::size_t i) {
    const auto& type = sample_.types.inputs[i];
    if (!type.present) return;
    auto tensor = Tensor::empty(static_cast<DType>(type.dtype), shape_of(type));
    fill_with_numbers(tensor, subject.seed + i, indices_of(*subject.op.info, sample_.types, i));
    if (numbers_ != InputNumbers::positive && is_floating(type)) spread(tensor, numbers_, subject.seed + 90 + i);
    inputs_[fmt::format("input_{}", i)] = tensor;
  }

  NamedTensors run() {
    session_->set_step(0);  // the same random numbers each time
    return session_->run(inputs_);
  }

  double loss() {
    const auto output = doubles_of(run().at("checked")), weights = doubles_of(seed_);
    double sum = 0;
    terms_ = 0;
    for (std::size_t i = 0; i < output.size(); ++i) {
      sum += output[i] * weights[i];
      terms_ += std::abs(output[i] * weights[i]);
    }
    return sum;
  }

  // Where the slopes to both sides disagree, the function has a corner, and differences say nothing.
  std::string compare(std::size_t i, std::size_t k, const Tensor& input, double gradient) {
    const auto [step, tolerance, rounding] = precision_of(input.dtype(), numbers_);
    const double value = doubles_of(input)[k], here = loss();
    set(input, k, value + step);
    const double up = (loss() - here) / step;
    set(input, k, value - step);
    const double down = (here - loss()) / step;
    set(input, k, value);
    const double slope = (up + down) / 2, allowed = tolerance * (1 + std::abs(slope) + std::abs(gradient)) + rounding * terms_ / step;
    if (!std::isfinite(slope) || std::abs(up - down) > 2 * allowed || std::abs(slope - gradient) <= allowed) return {};
    return fmt::format("element {} of the gradient of input {} is {}, but differences of forward give {}", k, i, gradient, slope);
  }

  const TestInput& sample_;
  const InputNumbers numbers_;
  double terms_ = 0;  // the magnitudes of what the last loss is the sum of
  SingleNode node_;
  Tensor seed_;
  std::vector<std::size_t> looked_at_;
  NamedTensors inputs_;
  std::optional<Session> session_;
};

bool is_small(const TestInput& sample) {
  std::int64_t elements = 0;
  for (const auto& type : sample.types.inputs)
    if (type.present) elements += element_count(type);
  return elements <= most_elements;
}

}  // namespace

Outcome check_gradient(const CheckedOperator& subject) {
  const auto& info = *subject.op.info;
  if (subject.op.kernel(TENON_CPU)->backward == nullptr && subject.op.table->gradient == nullptr) return skipped("it has no gradient");
  auto options = host_options(subject);
  options.search_defaults = true;  // a gradient that is a graph may use any operator
  Host host(options);
  for (const auto& plugin : subject.plugins) host.add_plugins(plugin);
  const auto dtype = allows(info.types, DType::f64) ? DType::f64 : DType::f32;
  if (!allows(info.types, dtype)) return skipped("differences need float32 or float64, and it has neither");
  const auto samples = find_samples(subject.op, dtype, TestInputKind::ordinary);
  std::size_t count = 0;
  for (const auto& sample : samples.found) {
    if (count == 12 || !is_small(sample)) continue;
    std::uint32_t output = 0;
    for (const auto& declared : info.outputs)
      for (auto left = OperatorCall(subject.op, sample.attributes).count_of(declared); left > 0; --left, ++output) {
        if (declared.hidden || !is_floating(sample.types.outputs[output])) continue;
        for (const auto numbers : {InputNumbers::positive, InputNumbers::both_signs, InputNumbers::wide})
          if (auto fault = Differences(host, subject, sample, output, numbers).look(); !fault.empty())
            return failed(fault + ", with " + describe_sample(info, sample));
        ++count;
      }
  }
  if (count == 0)
    return skipped(samples.found.empty() ? "no inputs were found that it accepts: " + samples.error : "no output has a gradient");
  return passed(counted(count, "output"));
}

}  // namespace tenon::checks
