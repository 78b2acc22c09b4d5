// What describe() said about an operator, as a value that exists at compile time.
#pragma once
#include <cstdint>
#include <string_view>

#include "dtype.hpp"
#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::detail {

/// An array that grows up to N. One that was asked to hold more stays full and says so.
template <class T, int N>
struct Fixed {
  static constexpr int capacity = N;
  T items[N] = {};
  int size = 0;
  bool overflow = false;

  constexpr T& push(const T& item) {
    if (size == N) {
      overflow = true;
      return items[N - 1];
    }
    return items[size++] = item;
  }
  constexpr const T* begin() const { return items; }
  constexpr const T* end() const { return items + size; }
  constexpr const T& operator[](int i) const { return items[i]; }
  constexpr T& operator[](int i) { return items[i]; }
};

/// What an author can get wrong, in the order in which it is looked for; checks.hpp has the sentences.
enum class Mistake {
  none,
  not_an_operator,
  no_describe,
  not_literal,
  describe_not_constant,
  no_doc,
  too_many,
  same_input_or_output,
  same_state,
  initial_not_finite,
  same_param,
  param_type,
  enum_without_choices,
  default_no_choice,
  default_out_of_range,
  variadic_not_last,
  two_counts,
  count_unknown,
  inplace_unknown,
  backward_inplace_unknown,
  backward_reads_unknown,
  zero_where_unknown,
  zero_where_alone,
  renamed_unknown,
  added_unknown,
  version_too_new,
  no_forward,
  forward_signature,
  forward_sparse_signature,
  backward_signature,
  backward_sparse_signature,
  gradient_signature,
  infer_signature,
  infer_storage_signature,
  workspace_signature,
  configure_signature,
  empty_kernel
};

enum class Kind : std::uint8_t { none, boolean, int32, int64, float32, float64, text, ints, floats, choice };

struct InputEntry {
  const char* name = "";
  const char* doc = "";
  bool optional = false, variadic = false, own_types = false, begins = false;
  Types types;         ///< where own_types; else the input has the dtype that all such inputs share
  double initial = 0;  ///< where begins
};

struct OutputEntry {
  const char* name = "";
  const char* doc = "";
  bool hidden = false, counted = false;
  int count_param = -1;  ///< index into params
};

struct StateEntry {
  const char* name = "";
  const char* doc = "";
  double initial = 0;
};

struct Bound {
  bool given = false;
  std::int64_t integer = 0;
  double number = 0;
};

struct ParamEntry {
  const char* name = "";
  const char* doc = "";
  Kind kind = Kind::none;
  bool required = false;
  std::int64_t integer = 0;           ///< the default of bool, integers and enums
  double number = 0;                  ///< of float and double
  std::string_view text;              ///< of text
  int first_value = 0, values = 0;    ///< of lists, in Description::ints or floats
  int first_choice = 0, choices = 0;  ///< in Description::choices
  Bound min, max, above, below;
};

struct Choice {
  const char* name = "";
  std::int64_t value = 0;
};
struct NamePair {
  const char* first = "";
  const char* second = "";
};
struct Renaming {
  int version = 0;
  const char* from = "";
  const char* to = "";
};
struct Addition {
  int version = 0;
  const char* param = "";
};

/// Everything describe() said. All texts are literals of the author's.
struct Description {
  const char* doc = "";
  int version = 1;
  Types types = floating;
  Fixed<const char*, 8> aliases;
  Fixed<InputEntry, 24> inputs;
  Fixed<OutputEntry, 16> outputs;
  Fixed<StateEntry, 12> states;
  Fixed<ParamEntry, 32> params;
  Fixed<std::int64_t, 64> ints;
  Fixed<double, 64> floats;
  Fixed<Choice, 64> choices;
  Fixed<NamePair, 24> inplace;           ///< (input, output)
  Fixed<NamePair, 24> backward_inplace;  ///< (output, input)
  bool backward_reads_said = false;      ///< false: backward reads all inputs and outputs
  Fixed<const char*, 40> backward_reads;
  Fixed<const char*, 24> zero_where;  ///< inputs; the output is 0 wherever one of them is
  bool accumulates = false, strides = false, random = false, elementwise = false, kernels_elsewhere = false;
  Fixed<Renaming, 16> renamed;
  Fixed<Addition, 16> added;
  Mistake mistake = Mistake::none;  ///< the first that was found
};

/// Where the members lie that parameters and counts of outputs were described by, in the object that the defaults are read from. Kept
/// beside the description and only while describe() runs: GCC 12 takes no constant that ever held the address of a temporary object.
struct Addresses {
  const void* params[Description().params.capacity] = {};
  const void* counts[Description().outputs.capacity] = {};
};

/// The first input whose dtype is the shared one; 0 where every input has a dtype of its own.
constexpr int first_shared(const Description& d) {
  for (int i = 0; i < d.inputs.size; ++i)
    if (!d.inputs[i].own_types) return i;
  return 0;
}

/// The index of a name; -1 where it is not there.
template <class Entries>
constexpr int index_of(const Entries& entries, std::string_view name) {
  for (int i = 0; i < entries.size; ++i)
    if (name == entries[i].name) return i;
  return -1;
}

}  // namespace tenon::TENON_SDK::detail
#pragma GCC visibility pop
