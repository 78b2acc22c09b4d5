// Compares kernel variants with the operator's own kernel.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "check/calls/device_comparison.hpp"
#include "check/calls/guarded_calls.hpp"
#include "check/calls/test_call.hpp"
#include "check/precision.hpp"
#include "io/counted.hpp"

namespace tenon::checks {
namespace {

/// The operator with this kernel as its only CPU kernel.
LoadedOperator with_kernel(const LoadedOperator& op, const tenon_operator& table) {
  auto only = op;
  only.kernels[TENON_CPU] = &table;
  only.kernel_owners[TENON_CPU] = op.owner_of(table);
  only.candidates[TENON_CPU] = {&table};
  return only;
}

bool computes(const LoadedOperator& op, const TestInput& sample, DType precision, bool backward) {
  auto types = sample.types;
  types.precision = precision;
  return OperatorCall(op, sample.attributes).kernel(types, backward) != nullptr;
}

/// Calls that both a variant and the operator's own kernel support.
class VariantCalls {
 public:
  VariantCalls(const CheckedOperator& checked, const tenon_operator& own,
               const LoadedOperator::Variant& variant)
      : checked_(checked),
        own_(with_kernel(checked.op, own)),
        variant_(with_kernel(checked.op, *variant.table)),
        name_("kernel " + variant.name) {}

  void run() {
    constexpr std::size_t max_of_first = 12, max_of_others = 3;
    for (const auto dtype : shared_dtypes(*checked_.op.info))
      for (const auto kind : {TestInputKind::ordinary, TestInputKind::odd, TestInputKind::empty,
                              TestInputKind::scalar, TestInputKind::round, TestInputKind::large})
        test(find_samples(checked_, dtype, kind), kind,
             dtype == most_informative_dtype(*checked_.op.info) ? max_of_first : max_of_others);
  }
  const std::string& name() const { return name_; }
  const std::string& fault() const { return fault_; }
  int compared() const { return compared_; }
  std::size_t repeated() const { return repeated_; }
  std::size_t unsupported() const { return unsupported_; }
  const Refusals& refusals() const { return refusals_; }

 private:
  void test(const TestInputs& samples, TestInputKind kind, std::size_t left) {
    refusals_.add(samples.refusals);
    for (const auto& sample : samples.found) {
      if (left == 0 || !fault_.empty()) return;
      bool supported = false;
      for (const auto precision : {f32, bf16}) {
        // larger sums accumulate larger errors
        if (precision == bf16 && kind != TestInputKind::ordinary) continue;
        if (!fault_.empty() || !computes(variant_, sample, precision, false) ||
            !computes(own_, sample, f32, false))
          continue;
        supported = true;
        if (try_sample(sample, precision) && kind != TestInputKind::empty) ++compared_;
      }
      if (supported)
        --left;
      else
        ++unsupported_;
    }
  }

  /// Returns whether the operator's own kernel accepts the sample.
  bool try_sample(const TestInput& sample, DType precision) {
    report_call(*checked_.op.info, sample, ", on " + name_);
    const CheckedOperator reference{own_, checked_.plugins, checked_.trust_writable, checked_.seed};
    const auto accepted = accepted_by_kernel(reference, sample, refusals_);
    if (!accepted) return false;
    const bool backward = has_backward(own_, sample) && computes(variant_, sample, precision, true);
    for (const auto numbers : {Numbers::positive, Numbers::both_signs}) {
      // cancellation would amplify the rounding errors
      if (precision == bf16 && numbers == Numbers::both_signs) continue;
      for (const bool training : {false, true})
        compare(*accepted, precision, numbers, false, training);
      if (backward) compare(*accepted, precision, numbers, true, true);
    }
    if (!fault_.empty()) fault_ += ", with " + describe_sample(*checked_.op.info, sample);
    return true;
  }

