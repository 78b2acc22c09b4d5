// Checks of a finished Description that need nothing else: names, bounds, references. Checks of the
// class (signatures, base, missing functions) are in checks.hpp. Everything runs at compile time;
// each check returns the first fault it finds, or ClassFault::none.
#pragma once
#include <limits>

#include "../version.hpp"
#include "description.hpp"
#include "onnx_checks.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::detail {

/// Returns a name that two entries have, or null. Quadratic, because the lists are short.
template <class Entries>
constexpr const char* repeated_name(const Entries& entries) {
  for (int i = 1; i < entries.size; ++i)
    if (index_of(entries, entries[i].name) < i) return entries[i].name;
  return nullptr;
}

/// Whether describe() exceeded a capacity of Description.
constexpr bool overflows(const Description& d) {
  for (const auto& condition : d.conditions)
    if (condition.values.overflow) return true;
  return d.aliases.overflow || d.inputs.overflow || d.outputs.overflow || d.states.overflow ||
         d.params.overflow || d.ints.overflow || d.floats.overflow || d.texts.overflow ||
         d.choices.overflow || d.inplace.overflow || d.backward_inplace.overflow ||
         d.backward_reads.value.overflow || d.zero_where.overflow || d.channels_last.overflow ||
         d.linear.overflow || d.renamed.overflow || d.added.overflow || d.added_inputs.overflow ||
         d.added_outputs.overflow || d.added_states.overflow || d.removed.overflow ||
         d.was.overflow || d.conditions.overflow || d.rules.overflow || d.rewrites.overflow ||
         d.examples.overflow || d.onnx.overflow || d.onnx_mappings.overflow ||
         d.example_tensors.overflow || d.example_params.overflow || d.literals.overflow ||
         d.example_values.overflow;
}

/// std::isfinite is not constexpr in C++20.
constexpr bool is_finite(double number) {
  return number >= std::numeric_limits<double>::lowest() &&
         number <= std::numeric_limits<double>::max();
}

/// Checks inputs, outputs and states: names are unique among inputs and outputs together, and among
/// states; initial values are finite; only the last input is variadic, because its number of
/// tensors is what the others leave; only one output has a count, for the same reason.
constexpr Found check_tensors(const Description& d) {
  for (const char* repeated : {repeated_name(d.inputs), repeated_name(d.outputs)})
    if (repeated) return {ClassFault::same_input_or_output, repeated};
  for (const auto& output : d.outputs)
    if (index_of(d.inputs, output.name) >= 0)
      return {ClassFault::same_input_or_output, output.name};
  if (const char* repeated = repeated_name(d.states)) return {ClassFault::same_state, repeated};
  for (const auto& input : d.inputs)
    if (!is_finite(input.initial.value)) return {ClassFault::initial_not_finite, input.name};
  for (const auto& state : d.states)
    if (!is_finite(state.initial)) return {ClassFault::initial_not_finite, state.name};
  for (int i = 0; i + 1 < d.inputs.size; ++i)
    if (d.inputs[i].variadic) return {ClassFault::variadic_not_last, d.inputs[i].name};
  int counts = 0;
  for (const auto& output : d.outputs) counts += output.counted;
  if (counts > 0 && d.allocates()) return ClassFault::count_and_allocated;
  return counts > 1 ? ClassFault::two_counts : ClassFault::none;
}

/// Whether a default is within the parameter's bounds; NaN violates every bound. Integers are
/// compared as integers: a double cannot represent all int64.
template <class T>
constexpr bool within(const ParamEntry& p, T value) {
  const auto satisfies = [](const Bound& bound, auto predicate) {
    if constexpr (std::is_integral_v<T>) {
      return !bound.has_value || predicate(bound.integer);
    } else {
      return !bound.has_value || predicate(bound.number);
    }
  };
  return satisfies(p.bounds[0], [=](T limit) { return value >= limit; }) &&
         satisfies(p.bounds[1], [=](T limit) { return value <= limit; }) &&
         satisfies(p.bounds[2], [=](T limit) { return value > limit; }) &&
         satisfies(p.bounds[3], [=](T limit) { return value < limit; });
}

