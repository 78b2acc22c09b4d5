// What describe(auto& op) gets at compile time: the calls that an author writes, collected into a Description.
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

/// The kind of a parameter's member; Kind::none for a type that cannot be one.
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

/// What bounds of a parameter compare with: its own type, or a list's elements.
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

/// `op` in describe(auto& op); its public functions are what an author may call there. Class is the operator's class, from whose default
/// object the defaults of the parameters are read; a kernel's class has none at compile time, and its defaults are not needed.
template <class Class>
class Collector {
 public:
  class Argument {
   public:
    constexpr explicit Argument(InputEntry& entry) : entry_(&entry) {}
    constexpr Argument& optional() { return entry_->optional = true, *this; }  ///< may be left unconnected
    constexpr Argument& variadic() { return entry_->variadic = true, *this; }  ///< stands for any number of tensors; it must be the last
    /// A dtype of its own; without it, the dtype that all other such inputs share.
    constexpr Argument& types(Types types) {
      entry_->own_types = true;
      entry_->types = types;
      return *this;
    }
    /// What each element begins with where a graph makes a variable of the input; without it, vectors begin with 0, and matrices at random.
    constexpr Argument& initial(double value) {
      entry_->begins = true;
      entry_->initial = value;
      return *this;
    }

   private:
    InputEntry* entry_;
  };

  class Result {
   public:
    constexpr Result(OutputEntry& entry, const Class* object, const void*& count) : entry_(&entry), object_(object), count_(&count) {}
    constexpr Result& hidden() { return entry_->hidden = true, *this; }  ///< for backward, not for users of the operator
    /// As many outputs as this integer parameter says, by the names name0, name1 ... At most one output of an operator.
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

  class State {
   public:
    constexpr explicit State(StateEntry& entry) : entry_(&entry) {}
    constexpr State& initial(double value) { return entry_->initial = value, *this; }  ///< of each element; 0 where left out

   private:
    StateEntry* entry_;
  };

  template <class M>
  class Parameter {
   public:
    using Limit = BoundType<M>;
    constexpr Parameter(Description& description, ParamEntry& entry) : description_(&description), entry_(&entry) {}
    constexpr Parameter& required() { return entry_->required = true, *this; }  ///< has no default that makes sense
    // Bounds of a list hold for each of its values.
    constexpr Parameter& at_least(Limit limit) { return set(entry_->min, limit); }
    constexpr Parameter& at_most(Limit limit) { return set(entry_->max, limit); }
    constexpr Parameter& greater_than(Limit limit) { return set(entry_->above, limit); }
    constexpr Parameter& less_than(Limit limit) { return set(entry_->below, limit); }
    /// An enum's values and the names that users write: .one_of({{"same", Pad::same}, {"valid", Pad::valid}}).
    constexpr Parameter& one_of(std::initializer_list<std::pair<const char*, M>> choices) requires std::is_enum_v<M> {
      for (const auto& choice : choices) add(choice.first, static_cast<std::int64_t>(choice.second));
      return *this;
    }
    /// The texts that a text parameter may have.
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

    Description* description_;
    ParamEntry* entry_;
  };

  constexpr Collector(Description& description, const Class* object) : description_(&description), object_(object) {}

  constexpr void doc(const char* sentence) { description_->doc = sentence; }    ///< required
  constexpr void version(int version) { description_->version = version; }      ///< 1 where left out
  constexpr void alias(const char* name) { description_->aliases.push(name); }  ///< another name of the operator
  constexpr void types(Types types) { description_->types = types; }            ///< of the shared dtype; floating where left out
  constexpr Argument input(const char* name, const char* doc) {
    return Argument(description_->inputs.push({name, doc, false, false, false, false, {}, 0}));
  }
  constexpr Result output(const char* name, const char* doc) {
    OutputEntry entry;
    entry.name = name;
    entry.doc = doc;
    OutputEntry& added = description_->outputs.push(entry);
    return Result(added, object_, addresses_.counts[description_->outputs.size - 1]);
  }
  /// A tensor that calls may change, and that is kept between them.
  constexpr State state(const char* name, const char* doc) { return State(description_->states.push({name, doc, 0})); }
  /// A parameter: its default is what the member's initialiser says.
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

  constexpr void inplace(const char* input, const char* output) {
    description_->inplace.push({input, output});
  }  ///< output may use input's memory
  /// The gradient of input may use the memory of the gradient of output.
  constexpr void backward_inplace(const char* output, const char* input) { description_->backward_inplace.push({output, input}); }
  /// The inputs and outputs that backward looks at; all of them where it is left out, none for ().
  template <class... Names>
  constexpr void backward_reads(Names... names) {
    description_->backward_reads_said = true;
    (description_->backward_reads.push(names), ...);
  }
  constexpr void backward_reads(const char* const* names, int count) {
    description_->backward_reads_said = true;
    for (int i = 0; i < count; ++i) description_->backward_reads.push(names[i]);
  }
  /// Of elementwise classes: the output is 0 wherever this input is 0, whatever finite numbers the others are, as a product is for each of
  /// its factors. So are then the gradients by all other inputs, and what is sparse stays so.
  constexpr void zero_where(const char* input) { description_->zero_where.push(input); }
  constexpr void accumulates() { description_->accumulates = true; }  ///< kernels honour Write::add; otherwise the host adds for them
  constexpr void takes_strides() { description_->strides = true; }    ///< views may be strided
  constexpr void uses_random() { description_->random = true; }
  constexpr void elementwise() { description_->elementwise = true; }
  constexpr void kernels_elsewhere() { description_->kernels_elsewhere = true; }  ///< the CPU kernel, too, is given by TENON_KERNEL
  /// Since this version the parameter `from` is called `to`; older files are read by it.
  constexpr void renamed(int version, const char* from, const char* to) { description_->renamed.push({version, from, to}); }
  constexpr void added(int version, const char* param) {
    description_->added.push({version, param});
  }  ///< files older than this version get the default

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
  template <class Pool, class T>
  static constexpr void set_list(ParamEntry& entry, Pool& pool, const List<T>& values) {
    entry.first_value = pool.size;
    entry.values = static_cast<int>(values.size());
    for (const T& value : values) pool.push(value);
  }

  Description* description_;
  const Class* object_;
  Addresses addresses_;
};

template <class C>
constexpr bool make() {
  [[maybe_unused]] const C object{};
  return true;
}
/// Whether an object of C can be made at compile time.
template <class C>
concept Literal = requires {
  typename std::bool_constant<make<C>()>;
};

/// Runs describe(). Without defaults for a class that cannot be made at compile time.
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

/// The description of a class, at compile time.
template <class C>
inline constexpr Description description_of = collect<C>();

}  // namespace tenon::TENON_SDK::detail
#pragma GCC visibility pop
