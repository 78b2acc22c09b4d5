#include <fmt/format.h>

#include <cmath>
#include <tenon/host/session.hpp>
#include <tenon/visit.hpp>

#include "check/test_call.hpp"
#include "graph/composition.hpp"
#include "io/counted.hpp"

namespace tenon::checks {
namespace {

constexpr std::int64_t most_elements = 2000;  // of a sample: each element that is looked at costs two runs
constexpr std::size_t most_outputs = 40, thorough_outputs = 10;
constexpr std::size_t most_looked_at = 16, few_looked_at = 6;  // elements of an input

/// How far to step, and how near the difference must come; from the digits of the dtype.
struct Precision {
  double step, tolerance, rounding;
};

/// What the inputs hold: numbers in (0.1, 0.9) times a scale, half of them negative or none.
struct InputNumbers {
  bool both_signs;
  double scale;
  Precision f64, f32;
};
constexpr InputNumbers all_input_numbers[] = {
    {false, 1, {1e-7, 1e-6, 1e-15}, {1e-2, 2e-2, 5e-7}},        {true, 1, {1e-7, 1e-6, 1e-15}, {1e-2, 2e-2, 5e-7}},
    {true, 8, {1e-5, 1e-4, 1e-15}, {5e-2, 5e-2, 5e-7}},         {true, 128, {1e-4, 1e-4, 1e-15}, {1, 1e-1, 5e-7}},
    {true, 1.0 / 512, {1e-7, 1e-5, 1e-15}, {1e-4, 5e-2, 5e-7}},
};

void set(const Tensor& tensor, std::size_t i, double value) {
  visit<Types{DType::f32, DType::f64}>(tensor.dtype(), [&]<class T>() { tensor.values<T>()[i] = static_cast<T>(value); });
}

// Every second number changes its sign, on average: functions with a corner at 0 have another slope there.
void spread(const Tensor& tensor, const InputNumbers& numbers, std::uint64_t seed) {
  if (!numbers.both_signs) return;
  RandomBits generator(seed);
  visit<floating>(tensor.dtype(), [&]<class T>() {
    for (auto& value : tensor.values<T>())
      value = static_cast<T>((generator() % 2 == 1 ? -numbers.scale : numbers.scale) * static_cast<double>(value));
  });
}

/// The operator between its inputs and one output, and the sum of that output times fixed numbers.
class Differences {
 public:
  Differences(Host& host, const CheckedOperator& subject, const TestInput& sample, std::uint32_t output)
      : subject_(subject), sample_(sample), node_(host, subject.op, sample) {
    const auto& type = sample.types.outputs[output];
    const auto dtype = static_cast<DType>(type.dtype);
    GradientOptions options;
    if (is_known(type)) {
      options.seed = node_.graph.input("seed", dtype, shape_of(type));
      inputs_["seed"] = seed_ = Tensor::empty(dtype, shape_of(type));
      fill_with_numbers(seed_, subject.seed + 50);
    }
    wide_ = dtype == DType::f64;
    std::vector<Value> wrt;
    for (std::size_t i = 0; i < sample.types.inputs.size(); ++i)
      if (SingleNode::is_input(sample, i) && is_floating(sample.types.inputs[i])) wrt.push_back(node_.inputs[i]), looked_at_.push_back(i);
    const auto gradients = node_.graph.gradient(node_.output.output(output), wrt, options);
    for (std::size_t k = 0; k < gradients.size(); ++k)
      if (!gradients[k].empty()) node_.graph.output(fmt::format("gradient_{}", looked_at_[k]), gradients[k]);
    node_.graph.output("checked", node_.output.output(output));
    session_.emplace(node_.graph);
  }

  /// What is wrong, or nothing: also where it refuses numbers that are not small and positive.
  std::string look(const InputNumbers& numbers, std::size_t most) {
    for (std::size_t i = 0; i < sample_.types.inputs.size(); ++i) add_input(numbers, i);
    try {
      const auto outputs = run();
      const double here = loss_of(outputs);
      for (const auto i : looked_at_) {
        const auto found = outputs.find(fmt::format("gradient_{}", i));
        const auto& input = inputs_.at(fmt::format("input_{}", i));
        const auto gradient = found == outputs.end() ? std::vector<double>(doubles_of(input).size()) : doubles_of(found->second);
        const bool wide = input.dtype() == DType::f64 && wide_;
        const auto& precision = wide ? numbers.f64 : numbers.f32;
        const auto stride = gradient.size() / most + 1;
        for (std::size_t k = 0; k < gradient.size(); k += stride)
          if (auto fault = compare(i, k, input, gradient[k], here, precision); !fault.empty()) return fault;
      }
    } catch (const Failure&) {
      if (!numbers.both_signs && !sample_.may_be_refused) throw;
    }
    return {};
  }

