#include <fmt/format.h>

#include <cmath>

#include "check/test_call.hpp"

namespace tenon::checks {
namespace {

double tolerance_of_sum(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 1e-12;
    case DType::f32:
      return 1e-5;
    case DType::f16:
      return 4e-3;
    case DType::bf16:
      return 3e-2;
    case DType::boolean:
    case DType::u8:
    case DType::i8:
    case DType::i32:
    case DType::i64:
      break;  // exact
  }
  return 0;
}

}  // namespace

Outcome check_add(const CheckedOperator& subject) {
  if (!subject.op.info->accumulates) return skipped("it does not declare write mode add; the host adds for it");
  Threads threads(1);
  return each_sample(subject, TestInputKind::ordinary, [&](const OperatorCall& call, const TestInput& sample) {
    TestCall fresh(call, sample, subject.seed), added(call, sample, subject.seed);
    fresh.run(threads);
    std::vector<std::vector<double>> before;
    for (std::size_t i = 0; i < added.outputs.size(); ++i) {
      fill_with_numbers(added.outputs[i], subject.seed + 100 + i);
      before.push_back(doubles_of(added.outputs[i]));
    }
    added.run(threads, TENON_WRITE_ADD);
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (fresh.outputs[i].dtype() == DType::boolean) continue;  // there is no sum of two truths
      const auto term = doubles_of(fresh.outputs[i]), sum = doubles_of(added.outputs[i]);
      for (std::size_t k = 0; k < sum.size(); ++k) {
        const double needed = before[i][k] + term[k];
        const bool equal = std::isfinite(needed) ? std::abs(sum[k] - needed) <= tolerance_of_sum(fresh.outputs[i].dtype()) *
                                                                                    (1 + std::abs(needed) + std::abs(term[k]))
                                                 : !std::isfinite(sum[k]);
        if (!equal)
          return fmt::format("element {} of output {} was {}, {} is to be added, and it became {}", k, i, before[i][k], term[k], sum[k]);
      }
    }
    return std::string();
  });
}

}  // namespace tenon::checks
