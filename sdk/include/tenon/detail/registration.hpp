// TENON_OPERATOR and TENON_KERNEL: the exports of a plugin.
//
//     TENON_OPERATOR(cosine, Cosine)          // cosine.cpp: the operator with its CPU kernel
//     // cosine.cu, of the same or another plugin: its CUDA kernel
//     TENON_KERNEL(cosine, cuda, CosineCuda)
//
// A plugin may have any number of both, in any number of sources. Tenon reads the manifests from
// the file and calls the functions below only when a graph uses the operator.
#pragma once
#include <cstddef>
#include <string_view>
#include <type_traits>

#include "../abi.h"
#include "../fn.hpp"
#include "../table.hpp"
#include "../version.hpp"
#include "manifest.hpp"
#include "plugin_info.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK {

/// The device tags of TENON_KERNEL(name, device, Class), which are never instantiated. Other names
/// do not compile.
struct cpu {};
struct cuda {};

/// The class of the CUDA kernel that is derived from an operator's class in sources compiled for
/// CUDA; void if there is none. elementwise.hpp specializes it.
template <class Class>
struct cuda_kernel {
  using type = void;
};

namespace detail {

// The type depends on the manifest's size.
template <class Class, class Name>
using ManifestOf = decltype(manifest_bytes<Completed<Class>, Name>());

/// A literal as a template argument: Registered<"cosine">.
template <std::size_t size>
struct Literally {
  constexpr Literally(const char (&text)[size]) {
    for (std::size_t i = 0; i < size; ++i) letters[i] = text[i];
  }
  char letters[size];
};
/// The registrations of this source: TENON_OPERATOR and TENON_KERNEL define it for their names, so
/// that a repeated name is a redefinition.
template <Literally name>
struct Registered;

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

// Names remain texts down to the symbols, which are set by asm labels: an invalid name then breaks
// no token, and the sentence about it is the only error. The C++ names of the symbols end in a
// number.

/// The error about an invalid name.
#define TENON_CHECK_NAME(name)                                                                     \
  static_assert(::tenon::detail::is_operator_name(name),                                           \
                "an operator's name has letters, digits and underscores, no digit first, at most " \
                "128 in all, and no quotes around it")

// In CUDA sources an operator's class may bring its CUDA kernel. Whether it does is known only to
// templates, but a symbol is exported or not regardless. So the function is inline, which the
// compiler omits unless it is referenced, and the operator's own function references it if there is
// a kernel.
#if defined(TENON_CUDA_SOURCE)
#define TENON_DECLARE_CUDA(name, Class, number)                                               \
  __attribute__((visibility("default"))) inline const tenon_operator* tenon_cuda_of_##number( \
      const tenon_host*) __asm__(TENON_KERNEL_SYMBOL_PREFIX "cuda__" name);                   \
  inline const tenon_operator* tenon_cuda_of_##number(const tenon_host*) {                    \
    return ::tenon::detail::kernel_table<typename ::tenon::cuda_kernel<Class>::type>();       \
  }
#define TENON_KEEP_CUDA(Class, number)                                      \
  [](auto* kernel) {                                                        \
    if constexpr (!std::is_void_v<std::remove_pointer_t<decltype(kernel)>>) \
      asm volatile("" : : "r"(&tenon_cuda_of_##number));                    \
  }(static_cast<typename ::tenon::cuda_kernel<Class>::type*>(nullptr));
#else
#define TENON_DECLARE_CUDA(name, Class, number)
#define TENON_KEEP_CUDA(Class, number)
#endif

/// Registers an operator under a name. Use it outside of namespaces, once per operator and plugin.
///
/// name: letters, digits and underscores, no digit first, at most 128; without quotes, lower case
/// by convention. Other plugins may use the same name for other operators: the full name is
/// prefixed with the operator's space (op.space) or the plugin's name.
///
/// Class: derives from tenon::Operator or tenon::Elementwise. It may be in a namespace; use an
/// alias for an instance of a template. If the class has a fault, the compiler's first error is a
/// sentence from checks.hpp.
///
/// Example, two operators of one class template:
///
///     using PlusTwo = Plus<2>;
///     using PlusTen = Plus<10>;
///     TENON_OPERATOR(plus_two, PlusTwo)
///     TENON_OPERATOR(plus_ten, PlusTen)
///
/// The plugin gets the symbols tenon_op_v1__NAME, the manifest, and tenon_get_v1__NAME, a function
/// that returns the table. No code runs when the plugin is loaded: there are no static
/// constructors.
#define TENON_OPERATOR(name, Class) TENON_REGISTER_OPERATOR(#name, Class, __COUNTER__)
#define TENON_REGISTER_OPERATOR(name, Class, number) TENON_OPERATOR_SYMBOLS(name, Class, number)
#define TENON_OPERATOR_SYMBOLS(name, Class, number)                                              \
  TENON_CHECK_NAME(name);                                                                        \
  static_assert(::tenon::detail::OperatorVerdict<::tenon::Completed<Class>>::reported);          \
  template <>                                                                                    \
  struct tenon::detail::Registered<name> {                                                       \
    static constexpr std::string_view text() { return name; }                                    \
  };                                                                                             \
  TENON_DECLARE_CUDA(name, Class, number)                                                        \
  extern "C" {                                                                                   \
  __attribute__((visibility("default"), section(TENON_MANIFEST_SECTION))) extern const ::tenon:: \
      detail::ManifestOf<Class, ::tenon::detail::Registered<name>>                               \
          tenon_manifest_##number __asm__(TENON_MANIFEST_SYMBOL_PREFIX name);                    \
  __attribute__((used, TENON_EXACT_SIZE)) constinit const ::tenon::detail::ManifestOf<           \
      Class, ::tenon::detail::Registered<name>>                                                  \
      tenon_manifest_##number =                                                                  \
          ::tenon::detail::manifest_bytes<::tenon::Completed<Class>,                             \
                                          ::tenon::detail::Registered<name>>();                  \
  __attribute__((used, visibility("default"))) const tenon_operator* tenon_get_##number(         \
      const tenon_host*) __asm__(TENON_GET_SYMBOL_PREFIX name);                                  \
  const tenon_operator* tenon_get_##number(const tenon_host*) {                                  \
    TENON_KEEP_CUDA(Class, number)                                                               \
    return ::tenon::table_of<Class>();                                                           \
  }                                                                                              \
  }

