#include "cli/repository/model_repository.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <system_error>
#include <vector>

#include "cli/command.hpp"
#include "io/atomic_file.hpp"
#include "io/system_reason.hpp"

namespace tenon::cli {
namespace {

namespace fs = std::filesystem;

/// Renames without replacing an existing file, atomically if the file system supports it. Returns
/// an error number.
int move_to_free_name(const fs::path& from, const fs::path& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  std::error_code error;
  if (fs::exists(to, error)) return EEXIST;
  fs::rename(from, to, error);
  return error.value();
}

void sync_folder(const fs::path& folder) {
  const OpenFile opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ::fsync(opened.descriptor());  // best effort: some file systems cannot sync folders
}

bool lock(const OpenFile& folder) {
  return ::flock(folder.descriptor(), LOCK_EX | LOCK_NB) == 0;
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

void check_model_name(const std::string& name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  if (!name.empty() && name.size() <= 128 && name[0] != '.' && name[0] != '-' &&
      std::all_of(name.begin(), name.end(), fits))
    return;
  throw Failure(FailureKind::usage, fmt::format("'{}' cannot be a model's name", name),
                "use at most 128 letters, digits, _, - and ., not beginning with - or .; set the "
                "name with --name");
}

void copy_file(const fs::path& from, const fs::path& to, bool executable) {
  std::error_code error;
  fs::create_directories(to.parent_path(), error);
  if (error) throw file_failure("write", to, system_reason(error.value()));
  const auto source = OpenFile::for_reading(from);
  AtomicFile copy(to);
  std::vector<std::byte> buffer(std::size_t{1} << 20);
  for (;;) {
    const auto bytes_read = ::read(source.descriptor(), buffer.data(), buffer.size());
    if (bytes_read < 0 && errno == EINTR) continue;
    if (bytes_read < 0) throw file_failure("read", from, system_reason(errno));
    if (bytes_read == 0) break;
    copy.write({buffer.data(), static_cast<std::size_t>(bytes_read)});
  }
  copy.commit();
  if (executable)
    fs::permissions(to, fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec,
                    fs::perm_options::add, error);
  if (error) throw file_failure("write", to, system_reason(error.value()));
}

NewModel::NewModel(const fs::path& repository, const std::string& name, std::int64_t version)
    : repository_(repository), path_(repository / name), version_(version) {
  std::error_code error;
  if (fs::exists(repository_, error) && !fs::is_directory(repository_, error))
    throw Failure(
        FailureKind::usage,
        fmt::format("'{}' is a file, but a model repository is a folder", repository_.string()),
        "choose another with -o");
  if (fs::exists(path_ / std::to_string(version), error)) refuse_version();
  made_repository_ = fs::create_directory(repository_, error);
  if (error) fail(error.value());
  const auto prefix = "." + name + ".tenon-";
  remove_leftovers(prefix);
  made_ = repository_ / (prefix + std::to_string(::getpid()));
  if (!fs::create_directories(folder(), error)) fail(error ? error.value() : EEXIST);
  in_use_ = OpenFile(::open(made_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  lock(in_use_);
}

NewModel::~NewModel() {
  std::error_code ignored;
  fs::remove_all(made_, ignored);
  if (made_repository_ && !committed_) fs::remove(repository_, ignored);
}

void NewModel::commit(const std::string& config) {
  std::error_code error;
  if (!fs::exists(path_, error)) {
    AtomicFile::write_text(made_ / "config.pbtxt", config);
    const int failed = move_to_free_name(made_, path_);
    committed_ = failed == 0;
    if (committed_) return sync_folder(repository_);
    if (failed != EEXIST) fail(failed);
  }
  // the model may have appeared just now: another process may write it, too
  if (text_of(path_ / "config.pbtxt") != config)
    throw Failure(
        FailureKind::usage,
        fmt::format("'{}' already exists with a different config.pbtxt than version {} needs",
                    path_.string(), version_),
        "choose another name with --name, or remove the model first");
  const int failed = move_to_free_name(folder(), path_ / std::to_string(version_));
  if (failed == EEXIST) refuse_version();
  if (failed != 0) fail(failed);
  committed_ = true;
  sync_folder(path_);
}

/// Removes folders of processes that no longer exist.
void NewModel::remove_leftovers(const std::string& prefix) const {
  std::error_code error;
  std::vector<fs::path> left;
  for (const auto& entry : fs::directory_iterator(repository_, error)) {
    const auto name = entry.path().filename().string();
    if (!name.starts_with(prefix)) continue;
    const auto process = std::atol(name.c_str() + prefix.size());
    if (process > 0 && ::kill(static_cast<pid_t>(process), 0) != 0 && errno == ESRCH)
      left.push_back(entry.path());
  }
  // the process may still run in another container and hold its lock
  for (const auto& path : left) {
    const OpenFile folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    if (lock(folder) || errno != EWOULDBLOCK) fs::remove_all(path, error);
  }
}

void NewModel::refuse_version() const {
  throw Failure(FailureKind::usage,
                fmt::format("'{}' already has a version {}", path_.string(), version_),
                "choose another with --version, or remove it first");
}

void NewModel::fail(int error) const {
  throw Failure(FailureKind::file,
                fmt::format("cannot write the folder {}: {}", path_.string(), system_reason(error)),
                "choose another with -o");
}

}  // namespace tenon::cli
