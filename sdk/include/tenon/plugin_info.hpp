// What a plugin says about itself: one object in its file, which Tenon reads before it loads the plugin. From it come the plugin's name and
// version in `tenon list`, and the error for plugins that need a newer Tenon.
#pragma once
#include <cstddef>
#include <cstdint>

#include "abi.h"
#include "version.hpp"

// The build system may name the plugin: -DTENON_PLUGIN_NAME='"vision"' -DTENON_PLUGIN_VERSION='"1.2"'. tenon_add_plugin() does. At most 63
// and 31 bytes; longer ones are cut. Default: the file's name without extension, and no version.
#ifndef TENON_PLUGIN_NAME
#define TENON_PLUGIN_NAME ""
#endif
#ifndef TENON_PLUGIN_VERSION
#define TENON_PLUGIN_VERSION ""
#endif

// For people who read a bug report.
#if defined(__clang__)
#define TENON_COMPILER "clang " __clang_version__
#else
#define TENON_COMPILER "g++ " __VERSION__
#endif

// clang's AddressSanitizer lengthens variables, but a manifest is as long as its symbol; g++'s leaves named sections alone.
#if defined(__clang__)
#define TENON_EXACT_SIZE no_sanitize("address")
#else
#define TENON_EXACT_SIZE
#endif

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::detail {

/// Filled in at compile time, so that the bytes are in the file. Unused bytes of the texts are 0.
constexpr tenon_plugin plugin_info() {
  tenon_plugin plugin{};                   // all zero
  plugin.size = sizeof(tenon_plugin);      // a later SDK may append fields
  plugin.abi_major = TENON_ABI_MAJOR;      // another major version is another boundary: Tenon refuses the plugin
  plugin.abi_minor = 0;                    // the lowest minor that has what this SDK calls
  plugin.sdk_version = TENON_SDK_VERSION;  // for people: any SDK of the same ABI works
  // 0 in plugins without CUDA.
#if defined(CUDART_VERSION)
  plugin.cuda_version = CUDART_VERSION;
#endif
  // Cuts long texts; the last byte stays 0.
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

// Weak: every source of a plugin brings it, one stays. Its name is part of the C boundary (abi.h), its section that of the manifests.
// clang 14 takes that section for another's where this header is precompiled, and refuses TENON_OPERATOR: precompile with g++ alone, or the
// other headers of <tenon/operator.hpp>.
extern "C" {
[[gnu::weak, gnu::visibility("default"), gnu::section(TENON_MANIFEST_SECTION)]] extern const tenon_plugin tenon_plugin_v1;
__attribute__((used, TENON_EXACT_SIZE)) constinit const tenon_plugin tenon_plugin_v1 = tenon::detail::plugin_info();
}
