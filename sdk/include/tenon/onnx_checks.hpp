// The checks of what op.onnx() said, at compile time: names, versions, nothing twice, nothing missing. The host repeats them when it reads
// a manifest, and compares values with the parameters' kinds, too (manifest_onnx.cpp).
//
//     op.onnx("", "")                                 onnx_no_type
//     .since(13).until(12)                            onnx_versions; so are two forms of one type that share a version
//     .attribute("axes", "axes") of the param axis    onnx_unknown, about axes
//     .attribute("axes", "axis").ignore("axes")       onnx_twice, about axes
//     .attribute("axes", "axis").input_as("axis", 1)  onnx_twice, about axis
//     .input_as("axis", 32)                           onnx_place, about axis
//     .inputs("") where x is required                 onnx_incomplete, about x
//
// All of it is quadratic in the words of a form, of which there are few; a class without forms costs the compiler nothing.
#pragma once
#include <string_view>

#include "description.hpp"
#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::detail {

/// The host's limit, too (manifest_onnx.cpp).
/// Places of ONNX's inputs that may be parameters are below this.
constexpr int most_onnx_inputs = 32;

/// Whether a word names ONNX's attribute, so that no other word of the form may.
constexpr bool names_attribute(const OnnxPart& part) {
  return part.word == OnnxWord::attribute || part.word == OnnxWord::ignore || part.word == OnnxWord::only ||
         (part.word == OnnxWord::halves && part.index < 0);
}
/// Whether a word gives part.param, and of halves part.second, a value: one word of a form may.
constexpr bool sets_parameter(const OnnxPart& part) {
  return part.word == OnnxWord::attribute || part.word == OnnxWord::input_as || part.word == OnnxWord::halves ||
         part.word == OnnxWord::constant || part.word == OnnxWord::without;
}

/// One word by itself: names that describe() declares, before or after, and a place that exists. States count as inputs, since ONNX has no
/// states; an empty name is an input or output of ONNX's that the operator lacks.
///
/// Names of ONNX's attributes and types are not looked up: only ONNX's schemas know them (tests/house/onnx_forms.py of Tenon compares).
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

/// Two words of one form: they may share an attribute only as values of only(), and no place, no parameter, and no name in inputs() or in
/// outputs().
constexpr Found check_onnx_pair(const OnnxPart& left, const OnnxPart& right) {
  const bool same_word = left.word == right.word, same_name = *left.name && std::string_view(left.name) == right.name;
  const bool values = left.word == OnnxWord::only && same_word;  // several values of one attribute
  // Attributes are one namespace, whatever the word.
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
/// With inputs(), every required input is named: a node of ONNX has no weights that a graph would make for it. A variadic input stands for
/// any number of tensors, none too, and takes all places from its own on: no parameter may be behind it.
constexpr Found check_onnx_complete(const Description& d, int form) {
  // Words of this form alone.
  const auto count = [&](auto fits) {
    int found = 0;
    for (const OnnxPart& part : d.onnx_parts) found += part.form == form && fits(part);
    return found;
  };
  const auto any = [&](auto fits) { return count(fits) > 0; };
  // Without names in inputs(), all of ours are listed; parameters take places of their own among them.
  const int listed = count([](const OnnxPart& part) { return part.word == OnnxWord::input; });
  const int places = (listed > 0 ? listed : d.inputs.size) + count([](const OnnxPart& part) { return part.index >= 0; });
  for (const auto& input : d.inputs) {
    const bool named = any([&](const OnnxPart& part) { return part.word == OnnxWord::input && std::string_view(part.name) == input.name; });
    if (listed > 0 && !named && !input.optional && !input.variadic) return {ClassFault::onnx_incomplete, input.name};
    // A variadic input has the last place, and all behind it.
    if (input.variadic && (named || listed == 0) && any([&](const OnnxPart& part) { return part.index >= places - 1; }))
      return {ClassFault::onnx_place, input.name};
  }
  // without() gives a value to some nodes only.
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

/// Two forms of one type, of which both would cover a version. A form without until covers all from since on.
constexpr bool versions_overlap(const OnnxEntry& left, const OnnxEntry& right) {
  if (std::string_view(left.domain) != right.domain || std::string_view(left.type) != right.type) return false;
  return !(left.until.given && left.until.value < right.since) && !(right.until.given && right.until.value < left.since);
}

/// All forms of an operator; the first fault that is found, with the name that has it.
constexpr Found check_onnx(const Description& d) {
  // Heads first: a type and its versions are what users know a form by.
  for (int i = 0; i < d.onnx.size; ++i) {
    const OnnxEntry& form = d.onnx[i];
    if (!*form.type) return ClassFault::onnx_no_type;
    bool sound = form.since >= 1 && (!form.until.given || form.until.value >= form.since);
    for (int before = 0; before < i; ++before) sound = sound && !versions_overlap(d.onnx[before], form);
    if (!sound) return {ClassFault::onnx_versions, form.type};
  }
  // Then words one by one, and each with those before it.
  for (int i = 0; i < d.onnx_parts.size; ++i) {
    const OnnxPart& part = d.onnx_parts[i];
    if (const Found found = check_onnx_names(d, part); found.fault != ClassFault::none) return found;
    for (int before = 0; before < i; ++before)
      if (d.onnx_parts[before].form == part.form)
        if (const Found found = check_onnx_pair(d.onnx_parts[before], part); found.fault != ClassFault::none) return found;
  }
  // What a sound form still lacks.
  for (int form = 0; form < d.onnx.size; ++form)
    if (const Found found = check_onnx_complete(d, form); found.fault != ClassFault::none) return found;
  return ClassFault::none;
}

}  // namespace tenon::TENON_SDK::detail
#pragma GCC visibility pop
