#include <fmt/format.h>

#include <cmath>

#include "check/calls/backward_test_call.hpp"
#include "check/calls/test_call.hpp"
#include "tensor/dtype_traits.hpp"

namespace tenon::checks {
namespace {

/// Describes the first element that is not the sum of its previous value and `term`; empty if all
/// are.
std::string compare_sum(const std::string& name, const std::vector<double>& before,
                        const Tensor& term_of, const Tensor& sum_of) {
  const auto term = doubles_of(term_of), sum = doubles_of(sum_of);
  const double tolerance = traits_of(sum_of.dtype()).tolerance.sum;
  for (std::size_t k = 0; k < sum.size(); ++k) {
    const double needed = before[k] + term[k];
    if (any_integer.has(sum_of.dtype()) &&
        std::remainder(sum[k] - needed,
                       std::ldexp(1, 8 * static_cast<int>(size_of(sum_of.dtype())))) == 0)
      continue;  // integers wrap around
    const bool equal =
        std::isfinite(needed)
            ? std::abs(sum[k] - needed) <= tolerance * (1 + std::abs(needed) + std::abs(term[k]))
            : !std::isfinite(sum[k]);
    if (!equal)
      return fmt::format("element {} of {} was {}; adding {} gave {}", k, name, before[k], term[k],
                         sum[k]);
  }
  return {};
}

std::string add_forward(const OperatorCall& call, const TestInput& sample, std::uint64_t seed) {
  Threads threads(1);
  TestCall fresh(call, sample, seed), added(call, sample, seed);
  fresh.run(threads);
  std::vector<std::vector<double>> before;
  for (std::size_t i = 0; i < added.outputs.size(); ++i) {
    fill_with_numbers(added.outputs[i], seed + 100 + i);
    before.push_back(doubles_of(added.outputs[i]));
  }
  added.run(threads, TENON_WRITE_ADD);
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (fresh.outputs[i].dtype() == DType::boolean) continue;  // bools have no sum
    auto fault =
        compare_sum(fmt::format("output {}", i), before[i], fresh.outputs[i], added.outputs[i]);
    if (!fault.empty()) return fault;
  }
  return {};
}

std::string add_backward(const BackwardTestCall& backward, std::uint64_t seed) {
  Threads threads(1);
  const auto fresh = backward.memory();
  auto added = backward.memory();
  backward.run(fresh, threads);
  std::vector<std::vector<double>> before(added.input_grads.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (!added.input_grads[i]) continue;
    fill_with_numbers(added.input_grads[i], seed + 100 + i);
    before[i] = doubles_of(added.input_grads[i]);
    added.writes[i] = TENON_WRITE_ADD;
  }
  backward.run(added, threads);
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (!added.input_grads[i]) continue;
    auto fault = compare_sum(fmt::format("the gradient of input {}", i), before[i],
                             fresh.input_grads[i], added.input_grads[i]);
    if (!fault.empty()) return fault;
  }
  return {};
}

}  // namespace

Outcome check_add(const CheckedOperator& checked) {
  if (!checked.op.info->accumulates)
    return skipped("it does not declare write mode add; the host adds for it");
  return each_sample(checked, all_kinds, [&](const OperatorCall& call, const TestInput& sample) {
    if (auto fault = add_forward(call, sample, checked.seed); !fault.empty()) return fault;
    return test_backward(checked.op, sample, checked.seed, [&](const BackwardTestCall& backward) {
      return add_backward(backward, checked.seed);
    });
  });
}

}  // namespace tenon::checks
