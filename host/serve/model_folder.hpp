// The folder of a model's version, how the server and `tenon triton` (before it gives the folder
// its final name) open it, and the model's config.pbtxt, in protobuf's text format.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tenon/host/graph.hpp>
#include <tenon/host/host.hpp>

#include "serve/signature.hpp"

namespace tenon::serve {

// Inside a version's folder.
inline constexpr const char* model_file = "model.tenon";
inline constexpr const char* plugins_folder =
    "plugins";  ///< apart from the bundled plugins, only plugins in this folder are loaded
inline constexpr const char* hashes_file =
    "trusted_plugins";  ///< and only if their SHA-256 is listed in this file
inline constexpr const char* backend_file = "libtriton_tenon.so";
inline constexpr const char* installation_folder =
    "tenon";  ///< the backend's folder: its programs, and plugins/ with the bundled plugins

/// Parameters in a model's config.pbtxt, as texts by name.
using Parameters = std::map<std::string, std::string>;

/// The host options of the parameters `threads`; `isolate`, which is true, false, or plugin names
/// separated by commas; `isolate_timeout` in seconds; `isolate_memory` in bytes; `trust_writable`.
/// Throws Failure (usage) for unknown parameters and invalid values.
HostOptions host_options(const Parameters& parameters);

struct OpenModel {
  std::shared_ptr<Host> host;
  Graph graph;
};

/// A folder without plugins_folder, which was made by hand, is opened with the installed plugins
/// and those in TENON_PLUGIN_PATH. Throws Failure.
OpenModel open_model(const std::filesystem::path& version, HostOptions options);

struct ConfigChoices {
  std::string name;
  std::int64_t max_batch = 0;  ///< maximum rows of a run; 0: no batching
  int instances = 1;
  Parameters parameters;
};

std::string config_text(const ConfigChoices& choices, const Signature& signature);

}  // namespace tenon::serve
