// What describe(auto& op) gets at compile time: the calls that an author writes, collected into a Description.
//
//     struct TopK : tenon::Operator {
//       std::int64_t k = 0;
//       enum class Order { descending, ascending } order = Order::descending;
//
//       static constexpr void describe(auto& op) {
//         op.doc("the k largest or smallest elements of each row");
//         op.types(tenon::numeric);
//         op.input("data", "[rows, columns]");
//         op.output("values", "[rows, k]");
//         op.output("indices", "columns of the values, int64 [rows, k]");
//         op.param("k", &TopK::k, "elements to keep of each row").required().at_least(1);
//         op.param("order", &TopK::order, "which come first").one_of({{"descending", Order::descending}, {"ascending", Order::ascending}});
//         op.backward_reads("indices");
//       }
//       ...
//     };
//     TENON_OPERATOR(top_k, TopK)
//
// describe() runs at compile time for the manifest and at run time to set the parameters: it must make the same calls every time, in the
// same order, and all of its texts must be literals. Names of inputs, outputs, states and parameters are identifiers, and part of graph
// files: rename parameters by op.renamed() only. Docs are what users read in `tenon inspect`: one phrase each, with shapes and units.
#pragma once
#include <initializer_list>
#include <type_traits>
#include <utility>

#include "description.hpp"
#include "description_checks.hpp"
#include "list.hpp"
#include "text.hpp"
#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::detail {

/// The kind of a parameter's member; Kind::none for a type that cannot be one, such as unsigned integers, char and std::string.
template <class M>
constexpr Kind kind_of = [] {
  if constexpr (std::is_same_v<M, bool>) return Kind::boolean;
  if constexpr (std::is_same_v<M, float>) return Kind::float32;
  if constexpr (std::is_same_v<M, double>) return Kind::float64;
  if constexpr (std::is_same_v<M, Text>) return Kind::text;
  if constexpr (std::is_same_v<M, Ints>) return Kind::ints;
  if constexpr (std::is_same_v<M, Floats>) return Kind::floats;
  if constexpr (std::is_enum_v<M>) return Kind::choice;
  if constexpr (std::is_integral_v<M> && std::is_signed_v<M> && !std::is_same_v<M, char>)
    return sizeof(M) == 4 ? Kind::int32 : sizeof(M) == 8 ? Kind::int64 : Kind::none;
  return Kind::none;
}();

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

/// `op` in describe(auto& op); its public functions, down to kernels_elsewhere(), are what an author may call there. Class is the
/// operator's class, from whose default object the defaults of the parameters are read; a kernel's class need not be constructible at
/// compile time, and its defaults are not needed. Limits: see checks.hpp, whose sentences report every mistake at compile time.
template <class Class>
class Collector {
 public:
  /// What op.input() returns: op.input("bias", "[units]").optional().initial(0.1).
  class Argument {
   public:
    constexpr explicit Argument(InputEntry& entry) : entry_(&entry) {}
    constexpr Argument& optional() { return entry_->optional = true, *this; }  ///< may be left unconnected; see call.has_input
    /// Stands for any number of tensors, 0 too, named data0, data1 ... It must be the last input. call.inputs() counts them.
    constexpr Argument& variadic() { return entry_->variadic = true, *this; }
    /// A set of dtypes of its own: op.input("index", "...").types(tenon::integral). Inputs without it share one dtype of op.types().
    constexpr Argument& types(Types types) {
      entry_->own_types = true;
      entry_->types = types;
      return *this;
    }
    /// The first value of each element if a graph creates a variable for this input, as for a weight or a bias. Default: 0 for vectors,
    /// random for matrices and tensors of more dimensions. It must be finite.
    constexpr Argument& initial(double value) {
      entry_->begins = true;
      entry_->initial = value;
      return *this;
    }

   private:
    InputEntry* entry_;
  };

  /// What op.output() returns.
  class Result {
   public:
    constexpr Result(OutputEntry& entry, const Class* object, const void*& count) : entry_(&entry), object_(object), count_(&count) {}
    constexpr Result& hidden() { return entry_->hidden = true, *this; }  ///< only backward reads it; users do not see it
    /// As many outputs as this integer parameter says, named name0, name1 ...: op.output("part", "...").count(&Split::parts). One output of
    /// an operator may have a count; call.outputs() tells the total.
    template <class Base, class Int>
    constexpr Result& count(Int Base::*parameter) {
      static_assert(std::is_integral_v<Int>, "the count of an output is an integer parameter");
      entry_->counted = true;
      if (object_) *count_ = &(object_->*parameter);
      return *this;
    }

   private:
    OutputEntry* entry_;
    const Class* object_;
    const void** count_;
  };

