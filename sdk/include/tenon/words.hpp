// The words that an author may use in describe(auto& op), each once, for all that runs describe(): Collector records them at compile time
// (describe.hpp), Setter and AttributeVisitor pass over all but parameters at run time (attributes.hpp). describe.hpp has an example.
//
// A new word is a function here, and a member and its key in the manifest in description.hpp; the host reads it into OperatorInfo.
#pragma once
#include <initializer_list>
#include <type_traits>
#include <utility>

#include "description.hpp"
#include "list.hpp"
#include "literal_value.hpp"
#include "number_table.hpp"
#include "onnx_words.hpp"
#include "parameter_words.hpp"
#include "text.hpp"
#include "version.hpp"
#include "version_words.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK {

/// How two parameters must stand to each other, for op.require(). A list is compared with a number or another list value by value, and an
/// empty list keeps every rule.
enum class Relation {
  same_length,   ///< lists with as many values
  less_than,     ///< numbers or lists
  at_most,       ///< numbers or lists
  greater_than,  ///< numbers or lists
  at_least,      ///< numbers or lists
  multiple_of    ///< integers, or lists of them; of 0 only 0 is a multiple
};
inline constexpr Relation same_length = Relation::same_length, less_than = Relation::less_than, at_most = Relation::at_most,
                          greater_than = Relation::greater_than, at_least = Relation::at_least, multiple_of = Relation::multiple_of;

namespace detail {

/// As in manifests.
constexpr const char* name_of(Relation relation) {
  constexpr const char* names[] = {"same_length", "less_than", "at_most", "greater_than", "at_least", "multiple_of"};
  return names[static_cast<int>(relation)];
}

/// An input of op.example(): {"data", {2, 4, 6, 6}}; with a dtype, {"index", {3}, tenon::i64}; and with elements, {"index", {3},
/// tenon::i64, {0, 2, 1}}.
struct ExampleInput {
  const char* name;  ///< that op.input() has, or part2 of a variadic input "part"
  std::initializer_list<std::int64_t> shape;
  DType dtype = unknown_dtype;
  std::initializer_list<double> values = {};  ///< all elements, row by row, where they matter; none: any that fit the dtype
};
/// A parameter of op.example(): {"groups", 2}, {"mode", "max"}, {"kernel", {3, 3}}, {"names", {"a", "b"}}. A table is given as a list.
struct ExampleValue {
  const char* name;  ///< that op.param() has; another one does not compile
  LiteralValue value;
};

// What the words below record that are more than one field; only the compiler runs these. Pools that are full say so, and the description's
// checks turn that into one sentence (too_many).

/// One condition for one name or pair: of is the manifest's key of what it limits.
constexpr void push_condition(Description& d, const char* of, NamePair names, const char* param,
                              std::initializer_list<LiteralValue> values) {
  ConditionEntry& entry = d.conditions.push(ConditionEntry());
  entry.of = of, entry.first = names.first, entry.second = names.second, entry.param = param;
  for (const LiteralValue& value : values) entry.values.push(value.literal);
}
/// Of an output that is hidden.
constexpr void add_condition(Description& d, const char* output, const char* param, std::initializer_list<LiteralValue> values) {
  push_condition(d, "hidden", {output, ""}, param, values);
}
/// Of all that was pushed to a list since `first`. Pairs that hold under a condition leave their list; hosts that know no conditions then
/// do without them. What is read under a condition stays in its list: they then keep it longer.
constexpr void add_condition(Description& d, std::string_view of, int first, const char* param,
                             std::initializer_list<LiteralValue> values) {
  if (of == "backward_reads") {
    for (int i = first; i < d.backward_reads.value.size; ++i)
      push_condition(d, "backward_reads", {d.backward_reads.value[i], ""}, param, values);
    return;
  }
  const auto list = [&](const char* key, auto& pairs) {
    if (of != key) return;
    for (int i = first; i < pairs.size; ++i) push_condition(d, key, pairs[i], param, values);
    pairs.size = first;
  };
  list("inplace", d.inplace), list("backward_inplace", d.backward_inplace), list("linear", d.linear);
}

/// Tensors and parameters of an example go behind those of the examples before it; the entry knows where its own begin.
constexpr void add_example(Description& d, std::initializer_list<ExampleInput> inputs, std::initializer_list<ExampleValue> params) {
  d.examples.push({d.example_tensors.size, static_cast<int>(inputs.size()), d.example_params.size, static_cast<int>(params.size())});
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
  for (const ExampleValue& param : params) d.example_params.push({param.name, stored_literal(d, param.value)});
}

/// The words that say one thing of an operator. Each is written once, for everything that runs describe(): where `records`, it goes into a
/// Description; elsewhere it is passed over.
template <bool records>
class Words : public VersionWords<records> {
 protected:
  using VersionWords<records>::description_;

