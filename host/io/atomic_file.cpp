#include "io/atomic_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
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

// File names are limited to 255 bytes.
static std::string begin_of_temporary(const std::filesystem::path& target) {
  return target.filename().string().substr(0, 200) + '.';
}

// Returns NAME.PROCESS-NUMBER.tmp in the target's folder, so that renaming never crosses file
// systems.
static std::filesystem::path temporary_path_for(const std::filesystem::path& target) {
  static std::atomic<unsigned> counter = 0;
  return target.parent_path() / (begin_of_temporary(target) + std::to_string(::getpid()) + "-" +
                                 std::to_string(counter++) + ".tmp");
}

static bool is_temporary_of(const std::filesystem::path& target, std::string_view name) {
  const auto begin = begin_of_temporary(target);
  constexpr std::string_view end = ".tmp";
  if (!name.starts_with(begin) || !name.ends_with(end) || name.size() < begin.size() + end.size())
    return false;
  const auto middle = name.substr(begin.size(), name.size() - begin.size() - end.size());
  const auto dash = middle.find('-');
  return dash != 0 && dash < middle.size() - 1 && middle.find_first_not_of("0123456789") == dash &&
         middle.find_first_not_of("0123456789", dash + 1) == std::string_view::npos;
}

static bool lock(int descriptor) {
  return ::flock(descriptor, LOCK_EX | LOCK_NB) == 0;
}

// Returns the old file's mode, 0 if there is none. Checks the target first, because renaming would
// replace anything, even /dev/null.
static unsigned mode_of_old_file(const std::filesystem::path& path,
                                 const std::filesystem::path& target) {
  struct stat status {};
  if (::stat(target.c_str(), &status) != 0) {
    if (errno == ENOENT) return 0;
    throw file_failure("write", path, system_reason(errno));
  }
  if (S_ISDIR(status.st_mode)) throw file_failure("write", path, system_reason(EISDIR));
  if (!S_ISREG(status.st_mode))
    throw file_failure("write", path, "it is a pipe or a device, but a file is needed");
  if (::faccessat(AT_FDCWD, target.c_str(), W_OK, AT_EACCESS) != 0)
    throw file_failure("write", path, "it is write-protected");
  return status.st_mode & 0777U;
}

void AtomicFile::write_text(const std::filesystem::path& path, std::string_view text, bool synced) {
  AtomicFile file(path, synced);
  file.write(text);
  file.commit();
}

AtomicFile::AtomicFile(const std::filesystem::path& path, bool synced)
    : path_(path), synced_(synced) {
  if (!path.has_filename())
    throw file_failure("write", path.empty() ? "a file" : path, "the path has no file name");
  std::error_code error;
  target_ = std::filesystem::canonical(path, error);
  if (error) target_ = path;
  folder_ = target_.has_parent_path() ? target_.parent_path() : ".";

  mode_ = mode_of_old_file(path_, target_);
  struct stat status {};
  if (::stat(folder_.c_str(), &status) != 0 && errno == ENOENT) {
    throw file_failure("write", path, "the folder " + folder_.string() + " does not exist",
                       "create it first: mkdir -p " + folder_.string());
  }
  if (synced_) remove_leftovers();
  open_temporary();
}

// Writers hold a lock on the temporary file until it is renamed. If the file system has no locks,
// nothing is removed.
void AtomicFile::remove_leftovers() const {
  std::error_code error;
  for (std::filesystem::directory_iterator entries(folder_, error), end; !error && entries != end;
       entries.increment(error)) {
    const auto& path = entries->path();
    if (!is_temporary_of(target_, path.filename().native())) continue;
    const OpenFile left(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (left.descriptor() >= 0 && lock(left.descriptor()) && left.is_at(path))
      ::unlink(path.c_str());
  }
}

void AtomicFile::open_temporary() {
  if (open_nameless() || open_named()) return;
  if (errno == EACCES || errno == EPERM)
    throw file_failure("write", path_, "the folder " + folder_.string() + " is not writable");
  // for example in /proc
  if (errno == ENOENT)
    throw file_failure("write", path_, "cannot create a file in the folder " + folder_.string());
  fail(errno);
}

// A nameless file vanishes if the process is killed. Giving it a name later needs /proc.
bool AtomicFile::open_nameless() {
  file_ = OpenFile(::open(folder_.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666));
  if (file_.descriptor() < 0 || ::access(descriptor_path(file_.descriptor()).c_str(), F_OK) != 0)
    return false;
  lock(file_.descriptor());
  return true;
}

bool AtomicFile::open_named() {
  for (;;) {
    const auto name = temporary_path_for(target_);
    file_ = OpenFile(::open(name.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666));
    if (file_.descriptor() < 0 && errno == EEXIST) continue;
    if (file_.descriptor() < 0) return false;
    temporary_ = name;
    // Before it was locked, another process may have removed it as a leftover.
    if (lock(file_.descriptor()) || errno != EWOULDBLOCK)
      if (file_.is_at(name)) return true;
  }
}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::fail(int error) const {
  throw write_failure(path_, error);
}

void AtomicFile::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written =
        ::pwrite(file_.descriptor(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
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

void AtomicFile::restrict_to_user() {
  struct stat status {};
  if (mode_ == 0 && ::fstat(file_.descriptor(), &status) != 0) fail(errno);
  mode_ = (mode_ != 0 ? mode_ : status.st_mode) & 0755U;
}

void AtomicFile::name_temporary() {
  const std::string source = descriptor_path(file_.descriptor());
  for (;;) {
    const std::filesystem::path name = temporary_path_for(target_);
    if (::linkat(AT_FDCWD, source.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      temporary_ = name;
      return;
    }
    if (errno != EEXIST) fail(errno);
  }
}

static void sync_folder(const std::filesystem::path& folder, const std::filesystem::path& path) {
  const OpenFile opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Folders that are writable but not readable cannot be synced, nor can those of some network file
  // systems. The file is in place.
  if (opened.descriptor() < 0) return;
  if (::fsync(opened.descriptor()) != 0 && errno != EINVAL && errno != ENOTSUP) {
    throw Failure(FailureKind::failed,
                  "cannot write " + path.string() +
                      ": the file is in place, but syncing its folder failed (" +
                      system_reason(errno) + ")");
  }
}

// Some network file systems report a full disk only on close. Another descriptor keeps the lock
// until the file is renamed.
static bool close_copy(int descriptor) {
  const int copy = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  return copy >= 0 && ::close(copy) == 0;
}

void AtomicFile::commit() {
  if (mode_ != 0 && ::fchmod(file_.descriptor(), mode_) != 0) fail(errno);
  if (synced_ && ::fsync(file_.descriptor()) != 0) fail(errno);
  if (temporary_.empty()) name_temporary();
  if (!close_copy(file_.descriptor())) fail(errno);
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno);
  temporary_.clear();
  if (synced_) sync_folder(folder_, path_);
}

}  // namespace tenon
