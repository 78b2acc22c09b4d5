// Converts a class to the table of functions of the C boundary (tenon_operator in abi.h). For the
// SDK, except table_of() at the end, with which applications and tests use a class without a
// plugin.
//
//     function of the table    the class's                      called
//     create, destroy          constructor, parameters,         for each node, on any thread
//                              configure(); destructor
//     infer                    infer()                          on any thread, several at once;
//                                                               null if compose determines types
//     infer_storage            infer_storage()                  the same; null if the class does
//                                                               not define it
//     workspace                workspace(),                     the same; null if it has neither
//                              backward_workspace()
//     supports                 supports()                       the same; null if it has none
//     prepare                  prepare()                        the same; null if it has none
//     flops                    flops(), backward_flops()        the same; null if it has neither
//     query                    algorithm(),                     the same, by "algorithm/1"; null if
//                                                               it has neither
//                              backward_algorithm()
//     gradient                 gradient()                       the same; null if it has none
//     compose                  forward(Compose&)                on any thread, several at once;
//                                                               null if it has none
//     forward, backward        forward(), backward()            by one thread at a time for each
//                                                               object; null if it has none
//     forward_sparse,          forward_sparse(),                the same
//     backward_sparse          backward_sparse()
//
// Functions return 0, or 1 after writing the reason into the caller's tenon_error; exceptions are
// caught here. destroy returns nothing: a destructor that throws ends the process.
//
// Threads: the const functions of one object may run on any number of threads at once, its kernels
// one after the other; kernels of different objects may run at the same time. There are no locks
// here: the host follows these rules.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "abi.h"
#include "attributes.hpp"
#include "detail/checks.hpp"
#include "detail/host_error.hpp"
#include "detail/names_of.hpp"
#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::detail {

/// Creates an object: defaults, then the attributes, then configure(). If any of them throws, no
/// object remains.
template <class C>
C* created(const tenon_attribute* attributes, std::uint64_t count) {
  struct Owner {  // owns the object until it is complete
    C* object;
    ~Owner() { delete object; }
  } owner{new C{}};
  set_attributes(*owner.object, attributes, count, names_of<C>.params);
  owner.object->configure();
  C* const object = owner.object;
  owner.object = nullptr;
  return object;
}

/// The functions of the table of class C. Each catches everything that the class throws and writes
/// it into the caller's error. `instance` is an object from create().
template <class C>
struct Trampolines {
  // *instance is unchanged on failure. Attributes are copied into the object: the caller may free
  // them.
  static std::int32_t create(const tenon_attribute* attributes, std::uint64_t count,
                             void** instance, tenon_error* error) noexcept {
    return guarded(error, [&] { *instance = created<C>(attributes, count); });
  }
  static void destroy(void* instance) noexcept { delete static_cast<C*>(instance); }