 public:
  /// What op.input() returns: op.input("bias", "[units]").optional().initial(0.1).
  class Argument {
   public:
    constexpr explicit Argument(InputEntry* entry) : entry_(entry) {}
    /// May be left unconnected; see call.has_input.
    constexpr Argument& optional() { return set(&InputEntry::optional, true); }
    /// Stands for any number of tensors, 0 too, named data0, data1 ... It must be the last input. call.inputs() counts them.
    constexpr Argument& variadic() { return set(&InputEntry::variadic, true); }
    /// A set of dtypes of its own: op.input("index", "...").types(tenon::integral). Inputs without it share one dtype of op.types().
    constexpr Argument& types(Types types) { return set(&InputEntry::types, Maybe<Types>{true, types}); }
    /// A graph that connects nothing here creates a variable for it, which training changes: a weight or a bias. Any other input that is
    /// left out must be optional, or is an error.
    constexpr Argument& weight() { return set(&InputEntry::weight, true); }
    /// A weight, and the first value of each of its elements. Default: 0 for vectors, random for matrices and tensors of more dimensions.
    /// It must be finite.
    constexpr Argument& initial(double value) { return weight().set(&InputEntry::initial, Maybe<double>{true, value}); }
    /// Its elements are in the CPU's memory for kernels on every device: sizes, axes and other numbers that the kernel's host code reads.
    constexpr Argument& on_cpu() { return set(&InputEntry::on_cpu, true); }
    /// No kernel reads its elements, only its shape and dtype; they may be nowhere. What follows from shapes is then computed with them,
    /// before a run.
    constexpr Argument& shape_only() { return set(&InputEntry::shape_only, true); }

   private:
    template <class T>
    constexpr Argument& set(T InputEntry::*member, const T& value) {
      if constexpr (records) entry_->*member = value;
      return *this;
    }
    InputEntry* entry_;
  };

  /// What op.state() returns.
  class State {
   public:
    constexpr explicit State(StateEntry* entry) : entry_(entry) {}
    /// First value of each element; default: 0.
    constexpr State& initial(double value) {
      if constexpr (records) entry_->initial = value;
      return *this;
    }

   private:
    StateEntry* entry_;
  };

  /// What op.inplace(), op.backward_reads() and op.linear() return.
  class Conditional {
   public:
    constexpr Conditional(Description* description, const char* of, int first) : description_(description), of_(of), first_(first) {}
    /// It holds only while the parameter has one of these values, at most 8, such as op.backward_reads("output").when("kind", "max").
    /// Without it, always. A pair that is said twice holds if one of the two does; backward_reads names everything once.
    template <class... Values>
    constexpr void when(const char* param, Values... values) && {
      if constexpr (records) add_condition(*description_, of_, first_, param, {LiteralValue(values)...});
    }

   private:
    Description* description_;
    const char* of_;
    int first_;  // of those that it was said of, in the description's list
  };

  constexpr explicit Words(Description* description) : VersionWords<records>(description) {}

