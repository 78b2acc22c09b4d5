// The checks of a finished Description that need no more than itself: names, bounds, references. What concerns the class (signatures, base,
// missing functions) is in checks.hpp. All of it runs at compile time; each check returns the first fault it finds, or ClassFault::none.
#pragma once
#include <limits>

#include "description.hpp"
#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::detail {

/// Whether two entries have the same name. Quadratic: the lists are short.
template <class Entries>
constexpr bool repeats_a_name(const Entries& entries) {
  for (int i = 1; i < entries.size; ++i)
    if (index_of(entries, entries[i].name) < i) return true;
  return false;
}

/// Whether describe() exceeded a capacity of Description.
constexpr bool overflows(const Description& d) {
  return d.aliases.overflow || d.inputs.overflow || d.outputs.overflow || d.states.overflow || d.params.overflow || d.ints.overflow ||
         d.floats.overflow || d.choices.overflow || d.inplace.overflow || d.backward_inplace.overflow || d.backward_reads.value.overflow ||
         d.zero_where.overflow || d.renamed.overflow || d.added.overflow;
}

/// std::isfinite is no constant expression in C++20.
constexpr bool is_finite(double number) {
  return number >= std::numeric_limits<double>::lowest() && number <= std::numeric_limits<double>::max();
}

/// Inputs, outputs and states: names are unique among inputs and outputs together, and among states; initial values are finite; only the
/// last input is variadic, since the number of its tensors is what the others leave; only one output has a count, for the same reason.
constexpr ClassFault check_tensors(const Description& d) {
  if (repeats_a_name(d.inputs) || repeats_a_name(d.outputs)) return ClassFault::same_input_or_output;
  for (const auto& output : d.outputs)
    if (index_of(d.inputs, output.name) >= 0) return ClassFault::same_input_or_output;
  if (repeats_a_name(d.states)) return ClassFault::same_state;
  for (const auto& input : d.inputs)
    if (!is_finite(input.initial.value)) return ClassFault::initial_not_finite;
  for (const auto& state : d.states)
    if (!is_finite(state.initial)) return ClassFault::initial_not_finite;
  for (int i = 0; i + 1 < d.inputs.size; ++i)
    if (d.inputs[i].variadic) return ClassFault::variadic_not_last;
  int counts = 0;
  for (const auto& output : d.outputs) counts += output.counted;
  return counts > 1 ? ClassFault::two_counts : ClassFault::none;
}

/// Whether a default lies within the parameter's bounds; a NaN is outside of every bound. Integers are compared as integers: a double has
/// no room for all int64.
template <class T>
constexpr bool within(const ParamEntry& p, T value) {
  const auto keeps = [](const Bound& bound, auto holds) {
    if constexpr (std::is_integral_v<T>) {
      return !bound.given || holds(bound.integer);
    } else {
      return !bound.given || holds(bound.number);
    }
  };
  return keeps(p.bounds[0], [=](T limit) { return value >= limit; }) && keeps(p.bounds[1], [=](T limit) { return value <= limit; }) &&
         keeps(p.bounds[2], [=](T limit) { return value > limit; }) && keeps(p.bounds[3], [=](T limit) { return value < limit; });
}

/// Every value of a list must lie within the bounds; an empty list does.
constexpr bool default_within(const Description& d, const ParamEntry& p) {
  if (p.kind == Kind::int32 || p.kind == Kind::int64) return within(p, p.integer);
  if (p.kind == Kind::float32 || p.kind == Kind::float64) return within(p, p.number);
  for (int i = p.first_value; i < p.first_value + p.values; ++i)
    if (!(p.kind == Kind::ints ? within(p, d.ints[i]) : within(p, d.floats[i]))) return false;
  return true;
}

/// An enum's default is compared by value, a text's by name.
constexpr bool default_is_a_choice(const Description& d, const ParamEntry& p) {
  for (int i = p.first_choice; i < p.first_choice + p.choices; ++i)
    if (p.kind == Kind::text ? p.text == d.choices[i].name : p.integer == d.choices[i].value) return true;
  return false;
}

