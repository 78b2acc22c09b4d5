// Where the build folder is that this program lies in.
#pragma once
#include <filesystem>
#include <string>

/// A place in it: `plugins`. Programs for GPUs may run on another machine than built them, from another folder.
inline std::string built(const std::string& place) {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / place).string();
}
