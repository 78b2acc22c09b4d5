#include "check/test_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <tenon/host/failure.hpp>
#include <tenon/visit.hpp>

#include "check/check.hpp"
#include "check/samples/sample_search.hpp"
#include "tensor/low_bit_tensor.hpp"

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

std::optional<TestInput> with_dtype(const OperatorCall& call, TestInput sample, DType shared) {
  auto& types = sample.types;
  for (std::size_t i = 0; i < types.inputs.size(); ++i)
    if (!call.info().inputs[declared_input(call.info(), i)].types)
      types.inputs[i].dtype = static_cast<std::uint8_t>(shared);
  for (auto* group : {&types.outputs, &types.states})
    for (auto& type : *group) type = unknown_type();
  report_query(describe_sample(call.info(), sample));
  try {
    call.infer(types);
  } catch (const Failure&) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < types.outputs.size(); ++i)
    if (!is_known(types.outputs[i]) && !call.info().allocates(i)) return std::nullopt;
  if (!std::all_of(types.states.begin(), types.states.end(), is_known)) return std::nullopt;
  return sample;
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

namespace {

// Integers that do not fit wrap around, because the conversion from double would be undefined.
template <class T>
T as_element(double number) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
    return number < 0 ? static_cast<T>(static_cast<std::int64_t>(number))
                      : static_cast<T>(static_cast<std::uint64_t>(number));
  else
    return static_cast<T>(number);
}

Tensor complex_in(const Tensor& tensor, DType dtype) {
  auto result = Tensor::empty(dtype, tensor.shape());
  visit<any_complex>(tensor.dtype(), [&]<class From>() {
    visit<any_complex>(dtype, [&]<class To>() {
      auto* element = result.values<To>().data();
      for (const auto z : tensor.values<From>()) *element++ = static_cast<To>(z);
    });
  });
  return result;
}

std::vector<double> real_parts(const Tensor& tensor) {
  if (low_bit.has(tensor.dtype())) return real_parts(decoded(tensor));
  std::vector<double> numbers;
  visit<every_type>(tensor.dtype(), [&]<class T>() {
    for (const auto value : tensor.values<T>()) {
      if constexpr (is_complex<T>)
        numbers.push_back(value.re);
      else
        numbers.push_back(static_cast<double>(value));
    }
  });
  return numbers;
}

}  // namespace

Tensor elements_in(const std::vector<double>& numbers, DType dtype, const Shape& shape) {
  auto tensor = Tensor::empty(dtype, shape);
  if (low_bit.has(dtype)) {
    encode_elements(elements_in(numbers, f32, shape), tensor);
    return tensor;
  }
  visit<every_type>(dtype, [&]<class T>() {
    auto* element = tensor.values<T>().data();
    for (const double number : numbers) *element++ = as_element<T>(number);
  });
  return tensor;
}

Tensor elements_in(const Tensor& tensor, DType dtype) {
  if (tensor.dtype() == dtype) return tensor;
  if (any_complex.has(tensor.dtype()) && any_complex.has(dtype)) return complex_in(tensor, dtype);
  return elements_in(real_parts(tensor), dtype, tensor.shape());
}

}  // namespace tenon::checks