  /// What op.state() returns.
  class State {
   public:
    constexpr explicit State(StateEntry& entry) : entry_(&entry) {}
    constexpr State& initial(double value) { return entry_->initial = value, *this; }  ///< first value of each element; default: 0

   private:
    StateEntry* entry_;
  };

  /// What op.param() returns: op.param("p", &Dropout::p, "probability of 0").at_least(0).less_than(1).
  template <class M>
  class Parameter {
   public:
    using Limit = BoundType<M>;
    constexpr Parameter(Description& description, ParamEntry& entry) : description_(&description), entry_(&entry) {}
    constexpr Parameter& required() { return entry_->required = true, *this; }  ///< users must give it; the member's value is unused
    // Bounds of numbers and of each value of a list. Tenon checks them before configure() is called; the default must keep them, too.
    // at_least and at_most include the limit, greater_than and less_than do not. NaN keeps no bound.
    constexpr Parameter& at_least(Limit limit) { return set(entry_->min, limit); }
    constexpr Parameter& at_most(Limit limit) { return set(entry_->max, limit); }
    constexpr Parameter& greater_than(Limit limit) { return set(entry_->above, limit); }
    constexpr Parameter& less_than(Limit limit) { return set(entry_->below, limit); }
    /// An enum's values and the names that users write: .one_of({{"same", Pad::same}, {"valid", Pad::valid}}). Required for every enum;
    /// files store the names, so the numbers may change.
    constexpr Parameter& one_of(std::initializer_list<std::pair<const char*, M>> choices) requires std::is_enum_v<M> {
      for (const auto& choice : choices) add(choice.first, static_cast<std::int64_t>(choice.second));
      return *this;
    }
    /// The texts that a text parameter may have: .one_of({"mean", "sum"}).
    constexpr Parameter& one_of(std::initializer_list<const char*> choices) requires std::is_same_v<M, Text> {
      for (const char* choice : choices) add(choice, 0);
      return *this;
    }

   private:
    constexpr Parameter& set(Bound& bound, Limit limit) {
      static_assert(std::is_arithmetic_v<Limit> && !std::is_same_v<Limit, bool>, "only numbers and lists of numbers have bounds");
      if constexpr (std::is_arithmetic_v<Limit>) bound = {true, static_cast<std::int64_t>(limit), static_cast<double>(limit)};
      return *this;
    }
    constexpr void add(const char* name, std::int64_t value) {
      if (entry_->choices++ == 0) entry_->first_choice = description_->choices.size;
      description_->choices.push({name, value});
    }

    Description* description_;  // has the choices of all parameters
    ParamEntry* entry_;
  };

  constexpr Collector(Description& description, const Class* object) : description_(&description), object_(object) {}

  constexpr void doc(const char* sentence) { description_->doc = sentence; }  ///< what the operator computes; required
  /// Raise it whenever files of the operator change their meaning; default: 1. Then op.renamed() and op.added() tell how to read older
  /// ones. Of two plugins with the operator, the higher version is used.
  constexpr void version(int version) { description_->version = version; }
  /// Graphs may call the operator by this name, too; at most 8.
  constexpr void alias(const char* name) { description_->aliases.push(name); }
  /// The dtypes of the inputs without .types() of their own, which share one, and of outputs that infer() gives no dtype. Default:
  /// floating.
  constexpr void types(Types types) { description_->types = types; }
  /// An input, in the order of its position; doc names its shape: op.input("weight", "[num_hidden, features]").
  constexpr Argument input(const char* name, const char* doc) {
    return Argument(description_->inputs.push({name, doc, false, false, false, false, {}, 0}));
  }
  /// An output; outputs and inputs have different names.
  constexpr Result output(const char* name, const char* doc) {
    OutputEntry entry;
    entry.name = name;
    entry.doc = doc;
    OutputEntry& added = description_->outputs.push(entry);
    return Result(added, object_, addresses_.counts[description_->outputs.size - 1]);
  }
  /// A tensor that calls may change and that is kept between them, such as a moving mean: call.state<float>("mean"). infer() must give its
  /// shape by io.set_state. Graph files and checkpoints contain it.
  constexpr State state(const char* name, const char* doc) { return State(description_->states.push({name, doc, 0})); }
  /// A parameter: op.param("scale", &Cosine::scale, "multiplier"). The member's initialiser is the default. Types: bool, std::int32_t,
  /// std::int64_t, float, double, tenon::Text, tenon::Ints, tenon::Floats, enums with .one_of.
  template <class Base, class M>
  constexpr Parameter<M> param(const char* name, M Base::*member, const char* doc) {
    ParamEntry entry;
    entry.name = name;
    entry.doc = doc;
    entry.kind = kind_of<M>;
    if constexpr (kind_of<M> != Kind::none)
      if (object_) set_default(entry, object_->*member);
    ParamEntry& added = description_->params.push(entry);
    if (object_) addresses_.params[description_->params.size - 1] = &(object_->*member);
    return Parameter<M>(*description_, added);
  }

