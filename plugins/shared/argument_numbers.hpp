// Integers that determine shapes or indices: the values of a parameter, or of an optional input
// that replaces it.
#pragma once
#include <optional>
#include <tenon/operator.hpp>
#include <vector>

using Numbers = std::vector<std::int64_t>;

/// Called in describe(): declares the input that may replace a parameter.
constexpr void describe_argument(auto& op, const char* input, const char* doc) {
  op.input(input, doc).types({tenon::i64}).optional().on_cpu();
}

/// Called in infer(): returns nullopt while the input's elements are unknown. Fails if both input
/// and parameter are present, or if the input is not a list.
inline std::optional<Numbers> argument_numbers(const tenon::Infer& io, const char* input,
                                               const tenon::Ints& parameter, const char* name) {
  if (!io.has_input(input)) return Numbers(parameter.begin(), parameter.end());
  if (!parameter.empty())
    io.param_error(name, "cannot be combined with input '", input, "', which replaces it");
  const auto shape = io.input(input).shape;
  io.require(!shape.has_rank() || shape.rank() == 1, input, " is ", shape,
             ", but needs to be a list, [n]");
  const auto values = io.values<std::int64_t>(input);
  if (!values) return {};
  return Numbers(values.begin(), values.end());
}

/// Returns these values inside a kernel.
inline Numbers argument_numbers(const tenon::Call& call, const char* input,
                                const tenon::Ints& parameter) {
  if (!call.has_input(input)) return Numbers(parameter.begin(), parameter.end());
  const auto values = call.input<std::int64_t>(input);
  return Numbers(values.begin(), values.end());
}

/// Called in infer(): returns a single number; the input is a scalar or has one element.
inline std::optional<std::int64_t> argument_number(const tenon::Infer& io, const char* input,
                                                   std::int64_t parameter) {
  if (!io.has_input(input)) return parameter;
  const auto shape = io.input(input).shape;
  io.require(!shape.known() || shape.size() == 1, input, " is ", shape,
             ", but needs to be a single number");
  const auto values = io.values<std::int64_t>(input);
  if (!values || values.size() != 1) return {};
  return values[0];
}
inline std::int64_t argument_number(const tenon::Call& call, const char* input,
                                    std::int64_t parameter) {
  return call.has_input(input) ? call.input<std::int64_t>(input).data()[0] : parameter;
}

/// An output with a known shape is created before infer() has seen the input's elements, which may
/// contradict it.
inline void require_output(const tenon::Call& call, const tenon::Shape& shape, int i = 0) {
  const auto output = call.output_type(i).shape;
  if (!(output == shape))
    throw tenon::Error(tenon::ErrorKind::type, "the inputs give an output of shape ", shape,
                       ", but the output is ", output);
}

/// Returns a bit mask of axes. Fails if the rank does not have an axis, or if one is repeated.
inline unsigned checked_axes(const Numbers& axes, int rank) {
  unsigned mask = 0;
  for (const auto axis : axes) {
    if (axis < -rank || axis >= rank)
      throw tenon::Error(tenon::ErrorKind::type, "axis ", axis, " is out of range for rank ", rank);
    const auto bit = 1u << (axis < 0 ? axis + rank : axis);
    if (mask & bit) throw tenon::Error(tenon::ErrorKind::type, "axis ", axis, " is repeated");
    mask |= bit;
  }
  return mask;
}
