#include "io/atomic_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>

#include "io/system_reason.hpp"

namespace tenon {

static std::string descriptor_path(int descriptor) {
  return "/proc/self/fd/" + std::to_string(descriptor);
}

// Beside the target, so that renaming never crosses file systems.
static std::filesystem::path temporary_beside(const std::filesystem::path& target) {
  static std::atomic<unsigned> counter = 0;
  const std::string name = target.filename().string().substr(0, 200);  // names end at 255 bytes
  return target.parent_path() / (name + ".tmp" + std::to_string(::getpid()) + "-" + std::to_string(counter++));
}

// The old file's mode, 0 where there is none. Renaming would replace anything at all, /dev/null included, so look first.
static unsigned mode_of_old_file(const std::filesystem::path& path, const std::filesystem::path& target) {
  struct stat status {};
  if (::stat(target.c_str(), &status) != 0) {
    if (errno == ENOENT) return 0;
    throw file_failure("write", path, system_reason(errno));
  }
  if (S_ISDIR(status.st_mode)) throw file_failure("write", path, system_reason(EISDIR));
  if (!S_ISREG(status.st_mode)) throw file_failure("write", path, "it is a pipe or a device, and a file is needed");
  if (::faccessat(AT_FDCWD, target.c_str(), W_OK, AT_EACCESS) != 0) throw file_failure("write", path, "it is write-protected");
  return status.st_mode & 0777U;
}

void AtomicFile::write_text(const std::filesystem::path& path, std::string_view text, bool synced) {
  AtomicFile file(path);
  file.write(text);
  file.commit(synced);
}

AtomicFile::AtomicFile(const std::filesystem::path& path) : path_(path) {
  if (!path.has_filename()) throw file_failure("write", path.empty() ? "a file" : path, "a file's name is needed");
  std::error_code error;
  target_ = std::filesystem::canonical(path, error);
  if (error) target_ = path;
  folder_ = target_.has_parent_path() ? target_.parent_path() : ".";

  mode_ = mode_of_old_file(path_, target_);
  struct stat status {};
  if (::stat(folder_.c_str(), &status) != 0 && errno == ENOENT) {
    throw file_failure("write", path, "the folder " + folder_.string() + " does not exist", "make it first: mkdir -p " + folder_.string());
  }
  open_temporary();
}

void AtomicFile::open_temporary() {
  // A nameless file vanishes by itself when the process is killed. Giving it a name later needs /proc.
  file_ = OpenFile(::open(folder_.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666));
  if (file_.descriptor() >= 0 && ::access(descriptor_path(file_.descriptor()).c_str(), F_OK) == 0) return;
  if (file_.descriptor() < 0 && (errno == EACCES || errno == EPERM)) {
    throw file_failure("write", path_, "the folder " + folder_.string() + " may not be written");
  }
  do {
    temporary_ = temporary_beside(target_);
    file_ = OpenFile(::open(temporary_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666));
  } while (file_.descriptor() < 0 && errno == EEXIST);
  if (file_.descriptor() < 0) {
    const int error = errno;
    temporary_.clear();
    if (error == ENOENT) throw file_failure("write", path_, "no file can be made in the folder " + folder_.string());  // as in /proc
    fail(error);
  }
}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::fail(int error) const {
  throw file_failure("write", path_, system_reason(error));
}

void AtomicFile::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(file_.descriptor(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
    size_ = offset > size_ ? offset : size_;
  }
}

void AtomicFile::resize(std::uint64_t size) {
  if (::ftruncate(file_.descriptor(), static_cast<off_t>(size)) != 0) fail(errno);
  size_ = size;
}

void AtomicFile::name_temporary() {
  const std::string source = descriptor_path(file_.descriptor());
  for (;;) {
    const std::filesystem::path name = temporary_beside(target_);
    if (::linkat(AT_FDCWD, source.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      temporary_ = name;
      return;
    }
    if (errno != EEXIST) fail(errno);
  }
}

static void sync_folder(const std::filesystem::path& folder, const std::filesystem::path& path) {
  const OpenFile opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // A folder that may be written but not read cannot be synced, nor can those of some network file systems. The file is in place.
  if (opened.descriptor() < 0) return;
  if (::fsync(opened.descriptor()) != 0 && errno != EINVAL && errno != ENOTSUP) {
    throw file_failure("write", path, "it is in place, but syncing its folder failed (" + system_reason(errno) + ")");
  }
}

void AtomicFile::commit(bool synced) {
  if (mode_ != 0 && ::fchmod(file_.descriptor(), mode_) != 0) fail(errno);
  if (synced && ::fsync(file_.descriptor()) != 0) fail(errno);
  if (temporary_.empty()) name_temporary();
  if (::close(file_.release()) != 0) fail(errno);  // where some network file systems report a full disk
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno);
  temporary_.clear();
  if (synced) sync_folder(folder_, path_);
}

}  // namespace tenon
