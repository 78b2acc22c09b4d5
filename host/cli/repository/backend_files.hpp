// What a model's folder needs besides the graph: the backend, the library and its programs, plugins and the libraries that they bring
// along.
#pragma once
#include <filesystem>
#include <tenon/host/graph.hpp>
#include <tenon/host/session.hpp>
#include <vector>

namespace tenon::cli {

struct FileCopy {
  std::filesystem::path from;
  std::filesystem::path to;  ///< in the version's folder
  bool runs = false;         ///< a program
};

/// Of this installation: the backend, its programs, and all of Tenon's own plugins for the CPU. Throws Failure (file) where one is missing.
std::vector<FileCopy> backend_files(const Catalog& catalog);

struct PluginCopies {
  std::vector<FileCopy> plugins, companions;
};

/// The other plugins that the graph names, those that a session of it has loaded in their place, and libraries that lie beside or below one
/// and were loaded with it. Throws Failure (plugin) where two have one file name.
PluginCopies plugin_files(const Graph& graph);

}  // namespace tenon::cli