  /// What the operator computes; required.
  constexpr void doc(const char* sentence) { set(&Description::doc, sentence); }
  /// What stands before the dot in the operator's full name, acme.rope: a name of the vendor's. Default: the SPACE of tenon_add_plugin(),
  /// or else the plugin's name. Operators of one name in several spaces live side by side. `tenon` is for the operators that come with
  /// Tenon, `app` for those of an application without a space.
  constexpr void space(const char* name) { set(&Description::space, name); }
  /// Raise it whenever files of the operator change their meaning; default: 1. The words of version_words.hpp then say how to read older
  /// ones. A file runs on the newest version that reads it.
  constexpr void version(int version) { set(&Description::version, version); }
  /// Graphs may call the operator by this name, too; at most 8.
  constexpr void alias(const char* name) { add(&Description::aliases, name); }
  /// The dtypes of the inputs without .types() of their own, which share one, and of outputs that infer() gives no dtype. Default:
  /// floating.
  constexpr void types(Types types) { set(&Description::types, types); }
  /// An input, in the order of its position; doc names its shape: op.input("weight", "[num_hidden, features]").
  constexpr Argument input(const char* name, const char* doc) {
    if constexpr (records) return Argument(&description_->inputs.push({name, doc, false, false, {}, {}}));
    return Argument(nullptr);
  }
  /// A tensor that calls may change and that is kept between them, such as a moving mean: call.state<float>("mean"). infer() must give its
  /// shape by io.set_state. Graph files and checkpoints contain it.
  constexpr State state(const char* name, const char* doc) {
    if constexpr (records) return State(&description_->states.push({name, doc, 0}));
    return State(nullptr);
  }

