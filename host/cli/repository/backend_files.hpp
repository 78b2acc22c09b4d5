// Files that a model's folder needs in addition to the graph: the backend, the library and its
// programs, plugins and the libraries bundled with them.
#pragma once
#include <filesystem>
#include <tenon/host/graph.hpp>
#include <tenon/host/session.hpp>
#include <vector>

namespace tenon::cli {

struct FileCopy {
  std::filesystem::path from;
  std::filesystem::path to;  ///< relative to the version's folder
  bool executable = false;
};

/// Returns this installation's backend, its programs, and Tenon's own CPU plugins. Throws Failure
/// (file) if one is missing.
std::vector<FileCopy> backend_files(const Catalog& catalog);

struct PluginCopies {
  std::vector<FileCopy> plugins, companions;
};

/// Returns the other plugins that the graph names, those that its sessions loaded instead, and
/// libraries in or below a plugin's folder that were loaded with it. Throws Failure (plugin) if two
/// have the same file name.
PluginCopies plugin_files(const Graph& graph);

}  // namespace tenon::cli
