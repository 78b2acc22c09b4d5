// Compile-time checks of op.onnx(): names, versions, duplicates, missing entries. The host repeats
// them when it reads a manifest, and also compares values with the parameters' kinds
// (manifest_onnx.cpp).
//
//     op.onnx("", "")                                 onnx_no_type
//     .since(13).until(12)                            onnx_versions; also two forms of one type
//                                                     that share a version
//     .attribute("axes", "axes") of the param axis    onnx_unknown, about axes
//     .attribute("axes", "axis").ignore("axes")       onnx_twice, about axes
//     .attribute("axes", "axis").input_as("axis", 1)  onnx_twice, about axis
//     .input_as("axis", 32)                           onnx_index, about axis
//     .inputs("") if x is required                    onnx_incomplete, about x
//
// Everything is quadratic in the calls on a form, which are few; a class without forms costs the
// compiler nothing.
#pragma once
#include <string_view>

#include "../version.hpp"
#include "description.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::detail {

/// ONNX inputs that become parameters have an index below this; also the host's limit
/// (manifest_onnx.cpp).
constexpr int max_onnx_inputs = 32;

/// Whether an entry names an ONNX attribute, so that no other entry of the form may.
constexpr bool names_attribute(const OnnxMapping& mapping) {
  return mapping.kind == OnnxMappingKind::attribute || mapping.kind == OnnxMappingKind::ignore ||
         mapping.kind == OnnxMappingKind::only ||
         (mapping.kind == OnnxMappingKind::halves && mapping.index < 0);
}
/// Whether an entry gives mapping.param a value, and for halves also mapping.second: only one entry
/// of a form may.
constexpr bool sets_parameter(const OnnxMapping& mapping) {
  return mapping.kind == OnnxMappingKind::attribute || mapping.kind == OnnxMappingKind::input_as ||
         mapping.kind == OnnxMappingKind::halves || mapping.kind == OnnxMappingKind::constant ||
         mapping.kind == OnnxMappingKind::without;
}

/// Checks one entry: names that describe() declares, before or after, and an index in range. States
/// count as inputs, because ONNX has no states; an empty name is an ONNX input or output that the
/// operator lacks.
///
/// Names of ONNX's attributes and types are not checked: only ONNX's schemas have them
/// (tests/house/onnx_forms.py of Tenon compares).
constexpr Found check_onnx_names(const Description& d, const OnnxMapping& mapping) {
  const std::string_view name = mapping.name;
  const bool tensor =
      mapping.kind == OnnxMappingKind::input || mapping.kind == OnnxMappingKind::without;
  if (tensor && !name.empty() && index_of(d.inputs, name) < 0 && index_of(d.states, name) < 0)
    return {ClassFault::onnx_unknown, mapping.name};
  if (mapping.kind == OnnxMappingKind::output && !name.empty() && index_of(d.outputs, name) < 0)
    return {ClassFault::onnx_unknown, mapping.name};
  const bool has_param = sets_parameter(mapping) || mapping.kind == OnnxMappingKind::value;
  if (has_param && index_of(d.params, mapping.param) < 0)
    return {ClassFault::onnx_unknown, mapping.param};
  if (mapping.kind == OnnxMappingKind::halves && index_of(d.params, mapping.second) < 0)
    return {ClassFault::onnx_unknown, mapping.second};
  if (mapping.kind == OnnxMappingKind::input_as ||
      (mapping.kind == OnnxMappingKind::halves && !*mapping.name))
    if (mapping.index < 0 || mapping.index >= max_onnx_inputs)
      return {ClassFault::onnx_index, mapping.param};
  return ClassFault::none;
}

/// Checks two entries of one form: they may share an attribute only as values of only(), and may
/// not share an index, a parameter, or a name in inputs() or in outputs().
constexpr Found check_onnx_pair(const OnnxMapping& left, const OnnxMapping& right) {
  const bool same_kind = left.kind == right.kind,
             same_name = *left.name && std::string_view(left.name) == right.name;
  const bool values =
      left.kind == OnnxMappingKind::only && same_kind;  // several values of one attribute
  // Attributes share one namespace, whatever the entry.
  if (same_name && !values && names_attribute(left) && names_attribute(right))
    return {ClassFault::onnx_twice, left.name};
  if (same_name && same_kind &&
      (left.kind == OnnxMappingKind::input || left.kind == OnnxMappingKind::output))
    return {ClassFault::onnx_twice, left.name};
  if (left.index >= 0 && left.index == right.index) return {ClassFault::onnx_twice, left.param};
  if (sets_parameter(left) && sets_parameter(right))
    for (const std::string_view param : {left.param, left.second})
      if (!param.empty() && (param == right.param || param == right.second))
        return {ClassFault::onnx_twice, left.param};
  return ClassFault::none;
}

