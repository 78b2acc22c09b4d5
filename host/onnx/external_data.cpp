#include "onnx/external_data.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "file/tenon/refuse_file.hpp"
#include "io/system_reason.hpp"
#include "onnx/wire.hpp"

namespace tenon::onnx {
namespace {

constexpr std::uint64_t map_above = std::uint64_t{1} << 20;  // a model may have many: what is read takes memory
constexpr int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;

struct Place {
  const std::filesystem::path& model;
  std::string_view location;

  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) const {
    refuse_file(model, "its data in '{}' {}", shown(location), fmt::format(text, std::forward<Args>(args)...));
  }
  [[noreturn]] void refuse_error(int error) const {
    if (error == ELOOP || error == EXDEV || error == ENOTDIR)
      throw Failure(
          FailureKind::file,
          fmt::format("{}: its data in '{}' are behind a link, or in no folder, and only files in the model's folder itself are read",
                      model.string(), shown(location)),
          "put a copy of the file there");
    refuse("cannot be read: {}", system_reason(error));
  }
};

// Calls visit() with each part of the path; throws where one leads up or nowhere.
template <class Visit>
void for_each_part(const Place& place, Visit&& visit) {
  auto rest = place.location;
  if (rest.empty() || rest.front() == '/' || rest.find('\0') != std::string_view::npos)
    place.refuse("cannot be read: the place must be a path relative to the model's folder");
  for (bool more = true; more;) {
    const auto slash = rest.find('/');
    const auto part = rest.substr(0, slash);
    more = slash != std::string_view::npos;
    if (part == "..") place.refuse("cannot be read: the place leads out of the model's folder");
    if (part.empty() || part == ".") {
      if (!more) place.refuse("cannot be read: the place is a folder");
    } else {
      visit(std::string(part), !more);
    }
    rest.remove_prefix(more ? slash + 1 : 0);
  }
}

OpenFile open_step_by_step(const Place& place, OpenFile folder) {
  for_each_part(place, [&](const std::string& part, bool last) {
    OpenFile next(::openat(folder.descriptor(), part.c_str(), last ? flags : O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    if (next.descriptor() < 0) place.refuse_error(errno);
    folder = std::move(next);
  });
  return folder;
}

}  // namespace

OpenFile open_beneath(const std::filesystem::path& model, std::string_view location, bool resolve_by_hand) {
  const Place place{model, location};
  for_each_part(place, [](const std::string&, bool) {});
  const auto parent = model.parent_path();
  OpenFile folder(::open(parent.empty() ? "." : parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (folder.descriptor() < 0) place.refuse("cannot be read: {}", system_reason(errno));
  OpenFile file(-1);
  if (!resolve_by_hand) {
    struct open_how how {};
    how.flags = flags;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    file = OpenFile(static_cast<int>(::syscall(SYS_openat2, folder.descriptor(), std::string(location).c_str(), &how, sizeof how)));
    // Sandboxes that do not know the call refuse it by EPERM.
    if (file.descriptor() < 0 && errno != ENOSYS && errno != EPERM) place.refuse_error(errno);
  }
  if (file.descriptor() < 0) file = open_step_by_step(place, std::move(folder));
  struct stat status {};
  if (::fstat(file.descriptor(), &status) != 0) place.refuse_error(errno);
  if (!S_ISREG(status.st_mode)) place.refuse("cannot be read: it is a folder, a pipe or a device, and a file is needed");
  if (status.st_nlink > 1)
    throw Failure(FailureKind::file,
                  fmt::format("{}: its data in '{}' cannot be read: the file has {} names (hard links), and may be one from elsewhere",
                              model.string(), shown(location), status.st_nlink),
                  "put a copy of the file there");
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
  const auto found = files_.find(location);
  added = found == files_.end();
  if (!added) return found->second;
  auto file = open_beneath(model_, location);
  const auto path = model_.parent_path() / location;
  return files_.emplace(location, File{FileMemory::of(path, std::move(file), map_above)}).first->second;
}

}  // namespace tenon::onnx
