// Dtypes and shapes that a kernel accepts.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <tenon/host/failure.hpp>
#include <tenon/visit.hpp>

#include "check/calls/test_call.hpp"
#include "check/check.hpp"
#include "check/precision.hpp"
#include "check/test_input.hpp"
#include "io/counted.hpp"
#include "tensor/dtype_traits.hpp"

namespace tenon::checks {

namespace {

/// Fills with sixteenths, which every floating-point dtype represents exactly.
void fill_with_sixteenths(const Tensor& tensor, std::uint64_t seed) {
  RandomBits generator(seed);
  visit<floating>(tensor.dtype(), [&]<class T>() {
    for (auto& value : tensor.values<T>())
      value = static_cast<T>(static_cast<float>(generator() % 14 + 2) / 16);
  });
}

/// Nothing if the kernel rejects the elements.
std::optional<std::vector<Tensor>> outputs_with(const CheckedOperator& checked,
                                                const OperatorCall& call, const TestInput& sample) {
  Threads threads(1);
  TestCall test_call(call, sample, checked.seed, Placement::aligned, 0);
  for (std::size_t i = 0; i < test_call.inputs.size(); ++i)
    if (is_floating(sample.types.inputs[i]) && !sample.has_elements(i))
      fill_with_sixteenths(test_call.inputs[i], checked.seed + i);
  try {
    test_call.run(threads);
  } catch (const Failure& failure) {
    if (is_kernel_bug(failure)) throw;
    return std::nullopt;
  }
  return test_call.outputs;
}

/// Random operators and non-floating-point outputs are not compared.
std::string compare_with_widest(const std::vector<Tensor>& outputs,
                                const std::vector<Tensor>& widest, DType dtype, DType wide) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!floating.has(outputs[i].dtype()) || outputs[i].dtype() == widest[i].dtype() ||
        outputs[i].shape() != widest[i].shape())
      continue;
    const auto narrow = doubles_of(outputs[i]), right = doubles_of(widest[i]);
    double largest = 0;
    for (const double number : right)
      largest = std::isfinite(number) ? std::max(largest, std::abs(number)) : largest;
    for (std::size_t k = 0; k < right.size(); ++k)
      if (std::isfinite(right[k]) && std::isfinite(narrow[k]) &&
          std::abs(narrow[k] - right[k]) >
              traits_of(dtype).tolerance.widest_dtype * (1e-3 + largest))
        return fmt::format("element {} of output {} is {} with {}, but {} with {}", k, i, narrow[k],
                           name_of(dtype), right[k], name_of(wide));
  }
  return {};
}

/// Compares each floating-point dtype with the widest one.
std::string compare_dtypes(const CheckedOperator& checked, DType wide) {
  constexpr std::size_t max_samples = 12;
  const auto& info = *checked.op.info;
  const auto& samples = find_samples(checked, wide, TestInputKind::ordinary).found;
  for (std::size_t s = 0; s < std::min(max_samples, samples.size()); ++s) {
    report_call(info, samples[s]);
    const OperatorCall call(checked.op, samples[s].attributes);
    const auto widest = outputs_with(checked, call, samples[s]);
    if (!widest) continue;
    for (const auto dtype : {DType::f32, DType::f16, DType::bf16}) {
      if (dtype == wide || !allows(info.types, dtype)) continue;
      const auto sample = with_dtype(call, samples[s], dtype);
      if (!sample) continue;
      report_call(info, *sample);
      const auto narrow = outputs_with(checked, call, *sample);
      const auto fault =
          narrow ? compare_with_widest(*narrow, *widest, dtype, wide) : std::string();
      if (!fault.empty()) return fault + ", with " + describe_sample(info, *sample);
    }
  }
  return {};
}

