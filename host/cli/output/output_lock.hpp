// Keeps two trainings from writing the same file.
#pragma once
#include <filesystem>

#include "io/open_file.hpp"

namespace tenon::cli {

/// Returns FILE.lock for FILE after following links.
std::filesystem::path lock_path(const std::filesystem::path& output);

/// Holds lock_path() for a file that this process rewrites repeatedly. The kernel releases the lock
/// however the process ends; a lock file left behind by a kill locks nothing, and the next holder
/// removes it when done.
class OutputLock {
 public:
  /// Throws Failure (file) if another process holds the lock, or if the path exists and is neither
  /// a lock file nor empty. If the file system does not support locks, prints a note to stderr and
  /// holds none.
  explicit OutputLock(const std::filesystem::path& output);
  ~OutputLock();
  OutputLock(OutputLock&&) noexcept = default;
  OutputLock& operator=(OutputLock&&) = delete;

 private:
  bool take(const std::filesystem::path& output);

  std::filesystem::path path_;
  OpenFile file_{-1};  // no descriptor: no lock is held
};

}  // namespace tenon::cli
