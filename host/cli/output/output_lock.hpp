// Two trainings never write the same file.
#pragma once
#include <filesystem>

#include "io/open_file.hpp"

namespace tenon::cli {

/// FILE.lock for a FILE, with links followed.
std::filesystem::path lock_path(const std::filesystem::path& output);

/// Holds lock_path() for a file that this process is going to write again and again. The kernel releases the lock when the process ends,
/// however it ends; a lock file that a kill left behind keeps nobody out, and the next one to take it removes it in the end.
class OutputLock {
 public:
  /// Throws Failure (file) where another process holds it, and where something else is there, but for an empty file. Where the file system
  /// has no locks, it says so on stderr and holds nothing.
  explicit OutputLock(const std::filesystem::path& output);
  ~OutputLock();
  OutputLock(OutputLock&&) noexcept = default;
  OutputLock& operator=(OutputLock&&) = delete;

 private:
  bool take(const std::filesystem::path& output);

  std::filesystem::path path_;
  OpenFile file_{-1};  // no descriptor: nothing is held
};

}  // namespace tenon::cli
