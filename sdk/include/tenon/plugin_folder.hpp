// Files next to a plugin: tables, weights, helper programs.
//
//     const auto table = tenon::plugin_folder() / "table.bin";
//
// Tenon loads a plugin from a private copy of its file, so /proc/self/maps does not show where the
// file is. dladdr() reports the original path, too, once the plugin is loaded: not in constructors
// of global objects. An isolated plugin cannot open files.
#pragma once
#include <dlfcn.h>

#include <filesystem>
#include <system_error>

#include "error.hpp"
#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK {

/// Returns the absolute folder of the file that contains this code, through the path that the user
/// specified: the plugin's folder, or for an operator of the application the program's. Throws
/// Error if the plugin was loaded by a Tenon that does not report the path. Thread-safe.
inline std::filesystem::path plugin_folder() {
  static constexpr char here = 0;  // an address in this plugin
  Dl_info info{};
  const bool found = dladdr(&here, &info) != 0 && info.dli_fname != nullptr;
  std::filesystem::path path = found ? info.dli_fname : "";
  std::error_code error;
  if (found && !path.is_absolute()) path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!path.is_absolute() || path.native().compare(0, 6, "/proc/") == 0)
    throw Error(
        "the plugin's folder is unknown: the host that loaded it does not report it; update Tenon");
  return path.parent_path();
}

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop
