#include "onnx/external_data.hpp"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "io/system_reason.hpp"
#include "onnx/wire.hpp"

namespace tenon::onnx {
namespace {

// a model may have many external files, and files that are read instead of mapped use memory
constexpr std::uint64_t map_above = std::uint64_t{1} << 20;
constexpr const char* link_hint =
    "copy the file into the model's folder, or trust the model's links";
constexpr int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;

struct DataPath {
  const std::filesystem::path& model;
  std::string_view location;
  std::string path{};  // `location` without `.` and `..` components

  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) const {
    refuse_file(model, "external data '{}' {}", shown(location),
                fmt::format(text, std::forward<Args>(args)...));
  }
  [[noreturn]] void refuse_error(int error) const {
    refuse("cannot be read: {}", system_reason(error));
  }
};

// Splits the location into path components, resolving `.` and `..` lexically without following
// links. Throws if the result leaves the model's folder or is a folder.
std::vector<std::string> path_components(const DataPath& data_path) {
  auto rest = data_path.location;
  if (rest.empty() || rest.front() == '/' || rest.find('\0') != std::string_view::npos)
    data_path.refuse("cannot be read: the location must be a path relative to the model's folder");
  std::vector<std::string> components;
  bool is_folder = false;
  for (bool more = true; more;) {
    const auto slash = rest.find('/');
    const auto component = rest.substr(0, slash);
    more = slash != std::string_view::npos;
    is_folder = component.empty() || component == "." || component == "..";
    if (component == "..") {
      if (components.empty())
        data_path.refuse("cannot be read: the location is outside the model's folder");
      components.pop_back();
    } else if (!is_folder) {
      components.emplace_back(component);
    }
    rest.remove_prefix(more ? slash + 1 : 0);
  }
  if (is_folder) data_path.refuse("cannot be read: the location is a folder");
  return components;
}

DataPath resolve_location(const std::filesystem::path& model, std::string_view location) {
  DataPath data_path{model, location};
  data_path.path = fmt::format("{}", fmt::join(path_components(data_path), "/"));
  return data_path;
}

OpenFile open_step_by_step(const DataPath& data_path, OpenFile folder) {
  const auto components = path_components(data_path);
  // on failure, errno says why
  for (std::size_t i = 0; i < components.size() && folder.descriptor() >= 0; ++i) {
    const bool last = i + 1 == components.size();
    folder = OpenFile(::openat(folder.descriptor(), components[i].c_str(),
                               last ? flags : O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  }
  return folder;
}

// Without a descriptor on failure; errno is ELOOP, EXDEV or ENOTDIR if a link is in the way.
OpenFile open_without_links(const DataPath& data_path, const OpenFile& folder,
                            bool resolve_by_hand) {
  if (!resolve_by_hand) {
    struct open_how how {};
    how.flags = flags;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    OpenFile file(static_cast<int>(
        ::syscall(SYS_openat2, folder.descriptor(), data_path.path.c_str(), &how, sizeof how)));
    // Sandboxes that do not implement the system call reject it with EPERM.
    if (file.descriptor() >= 0 || (errno != ENOSYS && errno != EPERM)) return file;
  }
  return open_step_by_step(data_path, OpenFile(::fcntl(folder.descriptor(), F_DUPFD_CLOEXEC, 0)));
}

// Path of an open file with all links resolved; empty if the system does not report it.
std::filesystem::path real_path(const OpenFile& file) {
  std::error_code error;
  auto path =
      std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", file.descriptor()), error);
  return path.is_absolute() ? path : std::filesystem::path();
}

bool is_within(const std::filesystem::path& file, const std::filesystem::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first ==
         folder.end();
}

// In the Hugging Face cache, files in REPOSITORY/snapshots/REVISION are links to
// REPOSITORY/blobs/HASH.
bool is_blob_of(const std::filesystem::path& file, const std::filesystem::path& folder) {
  for (auto at = folder; at.has_relative_path(); at = at.parent_path())
    if (at.parent_path().filename() == "snapshots")
      return file.parent_path() == at.parent_path().parent_path() / "blobs";
  return false;
}

// Follows links first and then checks the opened file, so that links changed in the meantime do not
// matter.
OpenFile open_link(const DataPath& data_path, const OpenFile& folder, bool trust_links) {
  const OpenFile found(::openat(folder.descriptor(), data_path.path.c_str(), O_PATH | O_CLOEXEC));
  if (found.descriptor() < 0) {
    const int error = errno;
    std::error_code none;
    const auto target =
        std::filesystem::read_symlink(data_path.model.parent_path() / data_path.path, none);
    if (target.empty()) data_path.refuse_error(error);
    data_path.refuse("cannot be read: it is a symbolic link to '{}': {}", shown(target.string()),
                     system_reason(error));
  }
  const auto real = real_path(found), home = real_path(folder);
  if (real.empty() || home.empty())
    data_path.refuse(
        "cannot be read: it is reached through a symbolic link, and /proc does not show the "
        "target");
  if (!trust_links && !is_within(real, home) && !is_blob_of(real, home))
    throw Failure(
        FailureKind::file,
        fmt::format("{}: external data '{}' resolves through a symbolic link to '{}', "
                    "outside the model's folder",
                    data_path.model.string(), shown(data_path.location), shown(real.string())),
        link_hint);
  return OpenFile(
      ::open(fmt::format("/proc/self/fd/{}", found.descriptor()).c_str(), flags & ~O_NOFOLLOW));
}

}  // namespace

OpenFile open_beneath(const std::filesystem::path& model, std::string_view location,
                      bool trust_links, bool resolve_by_hand) {
  const auto data_path = resolve_location(model, location);
  const auto parent = model.parent_path();
  const OpenFile folder(
      ::open(parent.empty() ? "." : parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (folder.descriptor() < 0) data_path.refuse("cannot be read: {}", system_reason(errno));
  auto file = open_without_links(data_path, folder, resolve_by_hand);
  if (file.descriptor() < 0 && (errno == ELOOP || errno == EXDEV || errno == ENOTDIR))
    file = open_link(data_path, folder, trust_links);
  if (file.descriptor() < 0) data_path.refuse_error(errno);
  struct stat status {};
  if (::fstat(file.descriptor(), &status) != 0) data_path.refuse_error(errno);
  if (!S_ISREG(status.st_mode))
    data_path.refuse("cannot be read: it is a folder, pipe or device, not a regular file");
  if (status.st_nlink > 1 && !trust_links)
    throw Failure(FailureKind::file,
                  fmt::format("{}: external data '{}' cannot be read: the file has {} hard links "
                              "and may belong to another folder",
                              model.string(), shown(location), status.st_nlink),
                  link_hint);
  return {file.release(), status};
}

bool ExternalFiles::File::lend(std::uint64_t offset, std::uint64_t size) {
  const auto next = lent.lower_bound(offset);
  if (next != lent.end() && next->first < offset + size) return false;
  if (next != lent.begin() && std::prev(next)->second > offset) return false;
  lent.emplace_hint(next, offset, offset + size);
  return true;
}

ExternalFiles::File& ExternalFiles::open(std::string_view location, bool& added) {
  const auto plain =
      resolve_location(model_, location).path;  // two spellings of a path refer to one file
  const auto found = files_.find(plain);
  added = found == files_.end();
  if (!added) return found->second;
  auto file = open_beneath(model_, location, trust_links_);
  const auto path = model_.parent_path() / plain;
  return files_.emplace(plain, File{FileMemory::of(path, std::move(file), map_above)})
      .first->second;
}

}  // namespace tenon::onnx
