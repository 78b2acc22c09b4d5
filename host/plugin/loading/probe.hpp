// Loads a plugin in a child process first, and tells what became of it.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace tenon {

struct ProbeOptions {
  std::filesystem::path program;  ///< tenon-probe
  int timeout_ms = 10000;
};

/// `library` is open for reading and stays so; `symbols` are the functions that return tables. Returns where all is well. Throws
/// PluginError: unresolved symbol, not loadable, broken manifest (a table is wrong), crashed, hung; and Failure where the program cannot be
/// started.
void probe_library(int library, const std::vector<std::string>& symbols, const ProbeOptions& options);

}  // namespace tenon
