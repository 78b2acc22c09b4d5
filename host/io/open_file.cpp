#include "io/open_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
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

OpenFile OpenFile::for_reading(const std::filesystem::path& path) {
  if (path.empty()) throw file_failure("read", "a file", "its name is empty");
  // Without O_NONBLOCK, opening a pipe would wait for a writer.
  OpenFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.descriptor_ < 0) throw open_failure(path, errno);

  struct stat status {};
  if (::fstat(file.descriptor_, &status) != 0) throw open_failure(path, errno);
  if (S_ISDIR(status.st_mode)) throw open_failure(path, EISDIR);
  if (!S_ISREG(status.st_mode)) throw file_failure("read", path, "it is a pipe or a device, and a file is needed");
  file.size_ = static_cast<std::uint64_t>(status.st_size);
  return file;
}

OpenFile& OpenFile::operator=(OpenFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_, other.size_);
  return *this;
}

OpenFile::~OpenFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace tenon
