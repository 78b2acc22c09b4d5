// Loads a plugin in a child process first and reports the outcome.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace tenon {

struct ProbeOptions {
  std::filesystem::path program;  ///< path of tenon-probe
  int timeout_ms = 10000;
};

/// Tries a library. `library` is open for reading and stays open; `symbols` are the functions that
/// return tables. Returns if everything is fine. Throws PluginError: unresolved symbol, not
/// loadable, broken manifest (a table is broken), crashed, hung; and Failure if the program cannot
/// be started.
void probe_library(int library, const std::vector<std::string>& symbols,
                   const ProbeOptions& options);

}  // namespace tenon