/// Every value of a list must lie within the bounds; an empty list does.
constexpr bool default_within(const Description& d, const ParamEntry& p) {
  if (p.kind == Kind::int32 || p.kind == Kind::int64) return within(p, p.integer);
  if (p.kind == Kind::float32 || p.kind == Kind::float64) return within(p, p.number);
  if (p.kind == Kind::texts) return true;
  for (int i = p.first_value; i < p.first_value + p.values; ++i)
    if (!(p.kind == Kind::ints || p.is_tensor_of_integers() ? within(p, d.ints[i])
                                                            : within(p, d.floats[i])))
      return false;
  return true;
}

constexpr bool is_a_choice(const Description& d, const ParamEntry& p, std::string_view text) {
  for (int i = p.first_choice; i < p.first_choice + p.choices; ++i)
    if (text == d.choices[i].name) return true;
  return false;
}

/// An enum's default is compared by value; a text, and each text of a list, by name.
constexpr bool default_is_a_choice(const Description& d, const ParamEntry& p) {
  if (p.kind == Kind::text) return is_a_choice(d, p, p.text);
  if (p.kind == Kind::texts) {
    for (int i = p.first_value; i < p.first_value + p.values; ++i)
      if (!is_a_choice(d, p, d.texts[i])) return false;
    return true;
  }
  for (int i = p.first_choice; i < p.first_choice + p.choices; ++i)
    if (p.integer == d.choices[i].value) return true;
  return false;
}

/// Checks types, choices and defaults of the parameters. A required parameter's default is never
/// used and may be anything, but an enum's must still be one of its choices, because the manifest
/// names it. `has_defaults` is false for the description of a kernel, whose defaults were not read.
constexpr Found check_params(const Description& d, bool has_defaults) {
  if (const char* repeated = repeated_name(d.params)) return {ClassFault::same_param, repeated};
  for (const auto& param : d.params) {
    if (param.kind == Kind::choice && param.choices == 0)
      return {ClassFault::enum_without_choices, param.name};
    if (!has_defaults) continue;
    const bool needs_choice = param.kind == Kind::choice || (param.choices > 0 && !param.required);
    if (needs_choice && !default_is_a_choice(d, param))
      return {ClassFault::default_no_choice, param.name};
    if (!param.required && !default_within(d, param))
      return {ClassFault::default_out_of_range, param.name};
  }
  return ClassFault::none;
}

/// Whether op.linear() got one input, or two different ones, none of them variadic; the output must
/// be the only one.
constexpr bool is_term(const Description& d, const NamePair& term) {
  const int first = index_of(d.inputs, term.first), second = index_of(d.inputs, term.second);
  if (first < 0 || d.outputs.size != 1 || d.outputs[0].counted) return false;
  return !*term.second || (second >= 0 && second != first && !d.inputs[first].variadic &&
                           !d.inputs[second].variadic);
}

constexpr bool shares_input(const NamePair& left, const NamePair& right) {
  for (const std::string_view name : {left.first, left.second})
    if (!name.empty() && (name == right.first || name == right.second)) return true;
  return false;
}

/// Checks names in inplace, backward_inplace, backward_reads, linear, zero_where and
/// takes_channels_last: describe() must declare them, before or after.
constexpr Found check_references(const Description& d) {
  for (const auto& pair : d.inplace)
    if (index_of(d.inputs, pair.first) < 0 || index_of(d.outputs, pair.second) < 0)
      return {ClassFault::inplace_unknown,
              index_of(d.inputs, pair.first) < 0 ? pair.first : pair.second};
  for (const auto& pair : d.backward_inplace)
    if (index_of(d.outputs, pair.first) < 0 || index_of(d.inputs, pair.second) < 0)
      return {ClassFault::backward_inplace_unknown,
              index_of(d.outputs, pair.first) < 0 ? pair.first : pair.second};
  for (const char* name : d.backward_reads.value)
    if (index_of(d.inputs, name) < 0 && index_of(d.outputs, name) < 0)
      return {ClassFault::backward_reads_unknown, name};
  for (int i = 0; i < d.linear.size; ++i) {
    if (!is_term(d, d.linear[i])) return {ClassFault::linear_unknown, d.linear[i].first};
    for (int earlier = 0; earlier < i; ++earlier)
      if (shares_input(d.linear[earlier], d.linear[i]))
        return {ClassFault::linear_unknown, d.linear[i].first};
  }
  for (const char* name : d.zero_where)
    if (index_of(d.inputs, name) < 0) return {ClassFault::zero_where_unknown, name};
  for (int i = 0; i < d.channels_last.size; ++i) {
    const std::string_view name = d.channels_last[i];
    const int output = index_of(d.outputs, name);
    bool sound = output >= 0 ? !d.outputs[output].allocated : index_of(d.inputs, name) >= 0;
    for (int earlier = 0; earlier < i; ++earlier) sound = sound && name != d.channels_last[earlier];
    if (!sound) return {ClassFault::channels_last_unknown, d.channels_last[i]};
  }
  return ClassFault::none;
}

