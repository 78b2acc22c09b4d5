// The argument of describe(auto& op) at compile time: collects the calls of an author into a
// Description.
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
//         op.param("order", &TopK::order, "which come first")
//             .one_of({{"descending", Order::descending}, {"ascending", Order::ascending}});
//         op.backward_reads("indices");
//       }
//       ...
//     };
//     TENON_OPERATOR(top_k, TopK)
//
// describe() runs at compile time for the manifest and at run time to set the parameters: it must
// make the same calls every time, in the same order, and all of its texts must be literals. Names
// of inputs, outputs, states and parameters are identifiers and part of graph files: rename
// parameters only with op.renamed(). Docs are shown by `tenon inspect`: one phrase each, with
// shapes and units.
#pragma once
#include <initializer_list>
#include <type_traits>
#include <utility>

#include "declarations.hpp"
#include "detail/description.hpp"
#include "detail/description_checks.hpp"
#include "list.hpp"
#include "number_table.hpp"
#include "text.hpp"
#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::detail {

/// The dtype of a table's elements, which its manifest names and its attributes must have;
/// unknown_dtype for all other members:
///
///     table_dtype<Table<float>> == f32
///     table_dtype<float> == unknown_dtype
template <class M>
inline constexpr DType table_dtype = unknown_dtype;
template <class T>
inline constexpr DType table_dtype<Table<T>> = dtype_of<T>;

/// The kind of a parameter's member; Kind::none for a type that cannot be one, such as unsigned
/// integers, char and std::string.
template <class M>
constexpr Kind kind_of = [] {
  if constexpr (std::is_same_v<M, bool>) return Kind::boolean;
  if constexpr (std::is_same_v<M, float>) return Kind::float32;
  if constexpr (std::is_same_v<M, double>) return Kind::float64;
  if constexpr (std::is_same_v<M, Text>) return Kind::text;
  if constexpr (std::is_same_v<M, Ints>) return Kind::ints;
  if constexpr (std::is_same_v<M, Floats>) return Kind::floats;
  if constexpr (std::is_same_v<M, Texts>) return Kind::texts;
  if constexpr (table_dtype<M> != unknown_dtype) return Kind::tensor;
  if constexpr (std::is_enum_v<M>) return Kind::choice;
  if constexpr (std::is_integral_v<M> && std::is_signed_v<M> && !std::is_same_v<M, char>)
    return sizeof(M) == 4 ? Kind::int32 : sizeof(M) == 8 ? Kind::int64 : Kind::none;
  return Kind::none;
}();

/// A sink that records the calls after op.param() in the parameter's entry. It checks nothing;
/// finish() does after describe().
struct RecordedParameter : IgnoredParameter {
  constexpr RecordedParameter(Description& d, ParamEntry& p) : description(&d), entry(&p) {}
  constexpr void required() const { entry->required = true; }
  // Sets both numbers; readers use the one of the parameter's kind. A floating limit beyond 2^63
  // does not compile, because its conversion to an integer is not a constant expression.
  template <Side side, class Limit>
  constexpr void bound(Limit limit) const {
    entry->bounds[static_cast<int>(side)] = {true, static_cast<std::int64_t>(limit),
                                             static_cast<double>(limit)};
  }
  // The choices of all parameters are in one list; an entry has the index of its first and their
  // number.
  template <class Choices>
  constexpr void choices(const Choices& choices) const {
    for (const auto& choice : choices) {
      if (entry->choices++ == 0) entry->first_choice = description->choices.size;
      description->choices.push(choice_of(choice));
    }
  }
  static constexpr Choice choice_of(const char* name) { return {name, 0}; }
  template <class Enum>
  static constexpr Choice choice_of(const std::pair<const char*, Enum>& choice) {
    return {choice.first, static_cast<std::int64_t>(choice.second)};
  }

  Description* description;  // stores the choices of all parameters
  ParamEntry* entry;
};

/// `op` in describe(auto& op) at compile time. Authors may call its public functions and those of
/// Declarations, except finish(). Class is the operator's class, whose default object provides the
/// defaults of the parameters; a kernel's class need not be constructible at compile time, because
/// its defaults are not needed. For the limits see checks.hpp, whose sentences report every fault
/// at compile time.
template <class Class>
class Collector : public Declarations<true> {
 public:
  constexpr Collector(Description& description, const Class* object)
      : Declarations<true>(&description), object_(object) {}

