// Paths that users give, as everything else shows and compares them.
#pragma once
#include <filesystem>

namespace tenon {

/// Absolute, and without `.` and `..`, unless a symbolic link ahead of a `..` makes that the path of something else.
std::filesystem::path absolute_path(const std::filesystem::path& path);

}  // namespace tenon
