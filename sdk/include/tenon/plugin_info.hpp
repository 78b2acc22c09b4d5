// What a plugin says about itself: one object in its file, read without running a thing.
#pragma once
#include <cstddef>
#include <cstdint>

#include "abi.h"
#include "version.hpp"

// The build system may name the plugin; tenon_add_plugin() does. Without a name it is the file's.
#ifndef TENON_PLUGIN_NAME
#define TENON_PLUGIN_NAME ""
#endif
#ifndef TENON_PLUGIN_VERSION
#define TENON_PLUGIN_VERSION ""
#endif

#if defined(__clang__)
#define TENON_COMPILER "clang " __clang_version__
#else
#define TENON_COMPILER "g++ " __VERSION__
#endif

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::detail {

constexpr tenon_plugin plugin_info() {
  tenon_plugin plugin{};
  plugin.size = sizeof(tenon_plugin);
  plugin.abi_major = TENON_ABI_MAJOR;
  plugin.abi_minor = 0;  // the lowest minor that has what this SDK calls
  plugin.sdk_version = TENON_SDK_VERSION;
#if defined(CUDART_VERSION)
  plugin.cuda_version = CUDART_VERSION;
#endif
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

// Weak: every source of a plugin brings it, one stays.
extern "C" {
[[gnu::weak, gnu::visibility("default"), gnu::section(TENON_MANIFEST_SECTION)]] extern const tenon_plugin tenon_plugin_v1;
[[gnu::used]] constinit const tenon_plugin tenon_plugin_v1 = tenon::detail::plugin_info();
}
