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
#include "text.hpp"
#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::detail {

/// What a parameter's bounds are compared with: the parameter, or each element of a list.
template <class M>
struct bound_of {
  using type = M;
};
template <class T>
struct bound_of<List<T>> {
  using type = T;
};
template <class M>
using BoundType = typename bound_of<M>::type;

/// The words that say one thing of an operator. Each is written once, for everything that runs describe(): where `records`, it goes into a
/// Description; elsewhere it is passed over.
template <bool records>
class Words {
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

  constexpr explicit Words(Description* description) : description_(description) {}

  /// What the operator computes; required.
  constexpr void doc(const char* sentence) { set(&Description::doc, sentence); }
  /// Raise it whenever files of the operator change their meaning; default: 1. Then op.renamed() and op.added() say how to read older
  /// ones. Of two plugins with the operator, the higher version is used.
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
  constexpr void inplace(const char* input, const char* output) { add(&Description::inplace, NamePair{input, output}); }
  /// The gradient of input may use the memory of the gradient of output, in the same way.
  constexpr void backward_inplace(const char* output, const char* input) { add(&Description::backward_inplace, NamePair{output, input}); }
  /// The inputs and outputs whose elements backward reads; the memory of the others is reused early. Default: all of them; () for none.
  /// Reading another one in backward is an error.
  template <class... Names>
  constexpr void backward_reads(Names... names) {
    if constexpr (records) description_->backward_reads.given = true, (description_->backward_reads.value.push(names), ...);
  }
  /// The same from an array, for families of operators: count pointers to literals.
  constexpr void backward_reads(const char* const* names, int count) {
    backward_reads();
    for (int i = 0; records && i < count; ++i) description_->backward_reads.value.push(names[i]);
  }
  /// For elementwise classes: the output is 0 wherever this input is 0, for any finite values of the others, as a product is for each of
  /// its factors. Then the gradients by all other inputs are 0 there, too, and both are stored only where this input is.
  constexpr void zero_where(const char* input) { add(&Description::zero_where, input); }
  /// Kernels implement Write::add, in forward and backward; otherwise the host adds their results in a step of its own.
  constexpr void accumulates() { set(&Description::accumulates, true); }
  /// Kernels accept strided views; otherwise the host makes them contiguous. Then do not use data()[i], begin() or end() unless
  /// View::contiguous().
  constexpr void takes_strides() { set(&Description::strides, true); }
  /// Kernels call call.random(): each run gives other results.
  constexpr void uses_random() { set(&Description::random, true); }
  /// For the SDK: tenon::Elementwise calls it.
  constexpr void elementwise() { set(&Description::elementwise, true); }
  /// TENON_KERNEL gives the CPU kernel, too: for operators whose CPU kernel keeps data between calls, and for those that have a CUDA kernel
  /// only.
  constexpr void kernels_elsewhere() { set(&Description::kernels_elsewhere, true); }
  /// Since this version the parameter `from` is called `to`: op.renamed(2, "num_hiden", "num_hidden"). Older files still load.
  constexpr void renamed(int version, const char* from, const char* to) { add(&Description::renamed, Renaming{version, from, to}); }
  /// This parameter exists since this version; older files get its default.
  ///
  ///     op.version(3);
  ///     op.renamed(2, "num_hiden", "num_hidden");  // files of version 1 say num_hiden
  ///     op.added(3, "use_bias");                   // and those of versions 1 and 2 lack it
  constexpr void added(int version, const char* param) { add(&Description::added, Addition{version, param}); }

 protected:
  template <class T>
  constexpr void set(T Description::*member, std::type_identity_t<T> value) {
    if constexpr (records) description_->*member = value;
  }
  template <class T, int N>
  constexpr void add(Fixed<T, N> Description::*list, const std::type_identity_t<T>& item) {
    if constexpr (records) (description_->*list).push(item);
  }
  Description* description_;  // null where nothing is recorded
};

/// What op.output() returns. Class is the operator's; void where nothing is recorded.
template <class Class>
class Result {
 public:
  constexpr Result() = default;
  constexpr Result(OutputEntry& entry, const Class* object, const void*& count) : entry_(&entry), object_(object), count_(&count) {}
  /// Only backward reads it; users do not see it.
  constexpr Result& hidden() {
    if (entry_) entry_->hidden = true;
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
  OutputEntry* entry_ = nullptr;
  const Class* object_ = nullptr;
  const void** count_ = nullptr;
};

/// The sides of a bound, in the order of ParamEntry::bounds.
enum class Side { at_least, at_most, greater_than, less_than };

/// What op.param() returns: op.param("p", &Dropout::p, "probability of 0").at_least(0).less_than(1). What each word does is Sink's
/// business, which derives from IgnoredParameter.
template <class M, class Sink>
class Parameter {
 public:
  using Limit = BoundType<M>;
  constexpr explicit Parameter(const Sink& sink) : sink_(sink) {}
  constexpr Parameter& required() { return sink_.required(), *this; }  ///< users must give it; the member's value is unused
  // Bounds of numbers and of each value of a list. Tenon checks them before configure() is called; the default must keep them, too.
  // at_least and at_most include the limit, greater_than and less_than do not. NaN keeps no bound. A limit has the parameter's type and
  // must be finite, of float and double between -2^63 and 2^63; a bool or a text with a bound does not compile. The user reads
  //
  //     parameter 'p' is 1.5 but must be less than 1
  constexpr Parameter& at_least(Limit limit) { return bound<Side::at_least>(limit); }
  constexpr Parameter& at_most(Limit limit) { return bound<Side::at_most>(limit); }
  constexpr Parameter& greater_than(Limit limit) { return bound<Side::greater_than>(limit); }
  constexpr Parameter& less_than(Limit limit) { return bound<Side::less_than>(limit); }
  /// An enum's values and the names that users write: .one_of({{"same", Pad::same}, {"valid", Pad::valid}}). Required for every enum;
  /// files store the names, so the numbers may change.
  constexpr Parameter& one_of(std::initializer_list<std::pair<const char*, M>> choices) requires std::is_enum_v<M> {
    return sink_.choices(choices), *this;
  }
  /// The dtypes that a parameter of type DType may have, by their names: .one_of(tenon::floating).
  constexpr Parameter& one_of(Types types) requires std::is_same_v<M, DType> {
    Fixed<std::pair<const char*, DType>, dtype_count> choices;
    for (int i = 0; i < dtype_count; ++i)
      if (const auto dtype = static_cast<DType>(i); types.has(dtype)) choices.push({name_of(dtype), dtype});
    return sink_.choices(choices), *this;
  }
  /// The texts that a text parameter may have: .one_of({"mean", "sum"}).
  constexpr Parameter& one_of(std::initializer_list<const char*> choices) requires std::is_same_v<M, Text> {
    return sink_.choices(choices), *this;
  }

 private:
  template <Side side>
  constexpr Parameter& bound(Limit limit) {
    static_assert(std::is_arithmetic_v<Limit> && !std::is_same_v<Limit, bool>, "only numbers and lists of numbers have bounds");
    if constexpr (std::is_arithmetic_v<Limit>) sink_.template bound<side>(limit);
    return *this;
  }
  Sink sink_;
};

/// A sink that passes over every word.
struct IgnoredParameter {
  constexpr void required() const {}
  template <Side side, class Limit>
  constexpr void bound(Limit) const {}
  template <class Choices>
  constexpr void choices(const Choices&) const {}
};

}  // namespace tenon::TENON_SDK::detail
#pragma GCC visibility pop