/// Registers a kernel for the operator of this name, which may be in another plugin. device is cpu
/// or cuda. Class derives from the operator's class, whose header both sources include, and
/// redefines forward, backward or their sparse versions. Unlike the operator's own class it may
/// have members of any type, such as handles and buffers, and non-const kernels that change them:
/// an object is used by one thread at a time, and each node has its own. For cpu the operator calls
/// op.kernels_elsewhere() in describe(). The plugin gets the symbol tenon_kernel_v1__DEVICE__NAME.
#define TENON_KERNEL(name, device, Class) TENON_KERNEL_OF(#device "__" #name, #name, device, Class)

/// Like TENON_KERNEL, for the operator space.name, if several spaces have one of that name:
/// TENON_KERNEL_IN(acme, rope, cuda, AcmeRopeCuda). Tenon's own operators have the space tenon. The
/// symbol is tenon_kernel_v1__DEVICE__SPACE__NAME.
#define TENON_KERNEL_IN(space, name, device, Class) \
  TENON_KERNEL_OF(#device "__" #space "__" #name, #space "__" #name, device, Class)

/// Registers an additional kernel for the operator of this name and device, for some dtypes, sizes
/// or machines. Any number of them may exist, in any plugins. Class declares with supports() which
/// types it supports, and with a priority above 0 that it is preferred to the general kernel; write
/// its name without a namespace. Tenon calls supports() with partly known types when a session is
/// made, and with fully known types in plans and calls. It may also depend on the machine:
///
///     struct MatmulAvx512 : Matmul {
///       static constexpr int priority = 10;
///       bool supports(const tenon::Infer& types) const {
///         return types.input("left").dtype == tenon::f32 && __builtin_cpu_supports("avx512f");
///       }
///       void forward(const tenon::Call& call) const;
///     };
///     TENON_KERNEL_VARIANT(matmul, cpu, MatmulAvx512)
///
/// Nodes that are differentiated use kernels with backward. Tenon 0.1 ignores variants; isolated
/// operators and plugins do not use them.
#define TENON_KERNEL_VARIANT(name, device, Class) \
  TENON_VARIANT_OF(#device "__" #name "__" #Class, #name, device, Class)

/// Like TENON_KERNEL_VARIANT, for the operator space.name.
#define TENON_KERNEL_VARIANT_IN(space, name, device, Class) \
  TENON_VARIANT_OF(#device "__" #space "__" #name "__" #Class, #space "__" #name, device, Class)

#define TENON_VARIANT_OF(symbol, name, device, Class)                \
  static_assert(::tenon::detail::is_operator_name(#Class),           \
                "write the class of a variant without a namespace"); \
  TENON_KERNEL_BY(TENON_VARIANT_SYMBOL_PREFIX, symbol, name, device, Class)
#define TENON_KERNEL_OF(symbol, name, device, Class) \
  TENON_KERNEL_BY(TENON_KERNEL_SYMBOL_PREFIX, symbol, name, device, Class)

#define TENON_KERNEL_BY(prefix, symbol, name, device, Class) \
  static_assert(!std::is_void_v<::tenon::device>);           \
  TENON_CHECK_NAME(name);                                    \
  template <>                                                \
  struct tenon::detail::Registered<symbol> {};               \
  TENON_REGISTER_KERNEL(prefix symbol, Class, __COUNTER__)
#define TENON_REGISTER_KERNEL(symbol, Class, number) TENON_KERNEL_SYMBOL(symbol, Class, number)
#define TENON_KERNEL_SYMBOL(symbol, Class, number)                                \
  extern "C" {                                                                    \
  __attribute__((used, visibility("default")))                                    \
  const tenon_operator* tenon_kernel_##number(const tenon_host*) __asm__(symbol); \
  const tenon_operator* tenon_kernel_##number(const tenon_host*) {                \
    return ::tenon::detail::kernel_table<Class>();                                \
  }                                                                               \
  }
