// Information about a plugin: one object in its file, which Tenon reads before it loads the plugin.
// It contains the plugin's name and version for `tenon list`, and the ABI version for the error if
// the plugin needs a newer Tenon.
#pragma once
#include <cstddef>
#include <cstdint>

#include "../abi.h"
#include "../version.hpp"

// The build system may set name and version: -DTENON_PLUGIN_NAME='"vision"'
// -DTENON_PLUGIN_VERSION='"1.2"', as tenon_add_plugin() does. At most 63 and 31 bytes; longer ones
// are truncated. Default: the file's name without extension, and no version.
#ifndef TENON_PLUGIN_NAME
#define TENON_PLUGIN_NAME ""
#endif
#ifndef TENON_PLUGIN_VERSION
#define TENON_PLUGIN_VERSION ""
#endif

// For bug reports.
#if defined(__clang__)
#define TENON_COMPILER "clang " __clang_version__
#else
#define TENON_COMPILER "g++ " __VERSION__
#endif

// clang's AddressSanitizer pads variables, but a manifest's length is its symbol's size; g++'s
// leaves named sections unchanged.
#if defined(__clang__)
#define TENON_EXACT_SIZE no_sanitize("address")
#else
#define TENON_EXACT_SIZE
#endif

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::detail {

/// Evaluated at compile time, so that the bytes are in the file. Unused bytes of the texts are 0.
constexpr tenon_plugin plugin_info() {
  tenon_plugin plugin{};                   // all zero
  plugin.size = sizeof(tenon_plugin);      // a later SDK may append fields
  plugin.abi_major = TENON_ABI_MAJOR;      // Tenon refuses plugins of another major version
  plugin.abi_minor = 0;                    // the lowest minor version that has what this SDK calls
  plugin.sdk_version = TENON_SDK_VERSION;  // informational: any SDK of the same ABI works
  // 0 in plugins without CUDA.
#if defined(CUDART_VERSION)
  plugin.cuda_version = CUDART_VERSION;
#endif
  // Truncates long texts; the last byte stays 0.
  const auto put = [](char* to, std::size_t room, const char* text) {
    for (std::size_t i = 0; i + 1 < room && text[i]; ++i) to[i] = text[i];
  };
  put(plugin.name, sizeof plugin.name, TENON_PLUGIN_NAME);
  put(plugin.version, sizeof plugin.version, TENON_PLUGIN_VERSION);
  put(plugin.compiler, sizeof plugin.compiler, TENON_COMPILER);
  return plugin;
}

}  // namespace tenon::TENON_SDK::detail
#pragma GCC visibility pop

// Weak: every source of a plugin defines it, and one definition remains. Its name is part of the C
// boundary (abi.h), its section is that of the manifests. clang 14 confuses that section with
// another one if this header is precompiled, and rejects TENON_OPERATOR: precompile only with g++,
// or only the other headers of <tenon/operator.hpp>.
extern "C" {
[[gnu::weak, gnu::visibility("default"),
  gnu::section(TENON_MANIFEST_SECTION)]] extern const tenon_plugin tenon_plugin_v1;
__attribute__((used, TENON_EXACT_SIZE)) constinit const tenon_plugin tenon_plugin_v1 =
    tenon::detail::plugin_info();
}