/// Tries the sample's elements, other indices, and zeros or ones in the inputs of the shared dtype.
bool kernel_accepts(const CheckedOperator& checked, const TestInput& sample, Refusals& refusals) {
  const auto& info = *checked.op.info;
  try {
    if (accepted_by_kernel(checked, sample, refusals)) return true;
    for (const double number : {1.0, 0.0}) {
      auto other = sample;
      other.elements.resize(sample.types.inputs.size());
      for (std::size_t i = 0; i < other.elements.size(); ++i) {
        const auto& type = sample.types.inputs[i];
        if (!type.present || sample.has_elements(i) || info.inputs[declared_input(info, i)].types)
          continue;
        const std::vector<double> numbers(static_cast<std::size_t>(element_count(type)), number);
        other.elements[i] = elements_in(numbers, static_cast<DType>(type.dtype), shape_of(type));
      }
      if (accepted_by_kernel(checked, other, refusals)) return true;
    }
  } catch (const Failure& failure) {
    refusals.add(Refusals::kernel + 1, failure.what());
  }
  return false;
}

}  // namespace

Outcome check_dtypes(const CheckedOperator& checked) {
  const auto& info = *checked.op.info;
  const bool shared = std::any_of(info.inputs.begin(), info.inputs.end(),
                                  [](const auto& input) { return !input.types; });
  if (!shared) return skipped("no input uses the operator's shared dtype");
  int count = 0;
  Refusals refusals;
  std::string unaccepted, unaccepted_reason, refused;
  for (unsigned i = 0; i < TENON_DTYPE_COUNT; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (!allows(info.types, dtype)) continue;
    const auto samples = find_sample(checked, dtype);
    if (samples.found.empty()) {
      unaccepted = name_of(dtype);
      unaccepted_reason = samples.refusals.nearest();
      refusals.add(samples.refusals);
      continue;
    }
    Refusals dtype_refusals;
    const bool accepted = std::any_of(
        samples.found.begin(), samples.found.end(),
        [&](const TestInput& sample) { return kernel_accepts(checked, sample, dtype_refusals); });
    refusals.add(dtype_refusals);
    count += accepted ? 1 : 0;
    if (!accepted)
      refused = fmt::format("{} is declared, but the kernel refuses it: {}", name_of(dtype),
                            dtype_refusals.nearest());
  }
  // it accepts such elements with another dtype
  if (!refused.empty() && (count > 0 || is_kernel_bug(refused))) return failed(refused);
  if (count == 0) return untried(refusals);
  if (!unaccepted.empty())
    return failed(fmt::format("{} is declared, but no inputs of this dtype are accepted: {}",
                              unaccepted, unaccepted_reason));
  const auto wide = allows(info.types, DType::f64) ? DType::f64 : DType::f32;
  if (allows(info.types, wide) && !info.random)
    if (auto fault = compare_dtypes(checked, wide); !fault.empty()) return failed(fault);
  const auto precision = check_precision(checked);
  if (!precision.fault.empty()) return failed(precision.fault);
  auto sentence = counted(count, "dtype");
  if (precision.calls > 0)
    sentence += fmt::format(", {} in precision bfloat16", counted(precision.calls, "call"));
  return passed(sentence);
}

// An error with a reason is a valid answer (there is no largest element of an empty tensor); this
// check finds crashes and hangs.
Outcome check_shapes(const CheckedOperator& checked) {
  constexpr std::size_t max_ordinary = 8;
  Threads threads(1);
  int ran = 0, refused = 0;
  Refusals searched, refusals;  // of the search, and of kernels
  for (const auto kind :
       {TestInputKind::empty, TestInputKind::scalar, TestInputKind::odd, TestInputKind::ordinary}) {
    const auto& samples = find_samples(checked, kind);
    searched.add(samples.refusals);
    for (std::size_t i = 0; i < samples.found.size(); ++i) {
      if (kind == TestInputKind::ordinary && i == max_ordinary) break;
      const auto& sample = samples.found[i];
      report_call(*checked.op.info, sample);
      const OperatorCall call(checked.op, sample.attributes);
      TestCall aligned(call, sample, checked.seed),
          unaligned(call, sample, checked.seed, Placement::unaligned);
      try {
        aligned.run(threads);
        unaligned.run(threads);
        ++ran;
      } catch (const Failure& failure) {
        if (is_kernel_bug(failure)) throw;
        refusals.add(Refusals::kernel, failure.what());
        ++refused;
      }
    }
  }
  if (ran == 0) return searched.add(refusals), untried(searched);
  const auto reason = refused > 0 ? ", such as: " + refusals.nearest() : std::string();
  return passed(
      fmt::format("{} ran, {} refused with a reason{}", counted(ran, "call"), refused, reason));
}

}  // namespace tenon::checks