  static std::int32_t infer(const void* instance, tenon_infer* io) noexcept {
    return guarded(io->error, [&] {
      Infer wrapped(*io, names_of<C>);
      static_cast<const C*>(instance)->infer(wrapped);
      // An output without a dtype has the shared one: masks and indices set their own dtype before
      // the others are known.
      wrapped.share_dtype(first_shared(description_of<C>));
    });
  }
  // A class without the sparse function of this direction is not called: its storages are dense.
  static std::int32_t infer_storage(const void* instance, tenon_infer_storage* io) noexcept {
    return guarded(io->error, [&] {
      const bool backward = io->dispatch == TENON_BACKWARD;
      if (backward ? !Members<C>::backward_sparse : !Members<C>::forward_sparse) return;
      InferStorage wrapped(*io);
      static_cast<const C*>(instance)->infer_storage(wrapped);
    });
  }
  // 0 bytes if the class has no function for this direction. Sparse and dense kernels share a size.
  // All types are known when the host calls it, and on CUDA the node's device is current.
  static std::int32_t workspace(const void* instance, const tenon_infer* io, std::int32_t dispatch,
                                std::uint64_t* bytes) noexcept {
    return guarded(io->error, [&] {
      *bytes = 0;
      const auto& object = *static_cast<const C*>(instance);
      const Infer wrapped(*io, names_of<C>);
      const bool backward = dispatch == TENON_BACKWARD || dispatch == TENON_BACKWARD_SPARSE;
      if constexpr (Members<C>::workspace)
        if (!backward) *bytes = object.workspace(wrapped);
      if constexpr (Members<C>::backward_workspace)
        if (backward) *bytes = object.backward_workspace(wrapped);
    });
  }
  // 0 if the class has no function for this direction.
  static std::int32_t flops(const void* instance, const tenon_infer* io, std::int32_t dispatch,
                            double* flops) noexcept {
    return guarded(io->error, [&] {
      *flops = 0;
      const auto& object = *static_cast<const C*>(instance);
      const Infer wrapped(*io, names_of<C>);
      const bool backward = dispatch == TENON_BACKWARD || dispatch == TENON_BACKWARD_SPARSE;
      if constexpr (Members<C>::flops)
        if (!backward) *flops = object.flops(wrapped);
      if constexpr (Members<C>::backward_flops)
        if (backward) *flops = object.backward_flops(wrapped);
    });
  }
  // The algorithm of a call and the reason, for plans that people read. "" if the class has no
  // function for this direction. All types and layouts are known when the host calls it, and the
  // class chooses from them as its kernel does. Lines are truncated to the host's buffer; the host
  // replaces unprintable characters. A class that throws here fails the plan that is shown, and no
  // run.
  //     text: a buffer of `capacity` bytes, NUL-terminated afterwards
  static std::int32_t algorithm(const void* instance, const tenon_infer* io, std::int32_t dispatch,
                                char* text, std::uint64_t capacity) noexcept {
    return guarded(io->error, [&] {
      const auto& object = *static_cast<const C*>(instance);
      const Infer wrapped(*io, names_of<C>);
      const bool backward = dispatch == TENON_BACKWARD || dispatch == TENON_BACKWARD_SPARSE;
      std::string line;
      if constexpr (Members<C>::algorithm)
        if (!backward) line = object.algorithm(wrapped);
      if constexpr (Members<C>::backward_algorithm)
        if (backward) line = object.backward_algorithm(wrapped);
      if (capacity > 0) text[line.copy(text, capacity - 1)] = '\0';
    });
  }
  // Optional functions by name and version, so that the table need not grow for each: a host
  // requests those that it knows, and gets null for those that this SDK lacks:
  //
  //     const auto describe = reinterpret_cast<tenon_algorithm>(table->query("algorithm/1"));
  //     if (describe) describe(object, &io, TENON_FORWARD, text, sizeof text);
  static tenon_function query(const char* name) noexcept {
    return std::string_view(name) == "algorithm/1" ? reinterpret_cast<tenon_function>(&algorithm)
                                                   : nullptr;
  }
  // Called once per path through the function's branches.
  static std::int32_t trace(const void* instance, tenon_trace* io) noexcept {
    return guarded(io->error, [&] { static_cast<const C*>(instance)->trace(*io); });
  }
  // Types may be partly unknown. A kernel without the function supports all types; if it throws,
  // the host has no answer, which fails the node.
  static std::int32_t supports(const void* instance, const tenon_infer* types) noexcept {
    bool supported = false;
    const std::int32_t failed = guarded(types->error, [&] {
      supported = static_cast<const C*>(instance)->supports(Infer(*types, names_of<C>));
    });
    return failed ? -1 : supported;
  }
  // Requests packed constants. All types are fully known, and which inputs are constant; several
  // threads may call one object at once. The host calls it for each function of a plan, when it
  // makes the plan and before the plan runs; it fills memory inside io->keep, whose failures are
  // thrown as exceptions and caught here.
  static std::int32_t prepare(const void* instance, tenon_prepare* io) noexcept {
    return guarded(io->error, [&] {
      Prepare wrapped(*io, names_of<C>);
      static_cast<const C*>(instance)->prepare(wrapped);
    });
  }
  // Adds nodes to the host's graph and computes nothing. The host removes the nodes of a gradient()
  // that throws. Names are those of this operator.
  static std::int32_t gradient(const void* instance, tenon_gradient* io) noexcept {
    return guarded(io->error, [&] {
      Gradient wrapped(*io, names_of<C>);
      static_cast<const C*>(instance)->gradient(wrapped);
    });
  }

  // Like gradient(), for a composed operator. Its outputs are values of that graph, which the host
  // plans and runs as part of the user's.
  static std::int32_t compose(const void* instance, tenon_gradient* io) noexcept {
    return guarded(io->error, [&] {
      Compose wrapped(*io, names_of<C>);
      static_cast<const C*>(instance)->forward(wrapped);
    });
  }