/// Whether a parameter has this name now or had it before it was renamed or removed. A parameter
/// may be renamed twice: 2: a -> b, 3: b -> c.
constexpr bool ever_named(const Description& d, std::string_view name) {
  if (index_of(d.params, name) >= 0) return true;
  for (const auto& renaming : d.renamed)
    if (name == renaming.from) return true;
  for (const auto& removal : d.removed)
    if (name == removal.param) return true;
  return false;
}

/// Whether another parameter has had this name since that version because it was added, or renamed
/// to it.
constexpr bool named_since(const Description& d, int version, std::string_view name) {
  for (const auto& addition : d.added)
    if (name == addition.name && addition.version >= version) return true;
  for (const auto& renaming : d.renamed)
    if (name == renaming.to && renaming.version >= version) return true;
  return false;
}

/// Returns the version since which an input, output or state exists; 1 if none is declared.
template <class Entry>
constexpr int since(const Fixed<Addition, 8>& added, const Entry& entry) {
  for (const auto& addition : added)
    if (std::string_view(entry.name) == addition.name) return addition.version;
  return 1;
}

/// Checks op.added_input(), added_output() or added_state(): each names an entry, with a version up
/// to the operator's own; entries are in the order of their versions, because files and callers
/// refer to tensors by their index.
template <class Entries>
constexpr Found check_added(const Entries& entries, const Fixed<Addition, 8>& added, int version,
                            ClassFault unknown) {
  for (const auto& addition : added) {
    if (index_of(entries, addition.name) < 0) return {unknown, addition.name};
    if (addition.version > version) return {ClassFault::version_too_new, addition.name};
  }
  for (int i = 1; i < entries.size; ++i)
    if (since(added, entries[i]) < since(added, entries[i - 1]))
      return {ClassFault::added_not_last, entries[i - 1].name};
  return ClassFault::none;
}

/// Checks renamed, added and removed: they refer to parameters of the operator, at versions up to
/// its own.
constexpr Found check_versions(const Description& d) {
  for (const auto& renaming : d.renamed) {
    if (!ever_named(d, renaming.to)) return {ClassFault::renamed_unknown, renaming.to};
    if (renaming.version > d.version) return {ClassFault::version_too_new, renaming.to};
  }
  for (const auto& addition : d.added) {
    if (!ever_named(d, addition.name)) return {ClassFault::added_unknown, addition.name};
    if (addition.version > d.version) return {ClassFault::version_too_new, addition.name};
  }
  for (const auto& removal : d.removed) {
    if (index_of(d.params, removal.param) >= 0 && !named_since(d, removal.version, removal.param))
      return {ClassFault::removed_known, removal.param};
    if (removal.version > d.version) return {ClassFault::version_too_new, removal.param};
  }
  for (const auto& input : d.inputs)
    if (since(d.added_inputs, input) > 1 && !input.optional && !input.variadic)
      return {ClassFault::added_input_needed, input.name};
  for (const Found& found :
       {check_added(d.inputs, d.added_inputs, d.version, ClassFault::added_input_unknown),
        check_added(d.outputs, d.added_outputs, d.version, ClassFault::added_output_unknown),
        check_added(d.states, d.added_states, d.version, ClassFault::added_state_unknown)})
    if (found.fault != ClassFault::none) return found;
  return ClassFault::none;
}

