// Numbers that decide shapes or places: those of a parameter, or of an input that takes its place.
#pragma once
#include <optional>
#include <tenon/operator.hpp>
#include <vector>

using Numbers = std::vector<std::int64_t>;

/// In describe(): the input that may take a parameter's place.
constexpr void describe_given(auto& op, const char* input, const char* doc) {
  op.input(input, doc).types({tenon::i64}).optional().on_cpu();
}

/// In infer(): nothing while the input's elements are not known. Errors: both are given; the input is no list.
inline std::optional<Numbers> given_numbers(const tenon::Infer& io, const char* input, const tenon::Ints& parameter, const char* name) {
  if (!io.has_input(input)) return Numbers(parameter.begin(), parameter.end());
  if (!parameter.empty()) io.param_error(name, "is given, and so is the input '", input, "', which takes its place");
  const auto shape = io.input(input).shape;
  io.require(!shape.has_rank() || shape.rank() == 1, input, " is ", shape, ", but needs to be a list, [n]");
  const auto values = io.values<std::int64_t>(input);
  if (!values) return {};
  return Numbers(values.begin(), values.end());
}

/// In kernels.
inline Numbers given_numbers(const tenon::Call& call, const char* input, const tenon::Ints& parameter) {
  if (!call.has_input(input)) return Numbers(parameter.begin(), parameter.end());
  const auto values = call.input<std::int64_t>(input);
  return Numbers(values.begin(), values.end());
}

/// One number, in infer(); the input is a scalar or has one element.
inline std::optional<std::int64_t> given_number(const tenon::Infer& io, const char* input, std::int64_t parameter) {
  if (!io.has_input(input)) return parameter;
  const auto shape = io.input(input).shape;
  io.require(!shape.known() || shape.size() == 1, input, " is ", shape, ", but needs to be one number");
  const auto values = io.values<std::int64_t>(input);
  if (!values || values.size() != 1) return {};
  return values[0];
}
inline std::int64_t given_number(const tenon::Call& call, const char* input, std::int64_t parameter) {
  return call.has_input(input) ? call.input<std::int64_t>(input).data()[0] : parameter;
}

/// An output whose shape is known anyway is made without infer() having seen an input's elements, which may contradict it.
inline void require_output(const tenon::Call& call, const tenon::Shape& shape, int i = 0) {
  const auto output = call.output_type(i).shape;
  if (!(output == shape)) throw tenon::Error(tenon::ErrorKind::type, "what it is given makes ", shape, ", but its output is ", output);
}

/// A bit for each of the axes of a rank. Error: axes that the rank does not have, or twice.
inline unsigned checked_axes(const Numbers& axes, int rank) {
  unsigned mask = 0;
  for (const auto axis : axes) {
    if (axis < -rank || axis >= rank) throw tenon::Error(tenon::ErrorKind::type, "there is no axis ", axis, " of rank ", rank);
    const auto bit = 1u << (axis < 0 ? axis + rank : axis);
    if (mask & bit) throw tenon::Error(tenon::ErrorKind::type, "axis ", axis, " is named twice");
    mask |= bit;
  }
  return mask;
}
