// The system's error numbers as people say them.
#pragma once
#include <filesystem>
#include <string>
#include <tenon/host/failure.hpp>

namespace tenon {

/// `the disk is full` for ENOSPC, and so on; the system's own words for rare ones.
std::string system_reason(int error);

/// `cannot ACTION PATH: REASON`, of kind file. `action` is a verb: read, write.
Failure file_failure(const char* action, const std::filesystem::path& path, const std::string& reason, std::string hint = {});

/// `cannot write PATH: REASON`, of kind failed: the file may be written, and the system could not.
Failure write_failure(const std::filesystem::path& path, int error);

}  // namespace tenon