  /// The output may use the input's memory: forward then gets Write::in_place. Declare it only if no element of the input is
  /// read after its place in the output is written. Tenon uses it where dtypes and sizes in bytes are equal, which need not be the shapes,
  /// and nobody else reads the input later.
  /// op.inplace("x", "y") may be called for several pairs.
  constexpr Conditional inplace(const char* input, const char* output) {
    return add_conditional(&Description::inplace, "inplace", NamePair{input, output});
  }
  /// The gradient of input may use the memory of the gradient of output, in the same way.
  constexpr Conditional backward_inplace(const char* output, const char* input) {
    return add_conditional(&Description::backward_inplace, "backward_inplace", NamePair{output, input});
  }
  /// The inputs and outputs whose elements backward reads; the memory of the others is reused early. Default: all of them; () for none.
  /// Reading another one in backward is an error.
  ///
  ///     op.backward_reads("output").when("kind", "max");  // a maximum finds its place again
  ///     op.backward_reads("weight");
  template <class... Names>
  constexpr Conditional backward_reads(Names... names) {
    int first = 0;
    if constexpr (records) {
      first = description_->backward_reads.value.size;
      description_->backward_reads.given = true, (description_->backward_reads.value.push(names), ...);
    }
    return Conditional(description_, "backward_reads", first);
  }
  /// The same from an array, for families of operators: count pointers to literals.
  constexpr void backward_reads(const char* const* names, int count) {
    backward_reads();
    for (int i = 0; records && i < count; ++i) description_->backward_reads.value.push(names[i]);
  }
  /// The output is linear in this input, as that of a sum or a transposition is, or linear in each of two inputs while the other stays, as
  /// that of a product is; said of several inputs or pairs, it is a sum of such terms. Name every floating input, each once; the output
  /// must be the only one. Tenon then differentiates backward again, any number of times, by forward and backward alone. A weighted sum
  /// with an offset:
  ///
  ///     op.linear("data", "weight");
  ///     op.linear("bias");
  constexpr Conditional linear(const char* input, const char* other = "") {
    return add_conditional(&Description::linear, "linear", NamePair{input, other});
  }
  /// For elementwise classes with a gradient() of their own: it takes dual numbers, too, as operator() must for classes without one. Then
  /// the operator has a second derivative.
  constexpr void gradient_of_duals() { set(&Description::gradient_of_duals, true); }
  /// For elementwise classes: operator() takes a class of numbers that records what is computed, as it takes dual numbers, so that ONNX
  /// files get it as a function of ONNX's operators. Classes without a gradient() of their own need not say so. traced(false): it is never
  /// compiled for that class.
  constexpr void traced(bool yes = true) { set(&Description::traced, {true, yes}); }
  /// The gradient is not the derivative of forward, on purpose, as that of a rounding that passes gradients through (a straight-through
  /// estimator), or of an embedding whose padding row gets none. `tenon check` then compares it with no differences, and documents say so.
  constexpr void surrogate_gradient() { set(&Description::surrogate_gradient, true); }
  /// For the SDK: an elementwise class that has derivatives keeps here by which input it is differentiated.
  template <class Base>
  constexpr void derivative(std::int32_t Base::*) {
    set(&Description::derivative, true);
  }
  /// For elementwise classes: the output is 0 wherever this input is 0, for any finite values of the others, as a product is for each of
  /// its factors. Then the gradients by all other inputs are 0 there, too, and both are stored only where this input is.
  constexpr void zero_where(const char* input) { add(&Description::zero_where, input); }
  /// Kernels implement Write::add, in forward and backward; otherwise the host adds their results in a step of its own.
  constexpr void accumulates() { set(&Description::accumulates, true); }
  /// Kernels accept strided views; otherwise the host makes them contiguous. Then do not use data()[i], begin() or end() unless
  /// View::contiguous().
  constexpr void takes_strides() { set(&Description::strides, true); }
  /// These inputs and outputs, of rank 3 to 5, may be channels-last: [N, C, H, W] with the strides of N, H, W, C; all of them, or none. The
  /// kernel asks call.channels_last(i), or walks by stride(axis); everything else that it reads and writes stays plain. workspace(),
  /// prepare() and supports() see the layouts, too. Tenon chooses for a whole graph, where nodes prefer that layout, and only where nothing
  /// is differentiated. Elementwise classes take it by themselves. A variadic input, or an output with a count, stands for all its tensors.
  template <class... Names>
  constexpr void takes_channels_last(Names... names) {
    (add(&Description::channels_last, names), ...);
  }
  /// The same, and the kernel is faster so, as a convolution is: Tenon reorders tensors to make it so.
  template <class... Names>
  constexpr void prefers_channels_last(Names... names) {
    takes_channels_last(names...);
    set(&Description::prefers_channels_last, true);
  }
  /// Kernels call call.random(): each run gives other results.
  constexpr void uses_random() { set(&Description::random, true); }
  /// Kernels send to other processes or wait for them, which run the same graph. Nodes of such operators run in the order of the graph, one
  /// at a time and each of them once: never while a plan is made, never again to save memory. Where a run has all of the graph's outputs,
  /// they run whether or not an output needs them. Needs Tenon 0.2.
  constexpr void communicates() { set(&Description::communicates, true); }
  /// A rule between two parameters, which documents and checks know, unlike one in configure(): op.require("stride", tenon::same_length,
  /// "kernel"). Relations are listed at tenon::Relation. Users read
  ///
  ///     parameter 'stride' is [2] but must have as many values as 'kernel', which is [3, 3]
  constexpr void require(const char* param, Relation relation, const char* other) {
    add(&Description::rules, RuleEntry{param, name_of(relation), other});
  }
  /// A rule of rewriting: where a graph has the pattern, a session that does not train may run the replacement, whose results differ by
  /// rounding at most. Rules belong to plugins: one acts only where the graph itself has an operator of this plugin, and what the rule
  /// finds includes one. Not with the program's option for exact results; see exact_rule(). At most 24 rules.
  ///
  ///     op.rule("relu", "relu(scaled(x, y; ...))", "scaled_relu(x, y; ...)");
  ///
  /// Inputs come first, by position or name; states by name. Parameters follow behind a semicolon. `...` in a pattern stands for all
  /// parameters that are not mentioned, with any values; without it, these have their defaults. In a replacement, `...` passes them on, to
  /// those that it does not mention. Where several calls have some, `...a` names them. `$e` is the value of a parameter: epsilon=$e. `w!`
  /// is a value that stays as it is as long as the session lives, such as a weight; what is computed from such values alone is computed
  /// once. `b?` is an optional input that need not be connected; one that is not mentioned is not. Results of the pattern's inner calls
  /// have no other reader. Operators are looked up as in op's own space first, then in Tenon's; `space.name` is one of another.
  constexpr void rule(const char* name, const char* pattern, const char* replacement) {
    add(&Description::rewrites, RewriteEntry{name, pattern, replacement, false});
  }
  /// The same, of a replacement whose results have the same bits, as those of an identity:
  ///
  ///     op.exact_rule("inference", "dropout(x; ...)", "x");
  constexpr void exact_rule(const char* name, const char* pattern, const char* replacement) {
    add(&Description::rewrites, RewriteEntry{name, pattern, replacement, true});
  }
  /// What computes the same in ONNX: files of that format are read and written by it, while versions, attributes and inputs fit. `domain`
  /// is
  /// "" for ONNX's own operators. Defaults: inputs, outputs and version as OnnxWords says. At most 16 forms, of versions that do not
  /// overlap.
  ///
  ///     op.onnx("", "LeakyRelu").since(6).attribute("alpha", "slope");
  constexpr OnnxWords<records> onnx(const char* domain, const char* type) {
    if constexpr (records) description_->onnx.push({domain, type, 1, {}, {}});
    return OnnxWords<records>(description_);
  }
  /// Shapes and parameters that the operator accepts: documents show them, and `tenon check` begins with them. Name every required input
  /// whose shape does not follow from the others, and every parameter that matters; at most 8 examples.
  ///
  ///     op.example({{"data", {2, 4, 6, 6}}}, {{"groups", 2}});
  ///     op.example({{"boxes", {5, 4}}, {"order", {5}, tenon::i64, {4, 3, 2, 1, 0}}});
  constexpr void example(std::initializer_list<ExampleInput> inputs, std::initializer_list<ExampleValue> params = {}) {
    if constexpr (records) add_example(*description_, inputs, params);
  }
  /// For the SDK: tenon::Elementwise calls it.
  constexpr void elementwise() { set(&Description::elementwise, true); }
  /// TENON_KERNEL gives the CPU kernel, too: for operators whose CPU kernel keeps data between calls, and for those that have a CUDA kernel
  /// only.
  constexpr void kernels_elsewhere() { set(&Description::kernels_elsewhere, true); }
  /// Members that configure() computes from the parameters, op.derived(&Filter::taps, &Filter::sum): a graph's file need not have them.
  /// Without it, Tenon compares them with those of a new object with the same parameters.
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
  constexpr Conditional add_conditional(Fixed<NamePair, N> Description::*list, const char* of, const NamePair& pair) {
    int first = 0;
    if constexpr (records) first = (description_->*list).size, (description_->*list).push(pair);
    return Conditional(description_, of, first);
  }
};

/// What op.output() returns. Class is the operator's; void where nothing is recorded.
template <class Class>
class Result {
 public:
  constexpr Result() = default;
  constexpr Result(Description& description, const Class* object, const void*& count)
      : description_(&description), entry_(&description.outputs[description.outputs.size - 1]), object_(object), count_(&count) {}
  /// Only backward reads it; users do not see it.
  constexpr Result& hidden() {
    if (entry_) entry_->hidden = true;
    return *this;
  }
  /// Hidden only while the parameter has one of these values: op.output("mask", "...").hidden_when("keep_mask", false). Then call.write(i)
  /// of it is Write::none where nothing needs it; call.output(i) throws.
  template <class... Values>
  constexpr Result& hidden_when(const char* param, Values... values) {
    if (entry_) add_condition(*description_, entry_->name, param, {LiteralValue(values)...});
    return *this;
  }
  /// Its shape follows from elements, so that only the kernel knows it, which calls call.allocate once for it in each call. infer() gives
  /// the rank, the dtype and the dimensions that it knows: io.set_output("indices", {tenon::unknown, 2}, tenon::i64). Nodes behind it are
  /// planned when it has run. No output of the operator may have a count; hosts before 0.2 reject the operator.
  constexpr Result& allocated() {
    if (entry_) entry_->allocated = true;
    return *this;
  }
  /// As many outputs as this integer parameter says, named name0, name1 ...: op.output("part", "...").count(&Split::parts). One output of
  /// an operator may have a count; call.outputs() is the total.
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