  // Kernels. If one throws, the node fails; its outputs and states are then undefined. The object
  // may change if its class's kernel is not const; the host calls one kernel at a time.
  static std::int32_t forward(void* instance, const tenon_call* call) noexcept {
    return guarded(call->error,
                   [&] { static_cast<C*>(instance)->forward(Call(*call, names_of<C>)); });
  }
  static std::int32_t forward_sparse(void* instance, const tenon_call* call) noexcept {
    return guarded(call->error,
                   [&] { static_cast<C*>(instance)->forward_sparse(Call(*call, names_of<C>)); });
  }
  static std::int32_t backward(void* instance, const tenon_call* call) noexcept {
    return guarded(call->error,
                   [&] { static_cast<C*>(instance)->backward(Call(*call, names_of<C>)); });
  }
  static std::int32_t backward_sparse(void* instance, const tenon_call* call) noexcept {
    return guarded(call->error,
                   [&] { static_cast<C*>(instance)->backward_sparse(Call(*call, names_of<C>)); });
  }
};

/// The whole table, at compile time. Functions that the class lacks are null, and the host does
/// without them. No constructor runs when the plugin is loaded.
template <class C>
constexpr tenon_operator make_table() {
  using M = Members<C>;
  using T = Trampolines<C>;
  tenon_operator table{};
  table.size = sizeof(tenon_operator);
  table.abi_major = TENON_ABI_MAJOR;
  table.abi_minor = TENON_ABI_MINOR;
  // Members are set by name: fields that a later version appends are 0.
  table.traits =
      (M::capturable ? TENON_TRAIT_CAPTURABLE : 0) | (M::blockwise ? TENON_TRAIT_BLOCKWISE : 0);
  table.create = T::create;
  table.destroy = T::destroy;
  if constexpr (!M::compose || M::own_infer)
    table.infer = T::infer;  // otherwise compose determines the types
  if constexpr (M::infer_storage) table.infer_storage = T::infer_storage;
  if constexpr (M::workspace || M::backward_workspace) table.workspace = T::workspace;
  if constexpr (M::flops || M::backward_flops) table.flops = T::flops;
  if constexpr (M::algorithm || M::backward_algorithm) table.query = T::query;
  if constexpr (M::trace) table.trace = T::trace;
  if constexpr (M::supports) table.supports = T::supports;
  if constexpr (M::prepare) table.prepare = T::prepare;
  table.priority = M::priority;
  if constexpr (M::gradient) table.gradient = T::gradient;
  if constexpr (M::compose) table.compose = T::compose;
  if constexpr (M::forward) table.forward = T::forward;
  if constexpr (M::forward_sparse) table.forward_sparse = T::forward_sparse;
  if constexpr (M::backward) table.backward = T::backward;
  if constexpr (M::backward_sparse) table.backward_sparse = T::backward_sparse;
  return table;
}

/// One table for each class and plugin; constant, so any number of threads may read it.
template <class C>
[[gnu::visibility("hidden")]] inline constexpr tenon_operator table = make_table<C>();

/// The table, after the class's verdict (checks.hpp); null for a class with faults, which does not
/// compile.
template <class C, class Checked>
const tenon_operator* checked_table() {
  static_assert(Checked::reported);
  if constexpr (Checked::good) {
    return &table<C>;
  } else {
    return nullptr;
  }
}

}  // namespace tenon::TENON_SDK::detail

namespace tenon::TENON_SDK {

/// Returns the table of an operator's class, which together with manifest_of<Class>(name) is all
/// that a host needs to register it. It lives as long as the program, and every call returns the
/// same pointer. A class that TENON_OPERATOR rejects does not compile here either, with the same
/// sentence. Functions that the class lacks are null. Host::add<Class>() and Graph::udf() call it
/// for you:
///
///     char text[256];
///     tenon_error error{sizeof error, TENON_ERROR_FAILED, 0, text, sizeof text};
///     const tenon_operator* table = tenon::table_of<Cosine>();
///     void* object = nullptr;
///     // no attributes: all defaults
///     if (table->create(nullptr, 0, &object, &error) != 0) throw std::runtime_error(text);
///     table->destroy(object);
template <class Class>
const tenon_operator* table_of() {
  return detail::checked_table<Completed<Class>, detail::OperatorVerdict<Completed<Class>>>();
}

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop
