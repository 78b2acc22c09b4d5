// System error numbers in plain words, and errors about files.
#pragma once
#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <tenon/host/failure.hpp>

namespace tenon {

/// Returns `the disk is full` for ENOSPC, and so on; the system's message for rare errors.
std::string system_reason(int error);

/// Returns `cannot ACTION PATH: REASON`, of kind file. `action` is a verb: read, write.
Failure file_failure(const char* action, const std::filesystem::path& path,
                     const std::string& reason, std::string hint = {});

/// Returns `cannot write PATH: REASON`, of kind failed: the file may be written, but the system
/// failed to.
Failure write_failure(const std::filesystem::path& path, int error);

/// Throws Failure (file): `PATH: sentence`.
template <class... Args>
[[noreturn]] void refuse_file(const std::filesystem::path& path, fmt::format_string<Args...> text,
                              Args&&... args) {
  throw Failure(FailureKind::file, fmt::format("{}: {}", path.string(),
                                               fmt::format(text, std::forward<Args>(args)...)));
}

}  // namespace tenon
