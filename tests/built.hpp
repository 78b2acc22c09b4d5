// Finds the build folder of the running program.
#pragma once
#include <filesystem>
#include <string>

/// Returns a path in the build folder, such as `plugins`. GPU programs may run on another machine,
/// from another folder, than they were built in.
inline std::string built(const std::string& place) {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / place)
      .string();
}
