#include "check/test_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <tenon/host/failure.hpp>

#include "check/check.hpp"
#include "check/samples/sample_search.hpp"

namespace tenon::checks {
namespace {

/// As in ` k=3 mode=same`.
std::string values_of(const Attributes& parameters) {
  std::string text;
  for (const auto& [name, value] : parameters)
    text += fmt::format(" {}={}", name, tenon::to_string(value));
  return text;
}

}  // namespace

DType most_informative_dtype(const OperatorInfo& info) {
  return allows(info.types, DType::f32) ? DType::f32
                                        : static_cast<DType>(std::countr_zero(info.types));
}

std::vector<DType> shared_dtypes(const OperatorInfo& info) {
  std::vector<DType> dtypes{most_informative_dtype(info)};
  for (unsigned i = 0; i < TENON_DTYPE_COUNT; ++i)
    if (const auto dtype = static_cast<DType>(i); allows(info.types, dtype) && dtype != dtypes[0])
      dtypes.push_back(dtype);
  return dtypes;
}

const TestInputs& find_samples(const CheckedOperator& checked, DType shared, TestInputKind kind) {
  auto& cached = checked.samples->found[{shared, kind}];
  if (!cached) {
    SampleSearch search(checked.op, shared, kind);
    cached.emplace(checked.calls.empty() ? search.all() : search.named(checked.calls));
  }
  return *cached;
}

const TestInputs& find_samples(const CheckedOperator& checked, TestInputKind kind) {
  return find_samples(checked, most_informative_dtype(*checked.op.info), kind);
}

TestInputs find_samples(const LoadedOperator& op, TestInputKind kind) {
  return SampleSearch(op, most_informative_dtype(*op.info), kind).all();
}

TestInputs find_sample(const CheckedOperator& checked, DType shared) {
  SampleSearch search(checked.op, shared, TestInputKind::ordinary);
  return checked.calls.empty() ? search.first() : search.named(checked.calls);
}

bool is_for_devices(const TestInput& sample) {
  const auto here = [](const tenon_type& type) {
    return !type.present || any_type.has(static_cast<DType>(type.dtype));
  };
  return std::all_of(sample.types.inputs.begin(), sample.types.inputs.end(), here) &&
         std::all_of(sample.types.outputs.begin(), sample.types.outputs.end(), here);
}

std::string describe_parameters(const Attributes& parameters) {
  const auto text = values_of(parameters);
  return text.empty() ? "default parameters" : text.substr(1);
}

std::string describe_call(const OperatorInfo& info, std::span<const tenon_type> inputs,
                          const Attributes& parameters) {
  const auto text = describe_inputs(info, inputs) + values_of(parameters);
  return text.empty() ? "no inputs" : text.substr(1);
}

}  // namespace tenon::checks
