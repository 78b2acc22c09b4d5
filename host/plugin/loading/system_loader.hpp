// The system's loader: what its messages mean, and the folders that it searches in addition to
// those that the caller passes.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/plugin_error.hpp"

namespace tenon {

/// Reason for not loading a plugin when file descriptors run out; follows its path.
inline constexpr const char* too_many_files =
    "cannot be loaded: this process has too many open files (ulimit -n); each loaded plugin keeps "
    "one open";

/// `message` is dlerror()'s English text; unknown messages become part of a general sentence.
PluginError explain_loader_message(std::string_view message);

/// Determined by the loader's own output: they depend on its version, its build, the processor and
/// GLIBC_TUNABLES.
struct LoaderRules {
  /// Subfolders searched in each folder, in order, such as "glibc-hwcaps/x86-64-v3"; the last one,
  /// "", is the folder itself.
  std::vector<std::string> subfolders{""};
  /// Values of $LIB and $PLATFORM in run paths, by name; names not listed are not expanded.
  std::map<std::string, std::string> tokens{};

  /// Runs the loader on the first call, in a child process that runs none of the program's code. If
  /// that fails, only the folders themselves are searched and no token is expanded.
  static const LoaderRules& of_this_machine();
};

/// Parses what the loader prints (LD_DEBUG=libs) when it searches `queried_folders`
/// (--library-path).
LoaderRules rules_in(std::string_view debug_text);
// these folders cannot exist
inline constexpr const char* queried_folders = "/dev/null/a:/dev/null/b/$LIB:/dev/null/c/$PLATFORM";

}  // namespace tenon
