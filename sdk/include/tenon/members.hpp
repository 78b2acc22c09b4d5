// Which functions an operator's class gives, and whether their signatures are right. All at compile time.
#pragma once
#include <concepts>
#include <cstddef>
#include <type_traits>

#include "call.hpp"
#include "gradient.hpp"
#include "operator_class.hpp"
#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::detail {

// Whether a class has a member of some name, whatever its signature and access: a second base with the same name makes the name ambiguous.
#define TENON_NAMES(member)                             \
  struct member##_probe {                               \
    int member;                                         \
  };                                                    \
  template <class C>                                    \
  struct member##_both : C, member##_probe {};          \
  template <class C>                                    \
  constexpr bool names_##member = [] {                  \
    if constexpr (std::is_final_v<C>) return requires { \
        &C::member;                                     \
      };                                                \
    else                                                \
      return !requires {                                \
        &member##_both<C>::member;                      \
      };                                                \
  }();
TENON_NAMES(forward)
TENON_NAMES(forward_sparse)
TENON_NAMES(backward)
TENON_NAMES(backward_sparse)
TENON_NAMES(gradient)
TENON_NAMES(workspace)
TENON_NAMES(backward_workspace)
#undef TENON_NAMES

/// What the class gives. A function counts as given where it has the right signature; forward and backward may change the object.
template <class C>
struct Members {
  static constexpr bool forward = requires(C & c, const Call& call) {
    { c.forward(call) } -> std::same_as<void>;
  };
  static constexpr bool forward_sparse = requires(C & c, const Call& call) {
    { c.forward_sparse(call) } -> std::same_as<void>;
  };
  static constexpr bool backward = requires(C & c, const Call& call) {
    { c.backward(call) } -> std::same_as<void>;
  };
  static constexpr bool backward_sparse = requires(C & c, const Call& call) {
    { c.backward_sparse(call) } -> std::same_as<void>;
  };
  static constexpr bool gradient = requires(const C& c, Gradient& g) {
    { c.gradient(g) } -> std::same_as<void>;
  };
  static constexpr bool infer = requires(const C& c, Infer& io) {
    { c.infer(io) } -> std::same_as<void>;
  };
  static constexpr bool configure = requires(C & c) {
    { c.configure() } -> std::same_as<void>;
  };
  static constexpr bool workspace = requires(const C& c, const Infer& io) {
    { c.workspace(io) } -> std::convertible_to<std::size_t>;
  };
  static constexpr bool backward_workspace = requires(const C& c, const Infer& io) {
    { c.backward_workspace(io) } -> std::convertible_to<std::size_t>;
  };
  static constexpr bool storage_callable = requires(const C& c, InferStorage& io) {
    { c.infer_storage(io) } -> std::same_as<void>;
  };

  // infer_storage is always there; the class gives it unless the one found is the base's.
  static constexpr bool infer_storage = [] {
    if constexpr (requires { &C::infer_storage; })
      return storage_callable && !std::is_same_v<decltype(&C::infer_storage), void (Operator::*)(InferStorage&) const>;
    else
      return storage_callable;
  }();
  static constexpr bool capturable = [] {
    if constexpr (requires {
                    { C::capturable } -> std::convertible_to<bool>;
                  })
      return bool(C::capturable);
    else
      return false;
  }();
  static constexpr bool any_kernel = forward || forward_sparse || backward || backward_sparse;
};

}  // namespace tenon::TENON_SDK::detail
#pragma GCC visibility pop
