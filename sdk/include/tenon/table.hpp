// A class as the table of functions that crosses the C boundary.
#pragma once
#include <cstdint>

#include "abi.h"
#include "attributes.hpp"
#include "checks.hpp"
#include "host_error.hpp"
#include "names_of.hpp"
#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::detail {

template <class C>
C* created(const tenon_attribute* attributes, std::uint64_t count) {
  struct Owner {
    C* object;
    ~Owner() { delete object; }
  } owner{new C{}};
  set_attributes(*owner.object, attributes, count, names_of<C>.params);
  owner.object->configure();
  C* const object = owner.object;
  owner.object = nullptr;
  return object;
}

/// The functions behind the table of class C. Each catches whatever the class throws and writes it into the caller's error.
template <class C>
struct Trampolines {
  static std::int32_t create(const tenon_attribute* attributes, std::uint64_t count, void** instance, tenon_error* error) noexcept {
    return guarded(error, [&] { *instance = created<C>(attributes, count); });
  }
  static void destroy(void* instance) noexcept { delete static_cast<C*>(instance); }

  static std::int32_t infer(const void* instance, tenon_infer* io) noexcept {
    return guarded(io->error, [&] {
      Infer wrapped(*io, names_of<C>);
      static_cast<const C*>(instance)->infer(wrapped);
      // An output without a dtype has the shared one: that of a mask or of indices is told before the others are known, and is not its.
      wrapped.share_dtype(first_shared(description_of<C>));
    });
  }
  static std::int32_t infer_storage(const void* instance, tenon_infer_storage* io) noexcept {
    return guarded(io->error, [&] {
      const bool backward = io->dispatch == TENON_BACKWARD;
      if (backward ? !Members<C>::backward_sparse : !Members<C>::forward_sparse) return;
      InferStorage wrapped(*io);
      static_cast<const C*>(instance)->infer_storage(wrapped);
    });
  }
  static std::int32_t workspace(const void* instance, const tenon_infer* io, std::int32_t dispatch, std::uint64_t* bytes) noexcept {
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
  static std::int32_t gradient(const void* instance, tenon_gradient* io) noexcept {
    return guarded(io->error, [&] {
      Gradient wrapped(*io, names_of<C>);
      static_cast<const C*>(instance)->gradient(wrapped);
    });
  }

  static std::int32_t forward(void* instance, const tenon_call* call) noexcept {
    return guarded(call->error, [&] { static_cast<C*>(instance)->forward(Call(*call, names_of<C>)); });
  }
  static std::int32_t forward_sparse(void* instance, const tenon_call* call) noexcept {
    return guarded(call->error, [&] { static_cast<C*>(instance)->forward_sparse(Call(*call, names_of<C>)); });
  }
  static std::int32_t backward(void* instance, const tenon_call* call) noexcept {
    return guarded(call->error, [&] { static_cast<C*>(instance)->backward(Call(*call, names_of<C>)); });
  }
  static std::int32_t backward_sparse(void* instance, const tenon_call* call) noexcept {
    return guarded(call->error, [&] { static_cast<C*>(instance)->backward_sparse(Call(*call, names_of<C>)); });
  }
};

template <class C>
constexpr tenon_operator make_table() {
  using M = Members<C>;
  using T = Trampolines<C>;
  tenon_operator table{};
  table.size = sizeof(tenon_operator);
  table.abi_major = TENON_ABI_MAJOR;
  table.abi_minor = TENON_ABI_MINOR;
  table.traits = M::capturable ? TENON_TRAIT_CAPTURABLE : 0;
  table.create = T::create;
  table.destroy = T::destroy;
  table.infer = T::infer;
  if constexpr (M::infer_storage) table.infer_storage = T::infer_storage;
  if constexpr (M::workspace || M::backward_workspace) table.workspace = T::workspace;
  if constexpr (M::gradient) table.gradient = T::gradient;
  if constexpr (M::forward) table.forward = T::forward;
  if constexpr (M::forward_sparse) table.forward_sparse = T::forward_sparse;
  if constexpr (M::backward) table.backward = T::backward;
  if constexpr (M::backward_sparse) table.backward_sparse = T::backward_sparse;
  return table;
}

template <class C>
[[gnu::visibility("hidden")]] inline constexpr tenon_operator table = make_table<C>();

/// Null for a class with mistakes, which does not compile.
template <class C, class Checked>
const tenon_operator* checked_table() {
  static_assert(Checked::told);
  if constexpr (Checked::good) {
    return &table<C>;
  } else {
    return nullptr;
  }
}

}  // namespace tenon::TENON_SDK::detail

namespace tenon::TENON_SDK {

/// The table of an operator's class, for applications that register a class of their own. It lives as long as the program.
template <class Class>
const tenon_operator* table_of() {
  return detail::checked_table<Completed<Class>, detail::OperatorVerdict<Completed<Class>>>();
}

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop
