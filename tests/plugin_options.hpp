// Options of hosts that load plugins of the build.
#pragma once
#include <tenon/host/host.hpp>

#include "temporary_folder.hpp"

/// Only the plugins that the caller adds, which are trusted, and a cache of its own.
inline tenon::HostOptions plugin_options(const TemporaryFolder& cache) {
  tenon::HostOptions options;
  options.search_defaults = false;
  options.trust_writable = true;
  options.cache = cache.path();
  return options;
}