  /// The output may use the input's memory: forward then gets Write::in_place. Declare it only if no element of the input is
  /// read after its place in the output is written. Tenon uses it where dtypes and sizes in bytes are equal, which need not be the shapes,
  /// and nobody else reads the input later.
  /// op.inplace("x", "y") may be called for several pairs.
  constexpr void inplace(const char* input, const char* output) { description_->inplace.push({input, output}); }
  /// The gradient of input may use the memory of the gradient of output, in the same way.
  constexpr void backward_inplace(const char* output, const char* input) { description_->backward_inplace.push({output, input}); }
  /// The inputs and outputs whose elements backward reads; the memory of the others is reused early. Default: all of them; () for none.
  /// Reading another one in backward is an error.
  template <class... Names>
  constexpr void backward_reads(Names... names) {
    description_->backward_reads_said = true;
    (description_->backward_reads.push(names), ...);
  }
  /// The same from an array, for families of operators: count pointers to literals.
  constexpr void backward_reads(const char* const* names, int count) {
    description_->backward_reads_said = true;
    for (int i = 0; i < count; ++i) description_->backward_reads.push(names[i]);
  }
  /// For elementwise classes: the output is 0 wherever this input is 0, for any finite values of the others, as a product is for each of
  /// its factors. Then the gradients by all other inputs are 0 there, too, and both are stored only where this input is.
  constexpr void zero_where(const char* input) { description_->zero_where.push(input); }
  /// Kernels implement Write::add, in forward and backward; otherwise the host adds their results in a step of its own.
  constexpr void accumulates() { description_->accumulates = true; }
  /// Kernels accept strided views; otherwise the host makes them contiguous. Then do not use data()[i], begin() or end() unless
  /// View::contiguous().
  constexpr void takes_strides() { description_->strides = true; }
  constexpr void uses_random() { description_->random = true; }  ///< kernels call call.random(): each run gives other results
  /// For the SDK: tenon::Elementwise calls it.
  constexpr void elementwise() { description_->elementwise = true; }
  /// For operators whose CPU kernel keeps data between calls, and for those that have a CUDA kernel only.
  constexpr void kernels_elsewhere() { description_->kernels_elsewhere = true; }  ///< TENON_KERNEL gives the CPU kernel, too
  /// Since this version the parameter `from` is called `to`: op.renamed(2, "num_hiden", "num_hidden"). Older files still load.
  constexpr void renamed(int version, const char* from, const char* to) { description_->renamed.push({version, from, to}); }
  /// This parameter exists since this version; older files get its default.
  constexpr void added(int version, const char* param) { description_->added.push({version, param}); }

  /// Not for authors: completes the description after describe().
  constexpr void finish() { detail::finish(*description_, object_ ? &addresses_ : nullptr); }

 private:
  template <class M>
  constexpr void set_default(ParamEntry& entry, const M& value) {
    if constexpr (std::is_floating_point_v<M>) {
      entry.number = value;
    } else if constexpr (std::is_same_v<M, Text>) {
      entry.text = value;
    } else if constexpr (std::is_same_v<M, Ints>) {
      set_list(entry, description_->ints, value);
    } else if constexpr (std::is_same_v<M, Floats>) {
      set_list(entry, description_->floats, value);
    } else {
      entry.integer = static_cast<std::int64_t>(value);
    }
  }
  // Lists lie one after the other in the description.
  template <class Pool, class T>
  static constexpr void set_list(ParamEntry& entry, Pool& pool, const List<T>& values) {
    entry.first_value = pool.size;
    entry.values = static_cast<int>(values.size());
    for (const T& value : values) pool.push(value);
  }

  Description* description_;
  const Class* object_;  // null: no defaults
  Addresses addresses_;
};

template <class C>
constexpr bool make() {
  [[maybe_unused]] const C object{};
  return true;
}
/// Whether an object of C can be constructed at compile time.
template <class C>
concept Literal = requires {
  typename std::bool_constant<make<C>()>;
};

/// Runs describe(). A class that cannot be constructed at compile time, as a kernel's may be, is described without defaults.
template <class C>
constexpr Description collect() {
  Description description;
  const auto run = [&](const C* object) {
    Collector<C> collector(description, object);
    C::describe(collector);
    collector.finish();
  };
  if constexpr (Literal<C>) {
    const C object{};
    run(&object);
  } else {
    run(nullptr);
  }
  return description;
}

/// The description of a class, at compile time. Everything else is derived from it: manifest, names, checks.
template <class C>
inline constexpr Description description_of = collect<C>();

}  // namespace tenon::TENON_SDK::detail
#pragma GCC visibility pop
