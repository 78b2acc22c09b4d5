// Compares first and second derivatives with finite differences.
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <optional>

#include "check/differences.hpp"
#include "graph/composition.hpp"
#include "io/counted.hpp"

namespace tenon::checks {
namespace {

using Order = Differences::Order;

/// Number of outputs to examine, of which the first ones use all input distributions, and number of
/// elements per input.
struct Effort {
  std::size_t outputs, thorough;
  std::size_t elements, elements_of_thorough;
};
constexpr Effort of_real{40, 10, 6, 16}, of_complex{4, 1, 6, 12}, of_second{4, 0, 3, 3};

const char* surrogate_reason(const OperatorInfo& info) {
  return info.surrogate_gradient ? "its gradient is intentionally not the derivative of forward"
                                 : nullptr;
}

/// Why the operator with its parameters has no second derivative; null if it has one.
const char* no_second_derivative(const LoadedOperator& op, const OperatorInfo& info, DType dtype) {
  if (!info.linear.empty()) return nullptr;
  if (info.has("backward") && op.table->gradient != nullptr) return nullptr;
  if (!info.derivative) return "it declares no second derivative";
  return any_complex.has(dtype)
             ? "elementwise functions of complex numbers have no second derivative"
             : nullptr;
}

class GradientCheck {
 public:
  GradientCheck(const CheckedOperator& checked, Order order)
      : checked_(checked), order_(order), host_(options_for(checked)) {
    add_operators(host_, checked);
  }

  /// Returns what is wrong; empty if nothing.
  std::string test(DType dtype, const Effort& effort) {
    const auto& samples = find_samples(checked_, dtype, TestInputKind::ordinary);
    refusals_.add(samples.refusals);
    found_ = found_ || !samples.found.empty();
    std::size_t tested = 0;
    for (const auto& sample : samples.found)
      for (const auto output : outputs_with_gradient(sample, dtype)) {
        any_ = true;
        if (tested == effort.outputs || !is_small(sample)) continue;
        const auto accepted = accepted_by_kernel(checked_, sample, refusals_);
        if (!accepted) continue;
        if (auto fault = test(*accepted, output, tested, effort); !fault.empty()) return fault;
        ++tested;
      }
    return {};
  }

  Outcome outcome() const {
    if (count_ > 0) return passed(counted(count_, "output") + describe_repeated(repeated_));
    if (!found_) return untried(refusals_);
    if (!any_)
      return skipped(order_ == Order::first ? "no output has a gradient"
                                            : "no output has a second derivative");
    if (independent_) return skipped("no output depends on an input that has a gradient");
    if (refusals_.reached() >= Refusals::kernel) return untried(refusals_);
    return {Verdict::untried,
            "nothing could be checked: all calls that it accepts have too many elements for finite "
            "differences"};
  }

 private:
  static HostOptions options_for(const CheckedOperator& checked) {
    auto options = host_options(checked);
    options.search_defaults = true;  // the gradient may be a graph of any operators
    return options;
  }

  std::vector<std::uint32_t> outputs_with_gradient(const TestInput& sample, DType dtype) const {
    const OperatorCall call(checked_.op, sample.attributes);
    std::vector<std::uint32_t> outputs;
    if (order_ == Order::second && no_second_derivative(checked_.op, call.info(), dtype) != nullptr)
      return outputs;
    std::uint32_t output = 0;
    for (const auto& declared : call.info().outputs)
      for (auto left = call.count_of(declared); left > 0; --left, ++output)
        if (!declared.hidden &&
            perturbable.has(static_cast<DType>(sample.types.outputs[output].dtype)))
          outputs.push_back(output);
    return outputs;
  }

  std::string test(const TestInput& sample, std::uint32_t output, std::size_t tested,
                   const Effort& effort) {
    const bool thorough = tested < effort.thorough;
    std::optional<Differences> differences;
    bool compared = false;
    for (std::size_t i = 0; i < std::size(all_input_numbers); ++i) {
      if (!thorough && i != 1 && i != tested % std::size(all_input_numbers)) continue;
      const auto description = describe_numbers(all_input_numbers[i]);
      report_call(*checked_.op.info, sample, description);
      if (!differences) differences.emplace(host_, checked_, sample, output, order_);
      if (!differences->has_slopes()) return independent_ = true, "";
      const auto fault = differences->test(
          all_input_numbers[i], thorough ? effort.elements_of_thorough : effort.elements);
      if (fault && !fault->empty())
        return fmt::format("{}, with {}{}", *fault, describe_sample(*checked_.op.info, sample),
                           description);
      compared = compared || fault.has_value();
    }
    if (differences) repeated_ += differences->repeated();
    if (compared) ++count_;
    return {};
  }

  const CheckedOperator& checked_;
  Order order_;
  Host host_;
  Refusals refusals_;
  std::size_t count_ = 0, repeated_ = 0;
  bool found_ = false, any_ = false;  // whether there are samples, and an output with a gradient
  bool independent_ = false;          // whether some output depends on no input
};

/// The first of these dtypes that the operator supports, if any.
std::optional<DType> first_of(std::initializer_list<DType> dtypes, const OperatorInfo& info) {
  const auto* const found = std::find_if(dtypes.begin(), dtypes.end(),
                                         [&](DType dtype) { return allows(info.types, dtype); });
  return found == dtypes.end() ? std::nullopt : std::optional(*found);
}

constexpr char no_dtype[] =
    "finite differences need float32, float64 or a complex dtype, but it supports none of them";

}  // namespace

Outcome check_gradient(const CheckedOperator& checked) {
  const auto& info = *checked.op.info;
  const auto* const kernel = checked.op.kernel(TENON_CPU);
  if ((kernel == nullptr || kernel->backward == nullptr) && checked.op.table->gradient == nullptr &&
      !is_composed(checked.op))
    return skipped("it has no gradient");
  if (const auto* const reason = surrogate_reason(info)) return skipped(reason);
  const auto real = first_of({DType::f64, DType::f32}, info),
             complex = first_of({DType::c128, DType::c64}, info);
  if (!real && !complex) return skipped(no_dtype);
  GradientCheck check(checked, Order::first);
  for (const auto& [dtype, effort] : {std::pair{real, of_real}, {complex, of_complex}})
    if (dtype)
      if (auto fault = check.test(*dtype, effort); !fault.empty()) return failed(fault);
  return check.outcome();
}

Outcome check_second(const CheckedOperator& checked) {
  const auto& info = *checked.op.info;
  if (const auto* const reason = surrogate_reason(info)) return skipped(reason);
  const auto dtype = first_of({DType::f64, DType::f32, DType::c128, DType::c64}, info);
  if (const auto* const reason = no_second_derivative(checked.op, info, dtype.value_or(DType::f64)))
    return skipped(reason);
  if (!dtype) return skipped(no_dtype);
  GradientCheck check(checked, Order::second);
  if (auto fault = check.test(*dtype, of_second); !fault.empty()) return failed(fault);
  return check.outcome();
}

}  // namespace tenon::checks