/// Types, choices and defaults of the parameters. A required parameter's default is never used, and may be anything; an enum's must still
/// be one of its choices, so that the manifest can name it. has_defaults: false for the description of a kernel, whose defaults were not
/// read.
constexpr ClassFault check_params(const Description& d, bool has_defaults) {
  if (repeats_a_name(d.params)) return ClassFault::same_param;
  for (const auto& param : d.params) {
    if (param.kind == Kind::none) return ClassFault::param_type;
    if (param.kind == Kind::choice && param.choices == 0) return ClassFault::enum_without_choices;
    if (!has_defaults) continue;
    const bool needs_choice = param.kind == Kind::choice || (param.choices > 0 && !param.required);
    if (needs_choice && !default_is_a_choice(d, param)) return ClassFault::default_no_choice;
    if (!param.required && !default_within(d, param)) return ClassFault::default_out_of_range;
  }
  return ClassFault::none;
}

/// Names in inplace, backward_inplace, backward_reads and zero_where: describe() must declare them, before or after.
constexpr ClassFault check_references(const Description& d) {
  for (const auto& pair : d.inplace)
    if (index_of(d.inputs, pair.first) < 0 || index_of(d.outputs, pair.second) < 0) return ClassFault::inplace_unknown;
  for (const auto& pair : d.backward_inplace)
    if (index_of(d.outputs, pair.first) < 0 || index_of(d.inputs, pair.second) < 0) return ClassFault::backward_inplace_unknown;
  for (const char* name : d.backward_reads.value)
    if (index_of(d.inputs, name) < 0 && index_of(d.outputs, name) < 0) return ClassFault::backward_reads_unknown;
  for (const char* name : d.zero_where)
    if (index_of(d.inputs, name) < 0) return ClassFault::zero_where_unknown;
  return ClassFault::none;
}

/// Whether a parameter has this name now or had it until it was renamed. A parameter may be renamed twice: 2: a -> b, 3: b -> c.
constexpr bool ever_named(const Description& d, std::string_view name) {
  if (index_of(d.params, name) >= 0) return true;
  for (const auto& renaming : d.renamed)
    if (name == renaming.from) return true;
  return false;
}

/// renamed and added: they lead to parameters of the operator, at versions up to its own.
constexpr ClassFault check_versions(const Description& d) {
  for (const auto& renaming : d.renamed) {
    if (!ever_named(d, renaming.to)) return ClassFault::renamed_unknown;
    if (renaming.version > d.version) return ClassFault::version_too_new;
  }
  for (const auto& addition : d.added) {
    if (!ever_named(d, addition.param)) return ClassFault::added_unknown;
    if (addition.version > d.version) return ClassFault::version_too_new;
  }
  return ClassFault::none;
}

/// Finds the parameters that outputs' counts stand for: .count(&Split::parts) and op.param("parts", &Split::parts, ...) name one member, so
/// their addresses in one object are equal. A count that no parameter has is a fault: the host could not know the number of outputs.
constexpr ClassFault resolve_counts(Description& d, const Addresses& addresses) {
  ClassFault fault = ClassFault::none;
  for (int o = 0; o < d.outputs.size; ++o) {
    if (!d.outputs[o].counted) continue;
    for (int p = 0; p < d.params.size; ++p)
      if (addresses.params[p] == addresses.counts[o]) d.outputs[o].count_param = p;
    if (d.outputs[o].count_param < 0) fault = ClassFault::count_unknown;
  }
  return fault;
}

/// Completes a description after describe() has run, and notes the first fault. addresses: null for a kernel, whose class has no object
/// at compile time and whose defaults were not read.
constexpr void finish(Description& d, const Addresses* addresses) {
  const bool has_defaults = addresses != nullptr;
  const ClassFault counts = addresses ? resolve_counts(d, *addresses) : ClassFault::none;
  const ClassFault found[] = {*d.doc ? ClassFault::none : ClassFault::no_doc,
                              overflows(d) ? ClassFault::too_many : ClassFault::none,
                              check_tensors(d),
                              check_params(d, has_defaults),
                              counts,
                              check_references(d),
                              check_versions(d)};
  for (const ClassFault fault : found)
    if (d.fault == ClassFault::none) d.fault = fault;
}

}  // namespace tenon::TENON_SDK::detail
#pragma GCC visibility pop
