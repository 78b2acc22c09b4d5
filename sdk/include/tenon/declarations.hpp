// The calls that an author may make in describe(auto& op), defined once for every `op`: Collector
// records them at compile time (describe.hpp); Setter and AttributeVisitor ignore everything but
// parameters at run time (attributes.hpp). describe.hpp has an example.
//
// A new call needs a function here, and a member and its manifest key in description.hpp; the host
// reads it into OperatorInfo.
#pragma once
#include <initializer_list>
#include <type_traits>
#include <utility>

#include "detail/description.hpp"
#include "detail/literal_value.hpp"
#include "detail/parameter_declarations.hpp"
#include "list.hpp"
#include "number_table.hpp"
#include "onnx_declarations.hpp"
#include "text.hpp"
#include "version.hpp"
#include "version_declarations.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK {

/// Relation between two parameters, for op.require(). A list is compared with a number or another
/// list value by value, and an empty list satisfies every rule.
enum class Relation {
  same_length,   ///< lists with the same number of values
  less_than,     ///< numbers or lists
  at_most,       ///< numbers or lists
  greater_than,  ///< numbers or lists
  at_least,      ///< numbers or lists
  multiple_of    ///< integers, or lists of them; the only multiple of 0 is 0
};
inline constexpr Relation same_length = Relation::same_length, less_than = Relation::less_than,
                          at_most = Relation::at_most, greater_than = Relation::greater_than,
                          at_least = Relation::at_least, multiple_of = Relation::multiple_of;

namespace detail {

/// The name in manifests.
constexpr const char* name_of(Relation relation) {
  constexpr const char* names[] = {"same_length",  "less_than", "at_most",
                                   "greater_than", "at_least",  "multiple_of"};
  return names[static_cast<int>(relation)];
}

/// An input of op.example(): {"data", {2, 4, 6, 6}}; with a dtype, {"index", {3}, tenon::i64}; and
/// with elements, {"index", {3}, tenon::i64, {0, 2, 1}}.
struct ExampleInput {
  const char* name;  ///< that of op.input(), or part2 of a variadic input "part"
  std::initializer_list<std::int64_t> shape;
  DType dtype = unknown_dtype;
  std::initializer_list<double> values =
      {};  ///< all elements, row by row, if they matter; empty: any that fit the dtype
};
/// A parameter of op.example(): {"groups", 2}, {"mode", "max"}, {"kernel", {3, 3}}, {"names", {"a",
/// "b"}}. A table is written as a list.
struct ExampleValue {
  const char* name;  ///< that of op.param(); other names do not compile
  LiteralValue value;
};

// Recording of the calls below that need more than one field; these run only in the compiler. Full
// pools set a flag, which the description's checks turn into one sentence (too_many).

/// Adds one condition for one name or pair; `declaration` is the manifest's key of the declaration
/// that it limits.
constexpr void push_condition(Description& d, const char* declaration, NamePair names,
                              const char* param, std::initializer_list<LiteralValue> values) {
  ConditionEntry& entry = d.conditions.push(ConditionEntry());
  entry.of = declaration, entry.first = names.first, entry.second = names.second,
  entry.param = param;
  for (const LiteralValue& value : values) entry.values.push(value.literal);
}
/// Adds a condition for a hidden output.
constexpr void add_condition(Description& d, const char* output, const char* param,
                             std::initializer_list<LiteralValue> values) {
  push_condition(d, "hidden", {output, ""}, param, values);
}
/// Adds a condition for everything that was pushed to a list since `first`. Conditional pairs leave
/// their list, so that hosts without support for conditions do not use them. Tensors that are
/// conditionally read stay in their list: such hosts then keep them longer.
constexpr void add_condition(Description& d, std::string_view declaration, int first,
                             const char* param, std::initializer_list<LiteralValue> values) {
  if (declaration == "backward_reads") {
    for (int i = first; i < d.backward_reads.value.size; ++i)
      push_condition(d, "backward_reads", {d.backward_reads.value[i], ""}, param, values);
    return;
  }
  const auto list = [&](const char* key, auto& pairs) {
    if (declaration != key) return;
    for (int i = first; i < pairs.size; ++i) push_condition(d, key, pairs[i], param, values);
    pairs.size = first;
  };
  list("inplace", d.inplace), list("backward_inplace", d.backward_inplace),
      list("linear", d.linear);
}

/// Appends tensors and parameters of an example to those of earlier examples; the entry has the
/// index of its first ones.
constexpr void add_example(Description& d, std::initializer_list<ExampleInput> inputs,
                           std::initializer_list<ExampleValue> params) {
  d.examples.push({d.example_tensors.size, static_cast<int>(inputs.size()), d.example_params.size,
                   static_cast<int>(params.size())});
  for (const ExampleInput& input : inputs) {
    d.example_tensors.push({input.name,
                            {input.dtype != unknown_dtype, input.dtype},
                            d.literals.size,
                            static_cast<int>(input.shape.size()),
                            d.example_values.size,
                            static_cast<int>(input.values.size())});
    for (const std::int64_t dim : input.shape) d.literals.push(dim);
    for (const double value : input.values) d.example_values.push(value);
  }
  for (const ExampleValue& param : params)
    d.example_params.push({param.name, stored_literal(d, param.value)});
}

/// The calls that declare one property of an operator. Each is defined once, for every `op`: it is
/// recorded in a Description if `records`, and ignored otherwise.
///
/// The comments are also the site's describe reference (host/docs/describe_reference.py), which
/// looks for sentences that begin with Default, Example and Error. An error is a sentence of the
/// compiler, with the name that it is about, unless the comment says when else it occurs.
template <bool records>
class Declarations : public VersionDeclarations<records> {
 protected:
  using VersionDeclarations<records>::description_;