 private:
  void add_input(const InputNumbers& numbers, std::size_t i) {
    const auto& type = sample_.types.inputs[i];
    if (!SingleNode::is_input(sample_, i)) return;
    auto& tensor = inputs_[fmt::format("input_{}", i)];
    if (!tensor) tensor = Tensor::empty(static_cast<DType>(type.dtype), shape_of(type));
    fill_input(tensor, *subject_.op.info, sample_, i, subject_.seed + i);
    if (is_floating(type) && !sample_.has_elements(i)) spread(tensor, numbers, subject_.seed + 90 + i);
  }

  NamedTensors run() {
    session_->set_step(0);  // the same random numbers each time
    return session_->run(inputs_);
  }

  double loss_of(const NamedTensors& outputs) {
    const auto output = doubles_of(outputs.at("checked"));
    const auto weights = seed_ ? doubles_of(seed_) : std::vector<double>(output.size(), 1);  // of an output that its kernel allocates
    double sum = 0;
    terms_ = 0;
    for (std::size_t i = 0; i < output.size(); ++i) {
      sum += output[i] * weights[i];
      terms_ += std::abs(output[i] * weights[i]);
    }
    return sum;
  }

  // Where the slopes to both sides disagree, the function has a corner, and differences say nothing.
  std::string compare(std::size_t i, std::size_t k, const Tensor& input, double gradient, double here, const Precision& precision) {
    const auto [step, tolerance, rounding] = precision;
    const double value = doubles_of(input)[k];
    set(input, k, value + step);
    const double up = (loss_of(run()) - here) / step;
    set(input, k, value - step);
    const double down = (here - loss_of(run())) / step;
    set(input, k, value);
    const double slope = (up + down) / 2, allowed = tolerance * (1 + std::abs(slope) + std::abs(gradient)) + rounding * terms_ / step;
    if (!std::isfinite(slope) || std::abs(up - down) > 2 * allowed || std::abs(slope - gradient) <= allowed) return {};
    return fmt::format("element {} of the gradient of input {} is {}, but differences of forward give {}", k, i, gradient, slope);
  }

  const CheckedOperator& subject_;
  const TestInput& sample_;
  double terms_ = 0;  // the magnitudes of what the last loss is the sum of
  SingleNode node_;
  Tensor seed_;  // empty: ones
  bool wide_ = false;
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
  const auto* const kernel = subject.op.kernel(TENON_CPU);
  if ((kernel == nullptr || kernel->backward == nullptr) && subject.op.table->gradient == nullptr && !is_composed(subject.op))
    return skipped("it has no gradient");
  auto options = host_options(subject);
  options.search_defaults = true;  // a gradient that is a graph may use any operator
  Host host(options);
  for (const auto& plugin : subject.plugins) host.add_plugins(plugin);
  const auto dtype = allows(info.types, DType::f64) ? DType::f64 : DType::f32;
  if (!allows(info.types, dtype)) return skipped("differences need float32 or float64, and it has neither");
  const auto& samples = find_samples(subject, dtype, TestInputKind::ordinary);
  std::size_t count = 0;
  bool any_floating = false;
  for (const auto& sample : samples.found) {
    std::uint32_t output = 0;
    for (const auto& declared : info.outputs)
      for (auto left = OperatorCall(subject.op, sample.attributes).count_of(declared); left > 0; --left, ++output) {
        if (declared.hidden || !Types{DType::f32, DType::f64}.has(static_cast<DType>(sample.types.outputs[output].dtype))) continue;
        any_floating = true;
        if (count == most_outputs || !is_small(sample)) continue;
        Differences differences(host, subject, sample, output);
        const bool thorough = count < thorough_outputs;
        for (std::size_t i = 0; i < std::size(all_input_numbers); ++i) {
          if (!thorough && i != 1 && i != count % std::size(all_input_numbers)) continue;
          const auto& numbers = all_input_numbers[i];
          const auto words = fmt::format(", numbers {}up to {}", numbers.both_signs ? "of both signs " : "", 0.9 * numbers.scale);
          tell_call(info, sample, words);
          if (auto fault = differences.look(numbers, thorough ? most_looked_at : few_looked_at); !fault.empty())
            return failed(fault + ", with " + describe_sample(info, sample) + words);
        }
        ++count;
      }
  }
  if (count > 0) return passed(counted(count, "output"));
  if (samples.found.empty()) return untried(samples.refusals);
  if (!any_floating) return skipped("no output has a gradient");
  return {Verdict::untried, "nothing could be checked: all calls that it accepts have too many elements for differences"};
}

}  // namespace tenon::checks