  void compare(const TestInput& sample, DType precision, Numbers numbers, bool backward,
               bool training) {
    if (!fault_.empty()) return;
    Threads threads(1);
    const CallContext context{.threads = threads, .seed = checked_.seed, .training = training};
    const DeviceComparison own(own_, sample, cpu_device(), checked_.seed);
    CallMemory memory, expected;
    try {
      memory = backward ? own.backward_memory(
                              numbers, std::vector<bool>(sample.types.inputs.size(), true), true)
                        : own.forward_memory(numbers);
      if (own.cpu_call().info().accumulates)
        for (auto& write : memory.writes)
          if (write == TENON_WRITE_TO && numbers == Numbers::both_signs) write = TENON_WRITE_ADD;
      expected = run_call(own.cpu_call(), sample.types,
                          memory.with([](const Tensor& tensor, bool) { return tensor.clone(); }),
                          backward, context);
    } catch (const Failure&) {
      return;  // the kernel rejects these elements
    }
    auto types = sample.types;
    types.precision = precision;
    GuardedCalls guarded(variant_);
    const OperatorCall call(guarded.op(), sample.attributes);
    for (const auto placement : {Placement::after_guard, Placement::before_guard}) {
      const auto run = [&](const CallMemory& inputs) {
        return run_call(call, types, guarded_copy(call, inputs, placement), backward, context,
                        placement);
      };
      try {
        const auto found = run(memory);
        fault_ = guarded.fault().empty() ? differences(expected, found, precision,
                                                       own.nearby(memory, backward, training, run))
                                         : name_ + " " + guarded.fault();
      } catch (const Failure& failure) {
        fault_ = fmt::format("{} refuses a call that the operator's own kernel accepts: {}", name_,
                             failure.what());
      }
      if (!fault_.empty()) return;
    }
  }

  std::string differences(const CallMemory& expected, const CallMemory& found, DType precision,
                          NearbyCalls nearby) {
    ComparedResult compared{.device = name_, .reference = "the operator's own", .nearby = &nearby};
    for (const auto& [name, group] : tensor_groups) {
      if (precision == bf16) {
        if (auto fault = compare_rounded(found.*group, expected.*group, name); !fault.empty())
          return name_ + ": " + fault;
        continue;
      }
      for (std::size_t i = 0; i < (expected.*group).size(); ++i, ++compared.index) {
        const auto& tensor = (expected.*group)[i];
        if (!tensor) continue;
        compared.name = fmt::format("{} {}", name, i);
        auto fault = difference(compared, tensor, (found.*group)[i]);
        if (!fault.empty()) return fault;
      }
    }
    repeated_ += nearby.ran() ? 1 : 0;
    return {};
  }

  const CheckedOperator& checked_;
  LoadedOperator own_, variant_;
  std::string name_, fault_;
  int compared_ = 0;
  std::size_t unsupported_ = 0, repeated_ = 0;
  Refusals refusals_;
};

}  // namespace

Outcome check_variants(const CheckedOperator& checked) {
  const auto* own = checked.op.kernel(TENON_CPU);
  std::vector<const LoadedOperator::Variant*> variants;
  for (const auto* table : checked.op.candidates[TENON_CPU])
    if (const auto* variant = checked.op.variant_of(*table); variant != nullptr && table != own)
      variants.push_back(variant);
  if (own == nullptr || own->forward == nullptr || variants.empty())
    return skipped("it has no kernel variant for the CPU");
  if (checked.op.info->communicates)
    return skipped("its variants communicate with other processes, and there are none here");
  int compared = 0;
  std::vector<std::string> unsupported;
  std::size_t tried = 0, repeated = 0;
  for (const auto* variant : variants) {
    VariantCalls calls(checked, *own, *variant);
    calls.run();
    if (!calls.fault().empty()) return failed(calls.fault());
    if (calls.compared() == 0 && calls.unsupported() == 0) return untried(calls.refusals());
    if (calls.compared() == 0) unsupported.push_back(calls.name()), tried = calls.unsupported();
    compared += calls.compared();
    repeated += calls.repeated();
  }
  // Usually the processor lacks the required instructions, which is not the plugin's fault.
  const auto rest =
      unsupported.empty()
          ? std::string()
          : fmt::format("{} supports none of {} on this machine", fmt::join(unsupported, ", "),
                        counted(tried, "call that was tried", "calls that were tried"));
  if (compared == 0) return skipped(rest);
  return passed(fmt::format(
      "{}, {}{}{}{}", counted(variants.size() - unsupported.size(), "variant"),
      counted(compared, "call"), describe_repeated(repeated), rest.empty() ? "" : "; ", rest));
}

}  // namespace tenon::checks
