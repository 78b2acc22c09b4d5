// Detects which functions an operator's class defines, and whether their signatures are right. All
// at compile time; for the SDK.
//
// There are two tests for each function, whose results checks.hpp compares:
//
//     names_forward<C>         the class has a member of this name, of any form and access
//     Members<C>::forward      it can be called as the SDK calls it
//
// The first without the second is a fault, reported by a sentence; neither means that the operator
// lacks the function, and the table of the C boundary has null for it. infer, infer_storage and
// configure exist in every class, because tenon::Operator has them.
#pragma once
#include <concepts>
#include <cstddef>
#include <string>
#include <type_traits>

#include "../call.hpp"
#include "../compose.hpp"
#include "../gradient.hpp"
#include "../operator_class.hpp"
#include "../prepare.hpp"
#include "../version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::detail {

// Whether a class has a member of some name, whatever its signature and access: a second base with
// the same name makes the name ambiguous. A final class cannot be a base; its private members are
// not found.
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
TENON_NAMES(flops)
TENON_NAMES(backward_flops)
TENON_NAMES(supports)
TENON_NAMES(prepare)
// Common misspellings, which would never be called.
TENON_NAMES(forwards)
TENON_NAMES(backwards)
TENON_NAMES(infer_shape)
TENON_NAMES(infer_shapes)
TENON_NAMES(infer_type)
TENON_NAMES(infer_types)
#undef TENON_NAMES

/// The functions that can be called as the SDK calls them, from outside of the class. Kernels may
/// be non-const and then change the object; the other functions must be const, because several
/// threads call them on one object.
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
  // A class may have both: then its kernel computes. A function that also accepts a const Compose
  // is a template for anything.
  static constexpr bool compose = requires(const C& c, Compose& graph) {
    { c.forward(graph) } -> std::same_as<void>;
  }
  &&!requires(const C& c, const Compose& graph) { c.forward(graph); };
  // The gradient of elementwise classes takes and returns elements: another form, which does not
  // count here.
  static constexpr bool gradient = requires(const C& c, Gradient& g) {
    { c.gradient(g) } -> std::same_as<void>;
  };
  // Called several times while a graph is built.
  static constexpr bool infer = requires(const C& c, Infer& io) {
    { c.infer(io) } -> std::same_as<void>;
  };
  /// True if infer is not the base's.
  static constexpr bool own_infer = [] {
    if constexpr (requires { &C::infer; })
      return !std::is_same_v<decltype(&C::infer), void (Operator::*)(Infer&) const>;
    else
      return true;  // overloaded, a template or private
  }();
  // Called once, before the object is used.
  static constexpr bool configure = requires(C & c) {
    { c.configure() } -> std::same_as<void>;
  };
  // Bytes of scratch memory; any integer type.
  static constexpr bool workspace = requires(const C& c, const Infer& io) {
    { c.workspace(io) } -> std::convertible_to<std::size_t>;
  };
  static constexpr bool backward_workspace = requires(const C& c, const Infer& io) {
    { c.backward_workspace(io) } -> std::convertible_to<std::size_t>;
  };
  // Floating-point operations of a call, for profiles.
  static constexpr bool flops = requires(const C& c, const Infer& io) {
    { c.flops(io) } -> std::same_as<double>;
  };
  static constexpr bool backward_flops = requires(const C& c, const Infer& io) {
    { c.backward_flops(io) } -> std::same_as<double>;
  };
  // The algorithm of a call and the reason, for plans. A parameter or a function of another form
  // may have this name.
  static constexpr bool algorithm = requires(const C& c, const Infer& io) {
    { c.algorithm(io) } -> std::convertible_to<std::string>;
  };
  static constexpr bool backward_algorithm = requires(const C& c, const Infer& io) {
    { c.backward_algorithm(io) } -> std::convertible_to<std::string>;
  };
  // Whether it takes an Infer but cannot be called as the SDK calls it.
  static constexpr bool wrong_algorithm =
      (!algorithm && requires(C & c, const Infer& io) { c.algorithm(io); }) ||
      (!backward_algorithm && requires(C & c, const Infer& io) { c.backward_algorithm(io); });
  // The scalar computation of an elementwise class, as recorded operations.
  static constexpr bool trace = requires(const C& c, tenon_trace& io) {
    { c.trace(io) } -> std::same_as<void>;
  };
  static constexpr bool supports = requires(const C& c, const Infer& types) {
    { c.supports(types) } -> std::same_as<bool>;
  };
  static constexpr bool prepare = requires(const C& c, Prepare& io) {
    { c.prepare(io) } -> std::same_as<void>;
  };
  static constexpr bool storage_callable = requires(const C& c, InferStorage& io) {
    { c.infer_storage(io) } -> std::same_as<void>;
  };

  // infer_storage always exists; the class defines it unless it is the base's. An overloaded or
  // templated one has no address and belongs to the class.
  static constexpr bool infer_storage = [] {
    if constexpr (requires { &C::infer_storage; })
      return storage_callable &&
             !std::is_same_v<decltype(&C::infer_storage), void (Operator::*)(InferStorage&) const>;
    else
      return storage_callable;
  }();
  // static constexpr bool capturable = true: the CUDA kernel only enqueues work, so that Tenon may
  // capture it in a CUDA graph.
  static constexpr bool capturable = [] {
    if constexpr (requires {
                    { C::capturable } -> std::convertible_to<bool>;
                  })
      return bool(C::capturable);
    else
      return false;
  }();
  // static constexpr bool blockwise = true: each element of the outputs depends only on the
  // corresponding elements of the inputs, so that Tenon may call the kernel for segments of the
  // tensors, on several threads at once.
  static constexpr bool blockwise = [] {
    if constexpr (requires {
                    { C::blockwise } -> std::convertible_to<bool>;
                  })
      return bool(C::blockwise);
    else
      return false;
  }();
  // static constexpr int priority: of several kernels for one device, the one with the highest
  // priority that supports the types runs.
  static constexpr int priority = [] {
    if constexpr (requires {
                    { C::priority } -> std::convertible_to<int>;
                  })
      return int(C::priority);
    else
      return 0;
  }();
  // A class of TENON_KERNEL needs at least one of them.
  static constexpr bool any_kernel = forward || forward_sparse || backward || backward_sparse;
};

}  // namespace tenon::TENON_SDK::detail
#pragma GCC visibility pop
