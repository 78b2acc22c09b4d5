// TENON_OPERATOR and TENON_KERNEL: what a plugin exports.
//
//     TENON_OPERATOR(cosine, Cosine)          // cosine.cpp: the operator with its CPU kernel
//     TENON_KERNEL(cosine, cuda, CosineCuda)  // cosine.cu, of this plugin or another one: its CUDA kernel
//
// A plugin may have any number of both, in any number of sources. Tenon reads the manifests from the file and calls the functions below
// only when a graph uses the operator.
#pragma once
#include <string_view>
#include <type_traits>

#include "abi.h"
#include "fn.hpp"
#include "manifest.hpp"
#include "plugin_info.hpp"
#include "table.hpp"
#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK {

/// The devices that TENON_KERNEL(name, device, Class) knows; these are tags, not types of objects. Another word does not compile.
struct cpu {};
struct cuda {};

/// The class of the CUDA kernel that comes with an operator's class in sources compiled for CUDA; void: none. elementwise.hpp gives its
/// own.
template <class Class>
struct cuda_kernel {
  using type = void;
};

namespace detail {

// The type depends on the manifest's size.
template <class Class, class Name>
using ManifestOf = decltype(manifest_bytes<Completed<Class>, Name>());

// Null for void: this source has no CUDA kernel for the operator.
template <class Kernel>
const tenon_operator* kernel_table() {
  return checked_table<Completed<Kernel>, KernelVerdict<Completed<Kernel>>>();
}
template <>
inline const tenon_operator* kernel_table<void>() {
  return nullptr;
}

}  // namespace detail
}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop

// In CUDA sources an operator's class may bring its CUDA kernel along. Whether it does is known only to templates, but a symbol is exported
// or not whatever they say. So the function is inline, which the compiler leaves out unless something names it, and the operator's own
// function names it where there is a kernel.
#if defined(TENON_CUDA_SOURCE)
#define TENON_DECLARE_CUDA(name, Class)                                                                                \
  __attribute__((visibility("default"))) inline const tenon_operator* tenon_cuda_of_##name(const tenon_host*) __asm__( \
      TENON_KERNEL_SYMBOL_PREFIX "cuda__" #name);                                                                      \
  inline const tenon_operator* tenon_cuda_of_##name(const tenon_host*) {                                               \
    return ::tenon::detail::kernel_table<typename ::tenon::cuda_kernel<Class>::type>();                                \
  }
#define TENON_KEEP_CUDA(name, Class)                                                                                         \
  [](auto* kernel) {                                                                                                         \
    if constexpr (!std::is_void_v<std::remove_pointer_t<decltype(kernel)>>) asm volatile("" : : "r"(&tenon_cuda_of_##name)); \
  }(static_cast<typename ::tenon::cuda_kernel<Class>::type*>(nullptr));
#else
#define TENON_DECLARE_CUDA(name, Class)
#define TENON_KEEP_CUDA(name, Class)
#endif

/// Registers an operator under a name. Write it outside of namespaces, once per operator and plugin.
///
/// name: an identifier, without quotes, lower case by convention; no other plugin in the user's folders may use it for another operator.
/// Class: derives from tenon::Operator or tenon::Elementwise; it may be in a namespace, and a template's instance by an alias. If the class
/// has a fault, the first error of the compiler is one sentence from checks.hpp.
///
/// The plugin gets the symbols tenon_op_v1__NAME, the manifest, and tenon_get_v1__NAME, a function that returns the table. Nothing runs
/// when the plugin is loaded: there are no static constructors.
#define TENON_OPERATOR(name, Class)                                                                                      \
  static_assert(::tenon::detail::OperatorVerdict<::tenon::Completed<Class>>::told);                                      \
  namespace {                                                                                                            \
  struct tenon_name_of_##name {                                                                                          \
    static constexpr std::string_view text() { return #name; }                                                           \
  };                                                                                                                     \
  }                                                                                                                      \
  TENON_DECLARE_CUDA(name, Class)                                                                                        \
  extern "C" {                                                                                                           \
  __attribute__((visibility("default"),                                                                                  \
                 section(TENON_MANIFEST_SECTION))) extern const ::tenon::detail::ManifestOf<Class, tenon_name_of_##name> \
      tenon_op_v1__##name;                                                                                               \
  __attribute__((used)) constinit const ::tenon::detail::ManifestOf<Class, tenon_name_of_##name> tenon_op_v1__##name =   \
      ::tenon::detail::manifest_bytes<::tenon::Completed<Class>, tenon_name_of_##name>();                                \
  __attribute__((used, visibility("default"))) const tenon_operator* tenon_get_v1__##name(const tenon_host*) {           \
    TENON_KEEP_CUDA(name, Class)                                                                                         \
    return ::tenon::table_of<Class>();                                                                                   \
  }                                                                                                                      \
  }

/// Registers a kernel for the operator of this name, whichever plugin has the operator. device is cpu or cuda. Class derives from the
/// operator's class, whose header both sources include, and defines forward, backward or their sparse versions again. Unlike the operator's
/// own class it may have members of any type, such as handles and buffers, and non-const kernels that change them: one thread at a time
/// uses an object, and each node has its own. For cpu the operator calls op.kernels_elsewhere() in describe(). The plugin gets the symbol
/// tenon_kernel_v1__DEVICE__NAME.
#define TENON_KERNEL(name, device, Class)                                                                                                \
  static_assert(!std::is_void_v<::tenon::device>);                                                                                       \
  extern "C" __attribute__((used, visibility("default"))) const tenon_operator* tenon_kernel_v1__##device##__##name(const tenon_host*) { \
    return ::tenon::detail::kernel_table<Class>();                                                                                       \
  }