 public:
  /// The result of op.input(): op.input("bias", "[units]").optional().initial(0.1).
  class Argument {
   public:
    constexpr explicit Argument(InputEntry* entry) : entry_(entry) {}
    /// May be left unconnected; kernels check call.has_input. Default: a graph must connect the
    /// input. Example: `op.input("mask", "[rows]").optional();`
    constexpr Argument& optional() { return set(&InputEntry::optional, true); }
    /// Stands for any number of tensors, possibly none, named data0, data1 ...; call.inputs()
    /// includes them. Default: one tensor. Example:
    /// `op.input("data", "tensors of one shape").variadic();` Error: it is not the last input.
    constexpr Argument& variadic() { return set(&InputEntry::variadic, true); }
    /// Its own set of dtypes. Default: inputs without it share one dtype of op.types(). Example:
    /// `op.input("index", "[rows]").types(tenon::integral);` Error, when a node is added: the
    /// tensor has another dtype.
    constexpr Argument& types(Types types) {
      return set(&InputEntry::types, Maybe<Types>{true, types});
    }
    /// A weight or bias: if a graph does not connect it, it creates a variable for it, which
    /// training updates; infer() sets its shape with io.set_input. Default: any other unconnected
    /// input must be optional, or is an error. Example:
    /// `op.input("weight", "[units, features]").weight();`
    constexpr Argument& weight() { return set(&InputEntry::weight, true); }
    /// A weight, with the initial value of all its elements. Default: 0 for vectors, random for
    /// matrices and tensors with more dimensions. Example:
    /// `op.input("gain", "[units]").initial(1);` Error: the value is infinite or NaN.
    constexpr Argument& initial(double value) {
      return weight().set(&InputEntry::initial, Maybe<double>{true, value});
    }
    /// Its elements are in CPU memory for kernels on every device: sizes, axes and other numbers
    /// that the kernel's host code reads. Default: they are in the memory of the kernel's device.
    /// Example: `op.input("sizes", "[rank]").types({tenon::i64}).on_cpu();`
    constexpr Argument& on_cpu() { return set(&InputEntry::on_cpu, true); }
    /// Kernels read only its shape and dtype, not its elements, which need not be in memory. What
    /// depends only on shapes is then computed with them, before a run. Default: kernels read its
    /// elements. Example: `op.input("x", "any shape").shape_only();`
    constexpr Argument& shape_only() { return set(&InputEntry::shape_only, true); }

   private:
    template <class T>
    constexpr Argument& set(T InputEntry::*member, const T& value) {
      if constexpr (records) entry_->*member = value;
      return *this;
    }
    InputEntry* entry_;
  };

  /// The result of op.state().
  class State {
   public:
    constexpr explicit State(StateEntry* entry) : entry_(entry) {}
    /// Initial value of all elements. Default: 0. Example:
    /// `op.state("variance", "[channels]").initial(1);` Error: the value is infinite or NaN.
    constexpr State& initial(double value) {
      if constexpr (records) entry_->initial = value;
      return *this;
    }

   private:
    StateEntry* entry_;
  };

  /// The result of op.inplace(), op.backward_reads() and op.linear().
  class Conditional {
   public:
    constexpr Conditional(Description* description, const char* declaration, int first)
        : description_(description), declaration_(declaration), first_(first) {}
    /// Limits the declaration to calls in which the parameter has one of these values, at most 8:
    /// numbers, texts, or names of an enum's values. A pair that is declared twice holds under
    /// either condition; backward_reads names everything once. Default: all calls. Example:
    /// `op.backward_reads("output").when("kind", "max");` Error: the parameter does not exist; the
    /// operator has more than 8 conditions.
    template <class... Values>
    constexpr void when(const char* param, Values... values) && {
      if constexpr (records)
        add_condition(*description_, declaration_, first_, param, {LiteralValue(values)...});
    }

   private:
    Description* description_;
    const char* declaration_;
    int first_;  // first of the declared names in the description's list
  };

  constexpr explicit Declarations(Description* description)
      : VersionDeclarations<records>(description) {}

  /// The operator's computation in a sentence, which lists and documentation show; required.
  /// Example: `op.doc("scale * cos(x), elementwise");` Error: the sentence is missing.
  constexpr void doc(const char* sentence) { set(&Description::doc, sentence); }
  /// The prefix of the operator's full name, as in acme.rope: a name that the vendor chooses.
  /// Operators with the same name in different spaces can coexist. `tenon` is for the operators
  /// that come with Tenon, `app` for those of an application without a space. Default: the SPACE of
  /// tenon_add_plugin(), or else the plugin's name. Example: `op.space("acme");` Error: it is not
  /// an identifier: letters, digits and underscores, no digit first.
  constexpr void space(const char* name) { set(&Description::space, name); }
  /// Increase it whenever the meaning of the operator's files changes. The calls of
  /// version_declarations.hpp then define how to read older ones. A file runs on the newest version
  /// that reads it. Default: 1. Example: `op.version(2);` Error: a change, such as op.renamed(),
  /// has a later version.
  constexpr void version(int version) { set(&Description::version, version); }
  /// An additional name of the operator in graphs. Default: none. Example: `op.alias("linear");`
  /// Error: more than 8; the operator already has the name.
  constexpr void alias(const char* name) { add(&Description::aliases, name); }
  /// The dtypes of the inputs without .types() of their own, which share one, and of outputs that
  /// get no dtype from infer(): a set such as tenon::numeric, or a list. Default: tenon::floating.
  /// Example: `op.types({tenon::f32, tenon::f64});` Error, when a node is added: an input has
  /// another dtype.
  constexpr void types(Types types) { set(&Description::types, types); }
  /// An input, in the order of the calls; doc states its shape. Default: it must be connected and
  /// has the dtype that the inputs share. Example: `op.input("weight", "[num_hidden, features]");`
  /// Error: the name is that of another input or output; more than 24 inputs.
  constexpr Argument input(const char* name, const char* doc) {
    if constexpr (records)
      return Argument(&description_->inputs.push({name, doc, false, false, {}, {}}));
    return Argument(nullptr);
  }
  /// A tensor that calls may update and that is preserved between them, such as a running mean:
  /// `call.state<float>("mean")`. infer() must set its shape with io.set_state. Graph files and
  /// checkpoints contain it. Default: none. Example: `op.state("mean", "[channels] running mean");`
  /// Error: two states have the same name; more than 12; the operator is composed of others.
  constexpr State state(const char* name, const char* doc) {
    if constexpr (records) return State(&description_->states.push({name, doc, 0}));
    return State(nullptr);
  }

