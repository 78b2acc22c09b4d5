// Hosts for tests with tensors on a GPU, or a simulated one.
#pragma once
#include <doctest/doctest.h>

#include <tenon/host/host.hpp>
#include <tenon/host/udf.hpp>

#include "built.hpp"
#include "device/devices.hpp"

/// Whether this machine has a GPU, real or simulated; prints why the test is skipped if it has
/// none.
inline bool has_gpu() {
  if (tenon::devices().size() > 1) return true;
  MESSAGE("skipped: it needs a GPU, or a build with TENON_CUDA=SIMULATED");
  return false;
}

/// A host with the bundled plugins and the test's own operators that is never destroyed; null if
/// there is no GPU. CUDA is initialized before any plugin is loaded.
template <bool strict_storage, class... Operators>
tenon::Host* host_with_gpu() {
  if (!has_gpu()) return nullptr;
  static tenon::Host& host = *[] {
    tenon::HostOptions options;
    options.trust_writable = true;
    options.search_defaults = false;
    options.strict_storage = strict_storage;
    if (!strict_storage) options.warn = [](const std::string&) {};
    auto* made = new tenon::Host(options);
    made->add_plugins(built("plugins"));
    (made->add<Operators>(), ...);
    return made;
  }();
  return &host;
}