/// Finds the parameters of outputs' counts: .count(&Split::parts) and op.param("parts",
/// &Split::parts, ...) refer to one member, so their addresses in one object are equal. A count
/// without a parameter is a fault: the host could not determine the number of outputs.
constexpr Found resolve_counts(Description& d, const Addresses& addresses) {
  Found found = ClassFault::none;
  for (int o = 0; o < d.outputs.size; ++o) {
    if (!d.outputs[o].counted) continue;
    for (int p = 0; p < d.params.size; ++p)
      if (addresses.params[p] == addresses.counts[o]) d.outputs[o].count_param = p;
    if (d.outputs[o].count_param < 0) found = {ClassFault::count_unknown, d.outputs[o].name};
  }
  return found;
}

/// The space follows the rules of an operator's name.
constexpr bool is_name(std::string_view text) {
  for (const char c : text)
    if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') && c != '_')
      return false;
  return text.empty() || text[0] < '0' || text[0] > '9';
}
constexpr bool is_operator_name(std::string_view text) {
  return !text.empty() && text.size() <= 128 && is_name(text);
}

/// Checks the parameters that conditions, rules and examples name, and that rules can compare their
/// kinds.
constexpr Found check_rules(const Description& d) {
  if (!is_name(d.space)) return {ClassFault::space_not_a_name, d.space};
  for (const auto& condition : d.conditions) {
    if (index_of(d.params, condition.param) < 0)
      return {ClassFault::condition_unknown, condition.param};
    if (std::string_view(condition.of) == "linear" &&
        !is_term(d, {condition.first, condition.second}))
      return {ClassFault::linear_unknown, condition.first};
  }
  for (int i = 1; i < d.backward_reads.value.size; ++i)
    for (int earlier = 0; earlier < i; ++earlier)
      if (d.conditions.size > 0 &&
          std::string_view(d.backward_reads.value[i]) == d.backward_reads.value[earlier])
        return {ClassFault::read_twice, d.backward_reads.value[i]};
  for (const auto& rule : d.rules) {
    const int left = index_of(d.params, rule.left), right = index_of(d.params, rule.right);
    if (left < 0 || right < 0) return {ClassFault::rule_unknown, left < 0 ? rule.left : rule.right};
    for (const int param : {left, right}) {
      const Kind kind = d.params[param].kind;
      const bool list = kind == Kind::ints || kind == Kind::floats,
                 whole = kind == Kind::ints || kind == Kind::int32 || kind == Kind::int64;
      const std::string_view relation = rule.relation;
      if (relation == "same_length" ? !list
          : relation == "multiple_of"
              ? !whole
              : !list && !whole && kind != Kind::float32 && kind != Kind::float64)
        return {ClassFault::rule_kinds, d.params[param].name};
    }
  }
  for (const auto& tensor : d.example_tensors) {
    const std::string_view name = tensor.name;
    bool known = index_of(d.inputs, name) >= 0;
    for (const auto& input : d.inputs)
      known = known || (input.variadic && name.starts_with(input.name));
    if (!known) return {ClassFault::example_unknown, tensor.name};
  }
  for (const auto& param : d.example_params)
    if (index_of(d.params, param.name) < 0) return {ClassFault::example_unknown, param.name};
  return ClassFault::none;
}

/// Completes a description after describe() and records the first fault. `addresses` is null for a
/// kernel, whose class has no object at compile time and whose defaults were not read.
constexpr void finish(Description& d, const Addresses* addresses) {
  const bool has_defaults = addresses != nullptr;
  const Found counts = addresses ? resolve_counts(d, *addresses) : ClassFault::none;
  const Found all[] = {*d.doc ? ClassFault::none : ClassFault::no_doc,
                       overflows(d) ? ClassFault::too_many : ClassFault::none,
                       check_tensors(d),
                       check_params(d, has_defaults),
                       counts,
                       check_references(d),
                       check_versions(d),
                       check_rules(d),
                       check_onnx(d)};
  for (const Found& found : all)
    if (d.fault == ClassFault::none) d.fault = found.fault, d.fault_of = found.of;
}

}  // namespace tenon::TENON_SDK::detail
#pragma GCC visibility pop
