// The checks of what op.onnx() said, at compile time: names, versions, nothing twice, nothing missing. The host repeats them when it reads
// a manifest, and compares values with the parameters' kinds, too (manifest_onnx.cpp).
#pragma once
#include <string_view>

#include "description.hpp"
#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::detail {

constexpr int most_onnx_inputs = 32;

/// Whether a word names ONNX's attribute, so that no other word of the form may.
constexpr bool names_attribute(const OnnxPart& part) {
  return part.word == OnnxWord::attribute || part.word == OnnxWord::ignore || part.word == OnnxWord::only ||
         (part.word == OnnxWord::halves && part.index < 0);
}
constexpr bool sets_parameter(const OnnxPart& part) {
  return part.word == OnnxWord::attribute || part.word == OnnxWord::input_as || part.word == OnnxWord::halves ||
         part.word == OnnxWord::constant || part.word == OnnxWord::without;
}

constexpr Found check_onnx_names(const Description& d, const OnnxPart& part) {
  const std::string_view name = part.name;
  const bool tensor = part.word == OnnxWord::input || part.word == OnnxWord::without;
  if (tensor && !name.empty() && index_of(d.inputs, name) < 0 && index_of(d.states, name) < 0) return {ClassFault::onnx_unknown, part.name};
  if (part.word == OnnxWord::output && !name.empty() && index_of(d.outputs, name) < 0) return {ClassFault::onnx_unknown, part.name};
  const bool has_param = sets_parameter(part) || part.word == OnnxWord::value;
  if (has_param && index_of(d.params, part.param) < 0) return {ClassFault::onnx_unknown, part.param};
  if (part.word == OnnxWord::halves && index_of(d.params, part.second) < 0) return {ClassFault::onnx_unknown, part.second};
  if (part.word == OnnxWord::input_as || (part.word == OnnxWord::halves && !*part.name))
    if (part.index < 0 || part.index >= most_onnx_inputs) return {ClassFault::onnx_place, part.param};
  return ClassFault::none;
}

/// Two words of one form.
constexpr Found check_onnx_pair(const OnnxPart& left, const OnnxPart& right) {
  const bool same_word = left.word == right.word, same_name = *left.name && std::string_view(left.name) == right.name;
  const bool values = left.word == OnnxWord::only && same_word;  // several values of one attribute
  if (same_name && !values && names_attribute(left) && names_attribute(right)) return {ClassFault::onnx_twice, left.name};
  if (same_name && same_word && (left.word == OnnxWord::input || left.word == OnnxWord::output)) return {ClassFault::onnx_twice, left.name};
  if (left.index >= 0 && left.index == right.index) return {ClassFault::onnx_twice, left.param};
  if (sets_parameter(left) && sets_parameter(right))
    for (const std::string_view param : {left.param, left.second})
      if (!param.empty() && (param == right.param || param == right.second)) return {ClassFault::onnx_twice, left.param};
  return ClassFault::none;
}

/// Every input that a node needs and every parameter that is required comes from somewhere; the parameter that counts an output is the
/// node's number of outputs.
constexpr Found check_onnx_complete(const Description& d, int form) {
  const auto count = [&](auto fits) {
    int found = 0;
    for (const OnnxPart& part : d.onnx_parts) found += part.form == form && fits(part);
    return found;
  };
  const auto any = [&](auto fits) { return count(fits) > 0; };
  const int listed = count([](const OnnxPart& part) { return part.word == OnnxWord::input; });
  const int places = (listed > 0 ? listed : d.inputs.size) + count([](const OnnxPart& part) { return part.index >= 0; });
  for (const auto& input : d.inputs) {
    const bool named = any([&](const OnnxPart& part) { return part.word == OnnxWord::input && std::string_view(part.name) == input.name; });
    if (listed > 0 && !named && !input.optional && !input.variadic) return {ClassFault::onnx_incomplete, input.name};
    // A variadic input has the last place, and all behind it.
    if (input.variadic && (named || listed == 0) && any([&](const OnnxPart& part) { return part.index >= places - 1; }))
      return {ClassFault::onnx_place, input.name};
  }
  for (int i = 0; i < d.params.size; ++i) {
    const std::string_view name = d.params[i].name;
    bool set = !d.params[i].required;
    for (const auto& output : d.outputs) set = set || output.count_param == i;
    set = set || any([&](const OnnxPart& part) {
            return sets_parameter(part) && part.word != OnnxWord::without && (name == part.param || name == part.second);
          });
    if (!set) return {ClassFault::onnx_incomplete, d.params[i].name};
  }
  return ClassFault::none;
}

constexpr bool versions_overlap(const OnnxEntry& left, const OnnxEntry& right) {
  if (std::string_view(left.domain) != right.domain || std::string_view(left.type) != right.type) return false;
  return !(left.until.given && left.until.value < right.since) && !(right.until.given && right.until.value < left.since);
}

constexpr Found check_onnx(const Description& d) {
  for (int i = 0; i < d.onnx.size; ++i) {
    const OnnxEntry& form = d.onnx[i];
    if (!*form.type) return ClassFault::onnx_no_type;
    bool sound = form.since >= 1 && (!form.until.given || form.until.value >= form.since);
    for (int before = 0; before < i; ++before) sound = sound && !versions_overlap(d.onnx[before], form);
    if (!sound) return {ClassFault::onnx_versions, form.type};
  }
  for (int i = 0; i < d.onnx_parts.size; ++i) {
    const OnnxPart& part = d.onnx_parts[i];
    if (const Found found = check_onnx_names(d, part); found.fault != ClassFault::none) return found;
    for (int before = 0; before < i; ++before)
      if (d.onnx_parts[before].form == part.form)
        if (const Found found = check_onnx_pair(d.onnx_parts[before], part); found.fault != ClassFault::none) return found;
  }
  for (int form = 0; form < d.onnx.size; ++form)
    if (const Found found = check_onnx_complete(d, form); found.fault != ClassFault::none) return found;
  return ClassFault::none;
}

}  // namespace tenon::TENON_SDK::detail
#pragma GCC visibility pop