  /// Declares an output, in the order of the calls; `doc` states its shape for users. An operator
  /// has at least one. Default: one tensor that users see, whose shape infer() sets: the first
  /// input's shape without an infer(). Error: the name is that of another input or output; more
  /// than 16 outputs; when the plugin is read, no output.
  ///
  ///     op.output("y", "[rows, columns]");
  ///     op.output("mask", "which elements were kept, for backward").hidden();
  ///     // part0, part1 ...
  ///     op.output("part", "equal parts of x along axis").count(&Split::parts);
  constexpr Result<Class> output(const char* name, const char* doc) {
    description_->outputs.push({name, doc, false, false, -1});
    return Result<Class>(*description_, object_, addresses_.counts[description_->outputs.size - 1]);
  }
  /// Declares a parameter. Types: bool, std::int32_t, std::int64_t, float, double, tenon::Text,
  /// tenon::Ints, tenon::Floats, tenon::Texts, tenon::Table, and enums with .one_of. The member may
  /// belong to a base class, but must be accessible from describe(). Default: the member's
  /// initialiser. Error: the member has another type, such as an unsigned integer or std::string;
  /// two parameters have the same name; more than 32.
  ///
  ///     op.param("scale", &Cosine::scale, "multiplier");  // float scale = 1;
  ///     // tenon::Ints
  ///     op.param("kernel", &Pooling::kernel, "[height, width] of a window")
  ///         .required()
  ///         .at_least(1);
  ///     // float eps = 1e-5f;
  ///     op.param("eps", &Norm::eps, "added to the variance").greater_than(0);
  ///     // tenon::Texts axes;
  ///     op.param("axes", &Norm::axes, "names of axes").one_of({"height", "width"});
  ///     op.param("taps", &Fir::taps, "[taps] weights").required();  // tenon::Table<float> taps;
  template <class Base, class M>
  constexpr Parameter<M, RecordedParameter> param(const char* name, M Base::*member,
                                                  const char* doc) {
    // Checked here and not with the description, so that the compiler shows the author's line and
    // the member's type.
    static_assert(kind_of<M> != Kind::none,
                  "a parameter must be a bool, int32_t, int64_t, float, double, tenon::Text, "
                  "tenon::Ints, tenon::Floats, tenon::Texts, "
                  "tenon::Table or an enum");
    ParamEntry entry;
    entry.name = name;
    entry.doc = doc;
    entry.kind = kind_of<M>;
    entry.dtype = table_dtype<M>;  // only for tables
    if constexpr (kind_of<M> != Kind::none)
      if (object_) set_default(entry, object_->*member);
    ParamEntry& added = description_->params.push(entry);
    if (object_) addresses_.params[description_->params.size - 1] = &(object_->*member);
    return Parameter<M, RecordedParameter>({*description_, added});
  }

  /// Not for authors: completes the description after describe().
  constexpr void finish() { detail::finish(*description_, object_ ? &addresses_ : nullptr); }

 private:
  // Reads the member's value, which is a constant here; its type determines which field of the
  // entry holds it.
  template <class M>
  constexpr void set_default(ParamEntry& entry, const M& value) {
    if constexpr (std::is_floating_point_v<M>) {
      entry.number = value;
    } else if constexpr (std::is_same_v<M, Text>) {
      entry.text = value;
    } else if constexpr (std::is_same_v<M, Texts>) {
      set_list(entry, description_->texts, value);
    } else if constexpr (std::is_same_v<M, Ints> || table_dtype<M> == i32 ||
                         table_dtype<M> == i64) {
      set_list(entry, description_->ints, value);
    } else if constexpr (std::is_same_v<M, Floats> || table_dtype<M> != unknown_dtype) {
      set_list(entry, description_->floats, value);
    } else {
      entry.integer = static_cast<std::int64_t>(value);
    }
  }
  // Lists are stored contiguously in the description, and so are the elements of tables: a default
  // in braces is a list of rank 1, so no shape is stored. Exceeding the pool is a fault of the
  // description (too_many).
  template <class Pool, class Values>
  static constexpr void set_list(ParamEntry& entry, Pool& pool, const Values& values) {
    entry.first_value = pool.size;
    entry.values = static_cast<int>(values.size());
    for (const auto& value : values) pool.push(value);
  }

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

/// Runs describe(). A class that cannot be constructed at compile time, such as some kernels, is
/// described without defaults.
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

/// The description of a class at compile time. Everything else is derived from it: manifest, names,
/// checks.
template <class C>
inline constexpr Description description_of = collect<C>();

}  // namespace tenon::TENON_SDK::detail
#pragma GCC visibility pop
