// The result of describe() as a compile-time value. For the SDK. The data flow is
//
//     describe(op) -> Collector (describe.hpp) -> Description
//       -> checks (description_checks.hpp, checks.hpp): one sentence, or
//       -> the manifest's bytes (manifest.hpp), which the host reads
//       -> names for run time (names_of.hpp)
//
// All sizes are fixed, because a constant expression cannot own memory. The capacities below are
// the SDK's limits; the sentence for too_many in checks.hpp lists them and must be kept in sync.
#pragma once
#include <cstdint>
#include <string_view>

#include "../dtype.hpp"
#include "../version.hpp"
#include "fixed.hpp"

// Default space of a plugin's operators: tenon_add_plugin(... SPACE acme), or
// -DTENON_SPACE='"acme"'.
#ifndef TENON_SPACE
#define TENON_SPACE ""
#endif

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::detail {

/// Faults of an author's class, roughly in the order in which they are checked; only the first is
/// reported. checks.hpp has the sentences, and tests/compile_errors has a case for each.
enum class ClassFault {
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
  enum_without_choices,
  default_no_choice,
  default_out_of_range,
  variadic_not_last,
  two_counts,
  count_and_allocated,
  count_unknown,
  inplace_unknown,
  backward_inplace_unknown,
  backward_reads_unknown,
  linear_unknown,
  zero_where_unknown,
  zero_where_not_elementwise,
  channels_last_unknown,
  renamed_unknown,
  added_unknown,
  removed_known,
  added_input_unknown,
  added_input_needed,
  added_output_unknown,
  added_state_unknown,
  added_not_last,
  version_too_new,
  no_forward,
  forward_signature,
  forward_sparse_signature,
  backward_signature,
  backward_sparse_signature,
  composed_state,
  gradient_signature,
  infer_signature,
  infer_storage_signature,
  workspace_signature,
  flops_signature,
  algorithm_signature,
  supports_signature,
  prepare_signature,
  configure_signature,
  empty_kernel,
  named_forwards,
  named_backwards,
  named_infer_shape,
  space_not_a_name,
  condition_unknown,
  read_twice,
  rule_unknown,
  rule_kinds,
  example_unknown,
  onnx_no_type,
  onnx_versions,
  onnx_unknown,
  onnx_twice,
  onnx_index,
  onnx_incomplete
};

/// The C++ type of a parameter's member, and its name in the manifest: bool, int32, int64, float32,
/// float64, text, ints, floats, enum, texts, tensor. none: not a valid parameter type.
enum class Kind : std::uint8_t {
  none,
  boolean,
  int32,
  int64,
  float32,
  float64,
  text,
  ints,
  floats,
  choice,
  texts,
  tensor
};

/// A value that an author may omit.
template <class T>
struct Maybe {
  bool has_value = false;
  T value{};
};

/// The name of the parameter with this index; null if it is negative.
struct ParamName {
  int index = -1;
};

// Each of these lists its keys in the manifest, in the manifest's order: key(name, value).

/// op.input(name, doc) and what follows it.
struct InputEntry {
  const char* name = "";
  const char* doc = "";
  bool optional = false, variadic = false;
  Maybe<Types> types;  ///< if not given, the input has the dtype that all such inputs share
  Maybe<double> initial;
  bool weight = false;
  bool on_cpu = false;      ///< its elements are in CPU memory, whatever device the kernel runs on
  bool shape_only = false;  ///< kernels read only its shape and dtype, not its elements

  template <class Key>
  constexpr void each_key(Key&& key) const {
    key("name", name), key("doc", doc), key("optional", optional), key("variadic", variadic),
        key("types", types), key("initial", initial);
    key("weight", weight);
    if (on_cpu) key("on_cpu", on_cpu);
    if (shape_only) key("shape_only", shape_only);
  }
};

/// op.output(name, doc): hidden(), count() and allocated().
struct OutputEntry {
  const char* name = "";
  const char* doc = "";
  bool hidden = false, counted = false;
  int count_param = -1;    ///< index into params
  bool allocated = false;  ///< only its kernel knows the shape

  template <class Key>
  constexpr void each_key(Key&& key) const {
    key("name", name), key("doc", doc), key("hidden", hidden), key("count", ParamName{count_param});
    if (allocated) key("allocated", allocated);
  }
};

/// op.state(name, doc): initial().
struct StateEntry {
  const char* name = "";
  const char* doc = "";
  double initial = 0;

  template <class Key>
  constexpr void each_key(Key&& key) const {
    key("name", name), key("doc", doc), key("initial", initial);
  }
};

/// One bound of a parameter. Both numbers are set; the parameter's kind determines which one
/// counts.
struct Bound {
  bool has_value = false;  // false: no bound on this side
  std::int64_t integer = 0;
  double number = 0;
};

struct ParamEntry;
/// Fields of a parameter whose representation depends on its kind.
struct DefaultOf {
  const ParamEntry& param;
};
struct ChoicesOf {
  const ParamEntry& param;
};
struct BoundOf {
  const ParamEntry& param;
  const Bound& bound;
};

/// op.param(name, member, doc): the default, bounds and choices. The kind determines which of the
/// defaults counts.
struct ParamEntry {
  const char* name = "";
  const char* doc = "";
  Kind kind = Kind::none;
  DType dtype = unknown_dtype;  ///< for tensor
  bool required = false;
  std::int64_t integer = 0;  ///< the default of bool, integers and enums
  double number = 0;         ///< the default of float and double
  std::string_view text;     ///< the default of text
  int first_value = 0,
      values = 0;  ///< lists and tensor: range in Description::ints, floats or texts
  int first_choice = 0, choices = 0;  ///< range in Description::choices
  Bound bounds[4];  ///< indexed by enum Side: at_least, at_most, greater_than, less_than

  constexpr bool is_tensor_of_integers() const {
    return kind == Kind::tensor && (dtype == i32 || dtype == i64);
  }
  template <class Key>
  constexpr void each_key(Key&& key) const {
    key("name", name), key("doc", doc), key("kind", kind), key("default", DefaultOf{*this}),
        key("required", required);
    if (kind == Kind::tensor) key("dtype", name_of(dtype));
    key("min", BoundOf{*this, bounds[0]}), key("max", BoundOf{*this, bounds[1]});
    key("above", BoundOf{*this, bounds[2]}), key("below", BoundOf{*this, bounds[3]}),
        key("choices", ChoicesOf{*this});
  }
};

/// One name, or two if the second is not empty.
struct NameList {
  const char* names[2] = {"", ""};
};
/// One pair of .one_of: the name that users write, and the enum's value. A text's choices have no
/// value.
struct Choice {
  const char* name = "";
  std::int64_t value = 0;
};
/// op.inplace(first, second), op.backward_inplace(first, second), op.linear(first, second).
struct NamePair {
  const char* first = "";
  const char* second = "";
};
/// A term of op.linear(), with one or two names.
struct TermsOf {
  const Fixed<NamePair, 16>& terms;
};
/// A value of a parameter as written by an author in an example or a condition: true, 2, 0.5,
/// "max", {3, 3}, {0.5, 1.0}, {"a", "b"}. Lists are stored in Description::literals, those of
/// doubles in example_values, those of texts in texts.
struct LiteralEntry {
  enum class Type : std::uint8_t {
    boolean,
    integer,
    number,
    text,
    list,
    numbers,
    texts
  } type = Type::integer;
  std::int64_t integer = 0;  ///< also for boolean
  double number = 0;
  const char* text = "";
  int first = 0, count = 0;  ///< range of a list
};
/// .when(): limits another declaration to calls in which the parameter has one of these values.
struct ConditionEntry {
  const char* of = "";  ///< backward_reads, inplace, backward_inplace, linear or hidden
  const char *first = "", *second = "";  ///< the names that it limits; second only for pairs
  const char* param = "";
  Fixed<LiteralEntry, 8> values;
  template <class Key>
  constexpr void each_key(Key&& key) const {
    key("of", of), key("names", NameList{{first, second}}), key("param", param),
        key("values", values);
  }
};
/// op.require(left, relation, right).
struct RuleEntry {
  const char* left = "";
  const char* relation = "";
  const char* right = "";
};
/// op.rule(name, pattern, replacement), op.exact_rule().
struct RewriteEntry {
  const char* name = "";
  const char* pattern = "";
  const char* replacement = "";
  bool exact = false;
  template <class Key>
  constexpr void each_key(Key&& key) const {
    key("name", name), key("pattern", pattern), key("replacement", replacement),
        key("exact", exact);
  }
};
/// op.onnx(domain, type).since().until().types().
struct OnnxEntry {
  const char* domain = "";
  const char* type = "";
  int since = 1;
  Maybe<int> until;
  Maybe<Types> types;
};
/// All other calls on a form, one by one; the kind of call determines which fields have a meaning.
/// The manifest's lists are in this order.
enum class OnnxMappingKind : std::uint8_t {
  input,
  output,
  attribute,
  value,
  input_as,
  halves,
  constant,
  without,
  only,
  ignore
};
struct OnnxMapping {
  OnnxMappingKind kind = OnnxMappingKind::input;
  int form = 0;                  ///< index into Description::onnx
  const char* name = "";         ///< ONNX's attribute; our input, state or output
  const char* param = "";        ///< the parameter that it sets
  const char* second = "";       ///< second parameter of halves
  int index = -1;                ///< ONNX's input
  bool has_value = false;        ///< whether `onnx_value` is set
  LiteralEntry onnx_value = {};  ///< ONNX's value or default
  LiteralEntry tenon_value = {};
};
/// All forms, and the entries of one form and one kind of call: helpers of the manifest's writer.
struct OnnxForms {
  int count;
};
struct OnnxMappingsOf {
  int form;
  OnnxMappingKind kind;
};
/// One tensor and one parameter of op.example(). Dimensions, elements and parameters are in the
/// description's pools.
struct ExampleTensor {
  const char* name = "";
  Maybe<DType> dtype;
  int first_dim = 0, dims = 0;
  int first_value = 0, values = 0;  ///< no values: any elements
};
struct ExampleParam {
  const char* name = "";
  LiteralEntry value;
};
struct ExampleEntry {
  int first_tensor = 0, tensors = 0, first_param = 0, params = 0;
};
/// op.renamed(version, from, to): since that version.
struct Renaming {
  int version = 0;
  const char* from = "";
  const char* to = "";
};
/// op.added(version, name) for parameters, inputs, outputs or states: exists since that version.
struct Addition {
  int version = 0;
  const char* name = "";
};
/// op.removed(version, param): since that version.
struct Removal {
  int version = 0;
  const char* param = "";
  Maybe<LiteralEntry> was;  ///< the only value that may be dropped; not given: any value
};
/// op.added(version, param).was(value).
struct FormerValue {
  const char* param = "";
  LiteralEntry value;
};

/// Everything that describe() declared. All texts are the author's literals.
struct Description {
  const char* doc = "";             ///< one sentence
  const char* space = TENON_SPACE;  ///< prefix of the full name; empty: the plugin's name
  int version = 1;                  ///< version of the operator
  Types types = floating;           ///< the shared dtypes of inputs without types of their own
  Fixed<const char*, 8> aliases;    // numbers are the capacities
  Fixed<InputEntry, 24> inputs;
  Fixed<OutputEntry, 16> outputs;
  Fixed<StateEntry, 12> states;
  Fixed<ParamEntry, 32> params;
  Fixed<std::int64_t, 64>
      ints;  ///< the default values of all list parameters, as in floats; params have the ranges
  Fixed<double, 64> floats;
  Fixed<std::string_view, 64> texts;  ///< also those of examples
  Fixed<Choice, 64> choices;
  Fixed<NamePair, 24> inplace;           ///< (input, output)
  Fixed<NamePair, 24> backward_inplace;  ///< (output, input)
  Maybe<Fixed<const char*, 40>>
      backward_reads;                 ///< not given: backward reads all inputs and outputs
  Fixed<const char*, 24> zero_where;  ///< inputs; the output is 0 where one of them is
  Fixed<NamePair, 16>
      linear;  ///< terms of the output, each linear in these inputs; the second name may be empty
  bool gradient_of_duals = false;  ///< an elementwise class's own gradient also takes dual numbers
  Maybe<bool> traced;  ///< whether operator() is traced; not given: if it compiles for dual numbers
  bool derivative =
      false;  ///< the CPU kernel has the parameter `derivative`, which params does not list
  Fixed<const char*, 40> channels_last;  ///< inputs and outputs that have this layout together
  bool prefers_channels_last = false;    ///< the kernel is faster with it
  bool surrogate_gradient = false;       ///< deliberately not the derivative of forward
  bool communicates = false;             ///< kernels wait for other processes
  bool accumulates = false, strides = false, random = false, elementwise = false,
       kernels_elsewhere = false;
  Fixed<Renaming, 16>
      renamed;  ///< in the order of describe(), which may differ from that of the versions
  Fixed<Addition, 16> added;
  Fixed<Addition, 8> added_inputs, added_outputs, added_states;
  Fixed<Removal, 16> removed;
  Fixed<FormerValue, 16> was;  ///< former values of added parameters
  Fixed<ConditionEntry, 8> conditions;
  Fixed<RuleEntry, 16> rules;
  Fixed<RewriteEntry, 24> rewrites;
  Fixed<OnnxEntry, 16> onnx;
  Fixed<OnnxMapping, 64> onnx_mappings;  ///< entries of all forms
  Fixed<ExampleEntry, 8> examples;
  Fixed<ExampleTensor, 32> example_tensors;
  Fixed<ExampleParam, 32> example_params;
  Fixed<std::int64_t, 96> literals;     ///< dimensions of examples' tensors, and lists of literals
  Fixed<double, 96> example_values;     ///< elements of examples' tensors
  ClassFault fault = ClassFault::none;  ///< the first fault that was found
  const char* fault_of =
      "";  ///< the parameter, input, output or state with the fault; empty: the operator

  /// Whether the kernel allocates some of the outputs.
  constexpr bool allocates() const {
    for (const auto& output : outputs)
      if (output.allocated) return true;
    return false;
  }

  /// `functions`: the names of those that the class has.
  template <class Functions, class Key>
  constexpr void each_key(const Functions& functions, Key&& key) const {
    key("doc", doc), key("version", version), key("aliases", aliases), key("types", types);
    key("inputs", inputs), key("outputs", outputs), key("states", states), key("params", params);
    key("inplace", inplace), key("backward_inplace", backward_inplace),
        key("backward_reads", backward_reads);
    key("accumulates", accumulates), key("strides", strides), key("random", random),
        key("elementwise", elementwise);
    key("kernels_elsewhere", kernels_elsewhere), key("functions", functions),
        key("renamed", renamed), key("added", added);
    // Since 0.2, and only if they are set; older hosts ignore them.
    if (*space) key("space", space);
    if (conditions.size > 0) key("conditions", conditions);
    if (rules.size > 0) key("rules", rules);
    if (rewrites.size > 0) key("rewrites", rewrites);
    if (onnx.size > 0) key("onnx", OnnxForms{onnx.size});
    if (examples.size > 0) key("examples", examples);
    if (linear.size > 0) key("linear", TermsOf{linear});
    if (derivative) key("derivative", derivative);
    if (channels_last.size > 0) key("channels_last", channels_last);
    if (prefers_channels_last) key("prefers_channels_last", prefers_channels_last);
    if (surrogate_gradient) key("surrogate_gradient", surrogate_gradient);
    if (communicates) key("communicates", communicates);
    if (added_inputs.size > 0) key("added_inputs", added_inputs);
    if (added_outputs.size > 0) key("added_outputs", added_outputs);
    if (added_states.size > 0) key("added_states", added_states);
    if (removed.size > 0) key("removed", removed);
    if (was.size > 0) key("was", was);
  }
};

/// A fault, and the name of the parameter, input or output that has it, if any.
struct Found {
  constexpr Found(ClassFault fault, const char* of = "") : fault(fault), of(of) {}
  ClassFault fault;
  const char* of;
};

/// Resolves counts of outputs, which are given as members: the addresses of the members that
/// describe parameters and counts, in the object that provides the defaults. Kept outside of the
/// description and only while describe() runs, because GCC 12 rejects a constant that ever held the
/// address of a temporary object.
struct Addresses {
  const void* params[Description().params.capacity] = {};
  const void* counts[Description().outputs.capacity] = {};
};

/// The first input with the shared dtype, which outputs without a dtype get; 0 if every input has
/// its own types.
constexpr int first_shared(const Description& d) {
  for (int i = 0; i < d.inputs.size; ++i)
    if (!d.inputs[i].types.has_value) return i;
  return 0;
}

/// The index of a name in inputs, outputs, states or params; -1 if it is not there.
template <class Entries>
constexpr int index_of(const Entries& entries, std::string_view name) {
  for (int i = 0; i < entries.size; ++i)
    if (name == entries[i].name) return i;
  return -1;
}

}  // namespace tenon::TENON_SDK::detail
#pragma GCC visibility pop
