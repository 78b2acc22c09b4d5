// Arbitrary bytes as a file that exists only in memory.
#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <stdexcept>
#include <string>

class FileOf {
 public:
  FileOf(const std::uint8_t* bytes, std::size_t size)
      : descriptor_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    if (descriptor_ < 0 || ::write(descriptor_, bytes, size) != static_cast<ssize_t>(size))
      throw std::runtime_error("the system gives no file in memory");
  }
  ~FileOf() { ::close(descriptor_); }
  FileOf(const FileOf&) = delete;
  FileOf& operator=(const FileOf&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};
