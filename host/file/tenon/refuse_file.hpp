// Throws the errors of the file readers.
#pragma once
#include <fmt/format.h>

#include <filesystem>
#include <tenon/host/failure.hpp>

namespace tenon {

/// Throws Failure (file): `PATH: sentence`.
template <class... Args>
[[noreturn]] void refuse_file(const std::filesystem::path& path, fmt::format_string<Args...> text,
                              Args&&... args) {
  throw Failure(FailureKind::file, fmt::format("{}: {}", path.string(),
                                               fmt::format(text, std::forward<Args>(args)...)));
}

}  // namespace tenon
