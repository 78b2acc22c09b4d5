// Normalization of user-provided paths, for display and comparison.
#pragma once
#include <filesystem>

namespace tenon {

/// Returns the path as absolute, without `.` and `..`, unless a symbolic link before a `..` would
/// make that a different file.
std::filesystem::path absolute_path(const std::filesystem::path& path);

}  // namespace tenon
