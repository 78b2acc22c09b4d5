// The names of a class's tensors and parameters, kept for run time: what is left of its description there. For the SDK.
//
// A Description takes several KB and is needed at compile time only. names_of<C> keeps the pointers to its names: a kernel's
// call.input<float>("data") finds the position by them, and errors list them. Both constants are hidden: plugins that have classes of the
// same name, and the application, keep their own.
//
// For a class whose describe() names inputs a, b and output y, and has the parameter p:
//
//     name_array<C>.names       {"a", "b", "y", "p", nullptr}
//     names_of<C>.inputs        names: the first of them; count: 2; repeated: -1, or 1 if b is variadic
//     names_of<C>.outputs       names: the third; count: 1
#pragma once
#include "describe.hpp"
#include "names.hpp"
#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::detail {

/// All names of a class, one group behind the other: inputs, outputs, states, parameters; each in the order of describe().
template <int N>
struct NameArray {
  const char* names[N + 1] = {};  // one more: an array of none is not allowed
};

/// Copies the pointers; the names themselves are literals of describe().
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

/// Where each group lies in the array, and which of its names stands for several tensors: a variadic input is always the last one, an
/// output with a count may stand anywhere.
template <class C>
constexpr Names collect_groups() {
  constexpr const Description& d = description_of<C>;
  const char* const* next = name_array<C>.names;
  // The next `count` names; repeated: the index of the one that stands for several, -1 for none.
  const auto group = [&](int count, int repeated) {
    const NameGroup result{next, count, repeated};
    next += count;
    return result;
  };
  const bool variadic = d.inputs.size > 0 && d.inputs[d.inputs.size - 1].variadic;
  int counted = -1;
  for (int i = 0; i < d.outputs.size; ++i)
    if (d.outputs[i].counted) counted = i;
  Names names;  // parameters and states stand for one thing each
  names.inputs = group(d.inputs.size, variadic ? d.inputs.size - 1 : -1);
  names.outputs = group(d.outputs.size, counted);
  names.states = group(d.states.size, -1);
  names.params = group(d.params.size, -1);
  return names;
}

/// What Call, Infer and Gradient get of a class. It exists at compile time: plugins run no code for it when they are loaded.
template <class C>
[[gnu::visibility("hidden")]] inline constexpr Names names_of = collect_groups<C>();

}  // namespace tenon::TENON_SDK::detail
#pragma GCC visibility pop
