// Limits the memory of this process for the lifetime of the object.
#pragma once
#include <sys/resource.h>

#include <cstdint>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>

/// Sanitizers hold shadow and freed memory that counts as the process's, so a limit is meaningless.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool memory_can_be_limited = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
inline constexpr bool memory_can_be_limited = false;
#else
inline constexpr bool memory_can_be_limited = true;
#endif
#else
inline constexpr bool memory_can_be_limited = true;
#endif

class MemoryLimit {
 public:
  /// The process may use `more` bytes in addition to its current use.
  explicit MemoryLimit(std::int64_t more) {
    if (::getrlimit(RLIMIT_DATA, &before_) != 0)
      throw std::runtime_error("the test cannot ask for the limit of memory");
    rlimit limit = before_;
    limit.rlim_cur = static_cast<rlim_t>(used() + more);
    if (::setrlimit(RLIMIT_DATA, &limit) != 0)
      throw std::runtime_error("the test cannot limit its memory");
  }
  ~MemoryLimit() { ::setrlimit(RLIMIT_DATA, &before_); }
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

  /// Bytes of private writable memory, touched or not: what RLIMIT_DATA counts.
  static std::int64_t used() {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;
         status.ignore(std::numeric_limits<std::streamsize>::max(), '\n')) {
      std::int64_t kilobytes = 0;
      if (word == "VmData:" && status >> kilobytes) return kilobytes * 1024;
    }
    throw std::runtime_error("/proc/self/status tells no VmData");
  }

 private:
  rlimit before_{};
};
