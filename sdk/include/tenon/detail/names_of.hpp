// The names of a class's tensors and parameters at run time: the only part of its description that
// is kept. For the SDK.
//
// A Description takes several KB and is needed only at compile time. names_of<C> keeps the pointers
// to its names: a kernel's call.input<float>("data") finds the index with them, and errors list
// them. Both constants are hidden, so that plugins with classes of the same name, and the
// application, keep their own.
//
// For a class whose describe() declares inputs a and b, output y and parameter p:
//
//     name_array<C>.names       {"a", "b", "y", "p", nullptr}
//     names_of<C>.inputs        names: the first of them; count: 2; repeated: -1, or 1 if b is
//                               variadic
//     names_of<C>.outputs       names: the third; count: 1
#pragma once
#include "../describe.hpp"
#include "../version.hpp"
#include "names.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::detail {

/// All names of a class: inputs, outputs, states, parameters, each group in the order of
/// describe().
template <int N>
struct NameArray {
  const char* names[N + 1] = {};  // one more, because an empty array is not allowed
};

/// Copies the pointers; the names themselves are string literals of describe().
template <class C>
constexpr auto collect_names() {
  constexpr const Description& d = description_of<C>;
  NameArray<d.inputs.size + d.outputs.size + d.states.size + d.params.size> array;
  int i = 0;
  for (const auto& input : d.inputs) array.names[i++] = input.name;
  for (const auto& output : d.outputs) array.names[i++] = output.name;
  for (const auto& state : d.states) array.names[i++] = state.name;
  for (const auto& param : d.params) array.names[i++] = param.name;
  return array;
}

template <class C>
[[gnu::visibility("hidden")]] inline constexpr auto name_array = collect_names<C>();

/// The range of each group in the array, and which of its names stands for several tensors: a
/// variadic input is always the last one, an output with a count may be anywhere.
template <class C>
constexpr Names collect_groups() {
  constexpr const Description& d = description_of<C>;
  const char* const* next = name_array<C>.names;
  // Takes the next `count` names; `repeated` is the index of the one that stands for several
  // tensors, or -1.
  const auto group = [&](int count, int repeated) {
    const NameGroup result{next, count, repeated};
    next += count;
    return result;
  };
  const bool variadic = d.inputs.size > 0 && d.inputs[d.inputs.size - 1].variadic;
  int counted = -1;
  for (int i = 0; i < d.outputs.size; ++i)
    if (d.outputs[i].counted) counted = i;
  Names names;  // parameters and states never stand for several
  names.inputs = group(d.inputs.size, variadic ? d.inputs.size - 1 : -1);
  names.outputs = group(d.outputs.size, counted);
  names.states = group(d.states.size, -1);
  names.params = group(d.params.size, -1);
  return names;
}

/// The names for Call, Infer and Gradient of a class. A compile-time constant: plugins run no code
/// for it when they are loaded.
template <class C>
[[gnu::visibility("hidden")]] inline constexpr Names names_of = collect_groups<C>();

}  // namespace tenon::TENON_SDK::detail
#pragma GCC visibility pop
