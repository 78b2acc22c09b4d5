// A model's version as a folder, and how it is opened: as the server does, and as `tenon triton` does before the folder gets its name.
#pragma once
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tenon/host/graph.hpp>
#include <tenon/host/host.hpp>

namespace tenon::serve {

// In a version's folder.
inline constexpr const char* model_file = "model.tenon";
inline constexpr const char* plugins_folder = "plugins";       ///< but for Tenon's own, nothing is loaded but what lies here
inline constexpr const char* hashes_file = "trusted_plugins";  ///< and has one of these SHA-256
inline constexpr const char* backend_file = "libtriton_tenon.so";
inline constexpr const char* installation_folder = "tenon";  ///< of the backend: its programs, and plugins/ with those of Tenon

/// Parameters of a model's config.pbtxt, texts by name.
using Parameters = std::map<std::string, std::string>;

/// What they say of a host: `threads`; `isolate`, which is true, false, or plugins with commas between; `isolate_timeout` in seconds;
/// `isolate_memory` in bytes; `trust_writable`. Throws Failure (usage) for others, and for what they cannot be.
HostOptions host_options(const Parameters& parameters);

struct OpenModel {
  std::shared_ptr<Host> host;
  Graph graph;
};

/// A folder without plugins_folder, which somebody made by hand, is opened with plugins that are installed or in TENON_PLUGIN_PATH. Throws
/// Failure.
OpenModel open_model(const std::filesystem::path& version, HostOptions options);

}  // namespace tenon::serve