  /// The output may use the input's memory: forward then gets Write::in_place. Declare it only if
  /// no element of the input is read after the output's element at its position is written. Tenon
  /// uses it if the dtypes and the sizes in bytes are equal (the shapes need not be), and if
  /// nothing else reads the input later. May be called for several pairs. Default: the output has
  /// memory of its own. Example: `op.inplace("x", "y");` Error: there is no such input or output;
  /// more than 24 pairs.
  constexpr Conditional inplace(const char* input, const char* output) {
    return add_conditional(&Description::inplace, "inplace", NamePair{input, output});
  }
  /// The gradient of input may use the memory of the gradient of output, under the conditions of
  /// inplace(). Default: it has memory of its own. Example: `op.backward_inplace("y", "x");` Error:
  /// there is no such output or input; more than 24 pairs.
  constexpr Conditional backward_inplace(const char* output, const char* input) {
    return add_conditional(&Description::backward_inplace, "backward_inplace",
                           NamePair{output, input});
  }
  /// The inputs and outputs whose elements backward reads; the memory of the others is reused
  /// early. Default: all of them; `op.backward_reads()` for none. Error: there is no such input or
  /// output; more than 40 names; a name twice, if there are conditions. In backward, reading any
  /// other one fails: ``input 'data' is not saved for backward: name it in op.backward_reads``.
  ///
  ///     // a maximum recovers its position from the output
  ///     op.backward_reads("output").when("kind", "max");
  ///     op.backward_reads("weight");
  template <class... Names>
  constexpr Conditional backward_reads(Names... names) {
    int first = 0;
    if constexpr (records) {
      first = description_->backward_reads.value.size;
      description_->backward_reads.has_value = true,
      (description_->backward_reads.value.push(names), ...);
    }
    return Conditional(description_, "backward_reads", first);
  }
  /// Takes the names from an array, for families of operators: `count` pointers to literals.
  /// Example: `op.backward_reads(names, 2);`
  constexpr void backward_reads(const char* const* names, int count) {
    backward_reads();
    for (int i = 0; records && i < count; ++i) description_->backward_reads.value.push(names[i]);
  }
  /// The output is linear in this input, as for a sum or a transposition, or linear in each of two
  /// inputs while the other is fixed, as for a product; several calls declare a sum of such terms.
  /// Name every floating input exactly once. Tenon then differentiates backward again, any number
  /// of times, using only forward and backward. Default: backward has no derivative; gradient() may
  /// have one. Error: an input is variadic, does not exist, or is in two terms; the operator has
  /// several outputs; more than 16 terms.
  ///
  ///     // a weighted sum with an offset
  ///     op.linear("data", "weight");
  ///     op.linear("bias");
  constexpr Conditional linear(const char* input, const char* other = "") {
    return add_conditional(&Description::linear, "linear", NamePair{input, other});
  }
  /// For elementwise classes with their own gradient(): it also takes dual numbers, as operator()
  /// must for classes without one. The operator then has a second derivative. Default: a gradient()
  /// has none. Example: `op.gradient_of_duals();`
  constexpr void gradient_of_duals() { set(&Description::gradient_of_duals, true); }
  /// For elementwise classes: operator() also takes a recording number class, so that it is
  /// exported to ONNX files as a function of ONNX's operators. traced(false): operator() is never
  /// compiled for that class. Default: true, or false for classes with their own gradient().
  /// Example: `op.traced();`
  constexpr void traced(bool yes = true) { set(&Description::traced, {true, yes}); }
  /// The gradient is deliberately not the derivative of forward, for example that of a rounding
  /// that passes gradients through (a straight-through estimator), or of an embedding whose padding
  /// row gets none. `tenon check` then does not compare it with differences, and documentation
  /// states it. Default: `tenon check` compares them. Example: `op.surrogate_gradient();`
  constexpr void surrogate_gradient() { set(&Description::surrogate_gradient, true); }
  /// For the SDK: the member in which a differentiable elementwise class stores the input to
  /// differentiate by.
  template <class Base>
  constexpr void derivative(std::int32_t Base::*) {
    set(&Description::derivative, true);
  }
  /// For elementwise classes: the output is 0 wherever this input is 0, for any finite values of
  /// the others, as a product is for each of its factors. Then the gradients with respect to all
  /// other inputs are 0 there, too, and both are stored only where this input is. Default: the
  /// result of a sparse and a dense input is dense; functions of one input, or of two sparse ones,
  /// need no declaration. Example: `op.zero_where("left");` Error: it is not an input; the class is
  /// not elementwise; more than 24.
  constexpr void zero_where(const char* input) { add(&Description::zero_where, input); }
  /// Kernels implement Write::add, in forward and backward. Default: the host adds their results in
  /// a separate step. Example: `op.accumulates();`
  constexpr void accumulates() { set(&Description::accumulates, true); }
  /// Kernels accept strided views. They must then not use data()[i], begin() or end() unless
  /// View::contiguous(). Default: the host makes views contiguous. Example: `op.takes_strides();`
  constexpr void takes_strides() { set(&Description::strides, true); }
  /// These inputs and outputs, of rank 3 to 5, may be channels-last: [N, C, H, W] with the strides
  /// of N, H, W, C; either all of them or none. The kernel checks call.channels_last(i), or uses
  /// stride(axis); all other tensors stay plain. workspace(), prepare() and supports() also see the
  /// layouts. Tenon chooses the layout for a whole graph, if nodes prefer it, and only for graphs
  /// that are not differentiated. A variadic input, or an output with a count, stands for all its
  /// tensors. Default: none; elementwise classes accept it automatically. Example:
  /// `op.takes_channels_last("data", "output");` Error: a name twice, unknown, or of an output that
  /// is allocated(); more than 40.
  template <class... Names>
  constexpr void takes_channels_last(Names... names) {
    (add(&Description::channels_last, names), ...);
  }
  /// Declares takes_channels_last(), and that the kernel is faster with this layout, as a
  /// convolution is: Tenon reorders tensors to use it. Default: tensors keep their layout. Example:
  /// `op.prefers_channels_last("data", "output");` Error: as for takes_channels_last().
  template <class... Names>
  constexpr void prefers_channels_last(Names... names) {
    takes_channels_last(names...);
    set(&Description::prefers_channels_last, true);
  }
  /// Kernels call call.random(): each run gives other results. Default: the same inputs give the
  /// same results, so Tenon may compute a node once and reuse it. Example: `op.uses_random();`
  constexpr void uses_random() { set(&Description::random, true); }
  /// Kernels communicate with other processes that run the same graph. Nodes of such operators run
  /// in the order of the graph, one at a time and exactly once: never while a plan is made, and
  /// never again to save memory. If a run requests all of the graph's outputs, they run whether or
  /// not an output needs them. Needs Tenon 0.2. Default: nodes may run in any order, and again.
  /// Example: `op.communicates();`
  constexpr void communicates() { set(&Description::communicates, true); }
  /// Declares a rule between two parameters, which, unlike checks in configure(), documentation and
  /// `tenon check` use. Relations: tenon::same_length for lists; less_than, at_most, greater_than
  /// and at_least for numbers and lists; multiple_of for integers and lists of them. An empty list
  /// satisfies every rule. Default: none. Example:
  /// `op.require("stride", tenon::same_length, "kernel");` Error: there is no such parameter; the
  /// relation does not fit its type; more than 16 rules. When a node is added:
  /// ``parameter 'stride' is [2] but must have as many values as 'kernel', which is [3, 3]``.
  constexpr void require(const char* param, Relation relation, const char* other) {
    add(&Description::rules, RuleEntry{param, name_of(relation), other});
  }
  /// Declares a rewrite rule: where a graph matches the pattern, a session without training may run
  /// the replacement, whose results differ at most by rounding. A rule applies only where the graph
  /// itself has an operator of this plugin and the match includes one, and not with the program's
  /// option for exact results; see exact_rule(). Default: none. Error: more than 24 rules; when the
  /// plugin is read, two with one name or a pattern that is not valid.
  ///
  ///     op.rule("relu", "relu(scaled(x, y; ...))", "scaled_relu(x, y; ...)");
  ///
  /// Inputs come first, by index or name; states by name. Parameters follow after a semicolon.
  /// `...` in a pattern matches all parameters that are not mentioned, with any values; without it,
  /// these must have their defaults. In a replacement, `...` passes them on, except those that it
  /// sets. If several calls have some, `...a` names them. `$e` is the value of a parameter:
  /// epsilon=$e. `w!` matches only a constant of the session, such as a weight; values computed
  /// only from constants are computed once. `b?` is an optional input that need not be connected;
  /// optional inputs that are not mentioned must not be. `x:4` matches only values with 4
  /// dimensions. A number in a pattern, as in `add(x, 3)`, matches only a constant with this one
  /// element. Results of the pattern's inner calls must have no other reader, unless the
  /// replacement is just a value or the call is written as `&cheap(x)`: the call then stays for its
  /// other readers. Ranks, numbers and `&` need Tenon 0.2. Operators are looked up in the space of
  /// op's operator first, then in Tenon's; `space.name` refers to another space.
  constexpr void rule(const char* name, const char* pattern, const char* replacement) {
    add(&Description::rewrites, RewriteEntry{name, pattern, replacement, false});
  }
  /// Like rule(), for a replacement with bit-identical results, such as an identity; it also
  /// applies with the option for exact results. Default: none. Example:
  /// `op.exact_rule("inference", "dropout(x; ...)", "x");` Error: as for rule().
  constexpr void exact_rule(const char* name, const char* pattern, const char* replacement) {
    add(&Description::rewrites, RewriteEntry{name, pattern, replacement, true});
  }
  /// Equivalent ONNX operators: ONNX files are imported and exported with it if versions,
  /// attributes and inputs fit. `domain` is "" for ONNX's own operators. Default: none; elementwise
  /// classes are exported as functions, see traced(). Error: the type is empty; two forms of one
  /// type share a version; more than 16 forms, or 64 calls on them.
  ///
  ///     op.onnx("", "LeakyRelu").since(6).attribute("alpha", "slope");
  constexpr OnnxDeclarations<records> onnx(const char* domain, const char* type) {
    if constexpr (records) description_->onnx.push({domain, type, 1, {}, {}});
    return OnnxDeclarations<records>(description_);
  }
  /// Shapes and parameters that the operator accepts: documentation shows them, and `tenon check`
  /// begins with them. List every required input whose shape does not follow from the others, and
  /// every parameter that matters. Default: none; `tenon check` then finds shapes by trial. Error:
  /// there is no such input or parameter; more than 8 examples.
  ///
  ///     op.example({{"data", {2, 4, 6, 6}}}, {{"groups", 2}});
  ///     op.example({{"boxes", {5, 4}}, {"order", {5}, tenon::i64, {4, 3, 2, 1, 0}}});
  constexpr void example(std::initializer_list<ExampleInput> inputs,
                         std::initializer_list<ExampleValue> params = {}) {
    if constexpr (records) add_example(*description_, inputs, params);
  }
  /// For the SDK: called by tenon::Elementwise.
  constexpr void elementwise() { set(&Description::elementwise, true); }
  /// The CPU kernel is also registered with TENON_KERNEL: for operators whose CPU kernel keeps data
  /// between calls, and for those that have only a CUDA kernel. Default: the class itself is the
  /// CPU kernel. Example: `op.kernels_elsewhere();` Error: without it, a class without forward.
  constexpr void kernels_elsewhere() { set(&Description::kernels_elsewhere, true); }
  /// Members that configure() computes from the parameters: a graph's file need not contain them.
  /// Default: Tenon compares their bytes with those of a new object with the same parameters.
  /// Example: `op.derived(&Filter::taps, &Filter::sum);`
  template <class... Members>
  constexpr void derived(Members...) {}