/// Checks that every required input and parameter has a source; the parameter that counts an output
/// is the node's number of outputs. With inputs(), every required input must be named: an ONNX node
/// has no implicit variables. A variadic input stands for any number of tensors, possibly none, and
/// takes all indices from its own on: no parameter may follow it.
constexpr Found check_onnx_complete(const Description& d, int form) {
  // Counts the entries of this form only.
  const auto count = [&](auto fits) {
    int found = 0;
    for (const OnnxMapping& mapping : d.onnx_mappings)
      found += mapping.form == form && fits(mapping);
    return found;
  };
  const auto any = [&](auto fits) { return count(fits) > 0; };
  // Without inputs(), all of the operator's inputs are listed; parameters take indices of their own
  // among them.
  const int listed =
      count([](const OnnxMapping& mapping) { return mapping.kind == OnnxMappingKind::input; });
  const int input_count = (listed > 0 ? listed : d.inputs.size) +
                          count([](const OnnxMapping& mapping) { return mapping.index >= 0; });
  for (const auto& input : d.inputs) {
    const bool named = any([&](const OnnxMapping& mapping) {
      return mapping.kind == OnnxMappingKind::input && std::string_view(mapping.name) == input.name;
    });
    if (listed > 0 && !named && !input.optional && !input.variadic)
      return {ClassFault::onnx_incomplete, input.name};
    // A variadic input takes the last index and all that follow.
    if (input.variadic && (named || listed == 0) &&
        any([&](const OnnxMapping& mapping) { return mapping.index >= input_count - 1; }))
      return {ClassFault::onnx_index, input.name};
  }
  // without() sets a value for some nodes only.
  for (int i = 0; i < d.params.size; ++i) {
    const std::string_view name = d.params[i].name;
    bool set = !d.params[i].required;
    for (const auto& output : d.outputs) set = set || output.count_param == i;
    set = set || any([&](const OnnxMapping& mapping) {
            return sets_parameter(mapping) && mapping.kind != OnnxMappingKind::without &&
                   (name == mapping.param || name == mapping.second);
          });
    if (!set) return {ClassFault::onnx_incomplete, d.params[i].name};
  }
  return ClassFault::none;
}

/// Whether two forms of one type both cover some version. A form without until covers all versions
/// from since on.
constexpr bool versions_overlap(const OnnxEntry& left, const OnnxEntry& right) {
  if (std::string_view(left.domain) != right.domain || std::string_view(left.type) != right.type)
    return false;
  return !(left.until.has_value && left.until.value < right.since) &&
         !(right.until.has_value && right.until.value < left.since);
}

/// Checks all forms of an operator; returns the first fault, with the name that has it.
constexpr Found check_onnx(const Description& d) {
  // Types and versions first, because users know a form by them.
  for (int i = 0; i < d.onnx.size; ++i) {
    const OnnxEntry& form = d.onnx[i];
    if (!*form.type) return ClassFault::onnx_no_type;
    bool sound = form.since >= 1 && (!form.until.has_value || form.until.value >= form.since);
    for (int earlier = 0; earlier < i; ++earlier)
      sound = sound && !versions_overlap(d.onnx[earlier], form);
    if (!sound) return {ClassFault::onnx_versions, form.type};
  }
  // Then the entries one by one, and each with those before it.
  for (int i = 0; i < d.onnx_mappings.size; ++i) {
    const OnnxMapping& mapping = d.onnx_mappings[i];
    if (const Found found = check_onnx_names(d, mapping); found.fault != ClassFault::none)
      return found;
    for (int earlier = 0; earlier < i; ++earlier)
      if (d.onnx_mappings[earlier].form == mapping.form)
        if (const Found found = check_onnx_pair(d.onnx_mappings[earlier], mapping);
            found.fault != ClassFault::none)
          return found;
  }
  // Then what an otherwise valid form lacks.
  for (int form = 0; form < d.onnx.size; ++form)
    if (const Found found = check_onnx_complete(d, form); found.fault != ClassFault::none)
      return found;
  return ClassFault::none;
}

}  // namespace tenon::TENON_SDK::detail
#pragma GCC visibility pop
