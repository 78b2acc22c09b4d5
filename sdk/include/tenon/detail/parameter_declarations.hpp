// The calls on op.param(): bounds, choices, required. For declarations.hpp, whose sinks record or
// ignore them.
//
//     op.param("p", &Dropout::p, "probability of 0").at_least(0).less_than(1);
//     op.param("pad", &Pool::pad, "values outside of the image")
//         .one_of({{"zeros", Pad::zeros}, {"edge", Pad::edge}});
//     op.param("num_hidden", &FullyConnected::num_hidden, "columns of the output")
//         .required()
//         .at_least(1);
//
// The host checks bounds and choices before configure() is called, using only the manifest, so that
// documentation and `tenon check` have them, too. For rules between two parameters see
// op.require(). At most 32 parameters, with 64 choices in all; the limits are in description.hpp.
#pragma once
#include <initializer_list>
#include <type_traits>
#include <utility>

#include "../dtype.hpp"
#include "../list.hpp"
#include "../number_table.hpp"
#include "../text.hpp"
#include "../version.hpp"
#include "description.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::detail {

/// The type that bounds apply to: the parameter, or each element of a list or a table.
template <class M>
struct bound_of {
  using type = M;
};
/// Bounds apply to each element of a list: .at_least(1) for kernel sizes.
template <class T>
struct bound_of<List<T>> {
  using type = T;
};
/// Bounds apply to each element of a table.
template <class T>
struct bound_of<Table<T>> {
  using type = T;
};
/// The type of bounds: exact for integers, finite for floats. Only numbers have bounds; Parameter
/// rejects bounds of other parameters at compile time.
template <class M>
using BoundType = typename bound_of<M>::type;

/// The sides of a bound, which are the keys min, max, above and below in the manifest, in the order
/// of ParamEntry::bounds.
enum class Side { at_least, at_most, greater_than, less_than };

/// The result of op.param():
/// op.param("p", &Dropout::p, "probability of 0").at_least(0).less_than(1).
/// Sink, derived from IgnoredParameter, implements each call.
template <class M, class Sink>
class Parameter {
 public:
  using Limit = BoundType<M>;
  constexpr explicit Parameter(const Sink& sink) : sink_(sink) {}
  /// Users must set it; the member's value is not used. Default: users may omit it. Example:
  /// `op.param("k", &TopK::k, "elements to keep").required();` Error, when a node is added:
  /// ``parameter 'k' is required: elements to keep``.
  constexpr Parameter& required() { return sink_.required(), *this; }
  // Bounds of numbers and of each value of a list or a table, which the host checks before
  // configure() is called.
  /// The lower bound, inclusive, of a number and of each value of a list or a table, in the unit of
  /// the parameter. It has the parameter's type and must be finite, for float and double between
  /// -2^63 and 2^63. NaN violates every bound. Default: none. Example:
  /// `op.param("k", &TopK::k, "elements to keep").at_least(1);` Error: the member's initialiser
  /// violates it, unless the parameter is required; the parameter is not a number, a list of
  /// numbers or a table. When a node is added: ``parameter 'k' is 0 but must be at least 1``.
  constexpr Parameter& at_least(Limit limit) { return bound<Side::at_least>(limit); }
  /// The upper bound, inclusive, like at_least(). Default: none. Example:
  /// `op.param("p", &Dropout::p, "probability of 0").at_most(1);` Error: as for at_least().
  constexpr Parameter& at_most(Limit limit) { return bound<Side::at_most>(limit); }
  /// The lower bound, exclusive, like at_least(). Default: none. Example:
  /// `op.param("eps", &Norm::eps, "added to the variance").greater_than(0);` Error: as for
  /// at_least(). When a node is added: ``parameter 'eps' is 0 but must be above 0``.
  constexpr Parameter& greater_than(Limit limit) { return bound<Side::greater_than>(limit); }
  /// The upper bound, exclusive, like at_least(). Default: none. Example:
  /// `op.param("p", &Dropout::p, "probability of 0").at_least(0).less_than(1);` Error: as for
  /// at_least(). When a node is added: ``parameter 'p' is 1.5 but must be below 1``.
  constexpr Parameter& less_than(Limit limit) { return bound<Side::less_than>(limit); }
  /// An enum's values and the names that users write. Files store the names, so the numbers may
  /// change. Default: every enum needs it. Error: an enum without it; the member's initialiser is
  /// not among them; more than 64 choices of all parameters.
  ///
  ///     op.param("pad", &Pool::pad, "values outside of the image")
  ///         .one_of({{"zeros", Pad::zeros}, {"edge", Pad::edge}});
  constexpr Parameter& one_of(
      std::initializer_list<std::pair<const char*, M>> choices) requires std::is_enum_v<M> {
    return sink_.choices(choices), *this;
  }
  /// The allowed dtypes of a parameter of type DType, by their names. Default: the parameter needs
  /// a set. Example: `op.param("dtype", &Cast::dtype, "of y").one_of(tenon::floating);` Error: the
  /// member's initialiser is not among them.
  constexpr Parameter& one_of(Types types) requires std::is_same_v<M, DType> {
    Fixed<std::pair<const char*, DType>, dtype_count> choices;
    for (int i = 0; i < dtype_count; ++i)
      if (const auto dtype = static_cast<DType>(i); types.has(dtype))
        choices.push({name_of(dtype), dtype});
    return sink_.choices(choices), *this;
  }
  /// The allowed values of a text parameter, or of each text of a list. Default: any text. Example:
  /// `op.param("mode", &Pool::mode, "of a window").one_of({"mean", "sum"});` Error: the member's
  /// initialiser is not among them, unless the parameter is required; more than 64 choices of all
  /// parameters.
  constexpr Parameter& one_of(std::initializer_list<const char*> choices) requires(
      std::is_same_v<M, Text> || std::is_same_v<M, Texts>) {
    return sink_.choices(choices), *this;
  }

 private:
  template <Side side>
  constexpr Parameter& bound(Limit limit) {
    static_assert(std::is_arithmetic_v<Limit> && !std::is_same_v<Limit, bool>,
                  "only numbers, lists of numbers and tables have bounds");
    if constexpr (std::is_arithmetic_v<Limit>) sink_.template bound<side>(limit);
    return *this;
  }
  Sink sink_;
};

/// A sink that ignores every call.
struct IgnoredParameter {
  constexpr void required() const {}
  template <Side side, class Limit>
  constexpr void bound(Limit) const {}
  template <class Choices>
  constexpr void choices(const Choices&) const {}
};

}  // namespace tenon::TENON_SDK::detail
#pragma GCC visibility pop
