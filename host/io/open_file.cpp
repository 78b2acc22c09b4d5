#include "io/open_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "io/system_reason.hpp"

namespace tenon {

static Failure open_failure(const std::filesystem::path& path, int error) {
  const std::filesystem::path folder = path.parent_path();
  std::error_code ignored;
  if (error == ENOENT && !folder.empty() && !std::filesystem::exists(folder, ignored)) {
    return file_failure("read", path, "the folder " + folder.string() + " does not exist");
  }
  return file_failure("read", path, system_reason(error));
}

OpenFile OpenFile::open_any(const std::filesystem::path& path) {
  // Without O_NONBLOCK, opening a pipe would wait for a writer.
  OpenFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.descriptor_ >= 0 && ::fstat(file.descriptor_, &file.status_) != 0)
    ::close(file.release());
  return file;
}

OpenFile OpenFile::for_reading(const std::filesystem::path& path) {
  if (path.empty()) throw file_failure("read", "a file", "its name is empty");
  OpenFile file = open_any(path);
  if (file.descriptor_ < 0) throw open_failure(path, errno);
  if (S_ISDIR(file.status_.st_mode)) throw open_failure(path, EISDIR);
  if (!S_ISREG(file.status_.st_mode))
    throw file_failure("read", path, "it is a pipe or a device, but a file is needed");
  return file;
}

OpenFile& OpenFile::operator=(OpenFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(status_, other.status_);
  return *this;
}

OpenFile::~OpenFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool OpenFile::is_at(const std::filesystem::path& path) const {
  struct stat named {
  }, opened{};
  return lstat(path.c_str(), &named) == 0 && fstat(descriptor_, &opened) == 0 &&
         named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

std::filesystem::path absolute_path(const std::filesystem::path& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path whole = fs::absolute(path, error);
  if (error) return path;
  fs::path normal = whole.lexically_normal();
  const bool is_different_file = fs::exists(whole, error) && !fs::equivalent(whole, normal, error);
  return is_different_file ? whole : normal;
}

}  // namespace tenon