 protected:
  template <class T>
  constexpr void set(T Description::*member, std::type_identity_t<T> value) {
    if constexpr (records) description_->*member = value;
  }
  template <class T, int N>
  constexpr void add(Fixed<T, N> Description::*list, const std::type_identity_t<T>& item) {
    if constexpr (records) (description_->*list).push(item);
  }
  template <int N>
  constexpr Conditional add_conditional(Fixed<NamePair, N> Description::*list,
                                        const char* declaration, const NamePair& pair) {
    int first = 0;
    if constexpr (records) first = (description_->*list).size, (description_->*list).push(pair);
    return Conditional(description_, declaration, first);
  }
};

/// The result of op.output(). Class is the operator's; void if nothing is recorded.
template <class Class>
class Result {
 public:
  constexpr Result() = default;
  constexpr Result(Description& description, const Class* object, const void*& count)
      : description_(&description),
        entry_(&description.outputs[description.outputs.size - 1]),
        object_(object),
        count_(&count) {}
  /// Only backward reads it; users do not see it. Default: users see every output. Example:
  /// `op.output("mask", "[rows]").hidden();`
  constexpr Result& hidden() {
    if (entry_) entry_->hidden = true;
    return *this;
  }
  /// Hidden only while the parameter has one of these values, at most 8. call.write(i) is then
  /// Write::none if nothing needs it; call.output(i) throws. Default: never. Example:
  /// `op.output("mask", "[rows]").hidden_when("keep_mask", false);` Error: the parameter does not
  /// exist; the operator has more than 8 conditions.
  template <class... Values>
  constexpr Result& hidden_when(const char* param, Values... values) {
    if (entry_) add_condition(*description_, entry_->name, param, {LiteralValue(values)...});
    return *this;
  }
  /// Its shape depends on elements, so only the kernel knows it; the kernel calls call.allocate
  /// exactly once for it in each call. infer() sets the rank, the dtype and the known dimensions:
  /// io.set_output("indices", {tenon::unknown, 2}, tenon::i64). Subsequent nodes are planned when
  /// it has run. Hosts before 0.2 reject the operator. Default: infer() sets the full shape.
  /// Example: `op.output("indices", "int64 [count, 2]").allocated();` Error: an output of the
  /// operator has a count.
  constexpr Result& allocated() {
    if (entry_) entry_->allocated = true;
    return *this;
  }
  /// The number of outputs is the value of this integer parameter; they are named name0, name1 ...;
  /// call.outputs() is the total. Default: one output. Example:
  /// `op.output("part", "equal parts of x").count(&Split::parts);` Error: the member is not an
  /// integer parameter; two outputs have a count; an output is allocated().
  template <class Base, class Int>
  constexpr Result& count(Int Base::*parameter) {
    static_assert(std::is_integral_v<Int>, "the count of an output is an integer parameter");
    if (entry_) entry_->counted = true;
    if constexpr (!std::is_void_v<Class>)
      if (object_) *count_ = &(object_->*parameter);
    return *this;
  }

 private:
  Description* description_ = nullptr;
  OutputEntry* entry_ = nullptr;
  const Class* object_ = nullptr;
  const void** count_ = nullptr;
};

}  // namespace detail
}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop
