#include "cli/site/site_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <system_error>
#include <tenon/host/failure.hpp>

#include "cli/output/output_paths.hpp"
#include "io/atomic_file.hpp"
#include "io/system_reason.hpp"

namespace tenon::cli {
namespace {

namespace fs = std::filesystem;

bool is_of_site(const fs::directory_entry& entry) {
  if (entry.is_symlink() || !entry.is_regular_file()) return false;
  std::string beginning(512, '\0');
  std::ifstream file(entry.path(), std::ios::binary);
  file.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
  return beginning.find(site_mark) != std::string::npos;
}

[[noreturn]] void fail(const fs::path& folder, int error) {
  throw Failure(
      FailureKind::file,
      fmt::format("cannot write the folder {}: {}", folder.string(), system_reason(error)),
      "choose another with -o");
}

void require_replaceable(const fs::path& shown, const fs::path& folder) {
  const auto refuse = [&](const std::string& why) {
    throw Failure(FailureKind::usage, fmt::format("'{}' {}", shown.string(), why),
                  "choose another folder with -o");
  };
  std::error_code error;
  if (fs::exists(folder, error) && !fs::is_directory(folder, error))
    refuse("is a file, but a folder is needed");
  if (!fs::exists(folder, error)) return;
  if (fs::equivalent(folder, fs::current_path(error), error))
    refuse("is the current folder, which the site would replace");
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (!is_of_site(entry))
      refuse(
          fmt::format("contains '{}', which is not part of an earlier site; the site would replace "
                      "the whole folder",
                      entry.path().filename().string()));
  if (error) fail(shown, error.value());
}

// Swaps the two names atomically if the file system supports it, else one after the other.
void replace_folder(const fs::path& made, const fs::path& folder) {
  std::error_code error;
  fs::rename(made, folder, error);  // succeeds if `folder` is missing or empty
  if (!error) return;
  if (::renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, folder.c_str(), RENAME_EXCHANGE) == 0) {
    fs::remove_all(made, error);
    return;
  }
  if (errno != EINVAL && errno != ENOSYS) throw std::system_error(errno, std::generic_category());
  const auto old = fs::path(made.native() + ".old");
  fs::rename(folder, old);
  fs::rename(made, folder);
  fs::remove_all(old, error);
}

}  // namespace

void write_site(const fs::path& folder, const std::vector<SiteFile>& files) {
  const auto target = final_path(folder.has_filename() ? folder : folder.parent_path());
  require_replaceable(folder, target);
  const auto made =
      target.parent_path() / fmt::format(".{}.{}", target.filename().string(), ::getpid());
  std::error_code error;
  if (!fs::create_directory(made, error)) fail(folder, error ? error.value() : EEXIST);
  try {
    for (const auto& file : files) AtomicFile::write_text(made / file.name, file.text, false);
    replace_folder(made, target);
  } catch (const Failure& failure) {
    fs::remove_all(made, error);
    std::string text = failure.what();
    if (const auto at = text.find(made.native()); at != std::string::npos)
      text.replace(at, made.native().size(), folder.native());
    throw Failure(failure.kind(), text, failure.hint());
  } catch (const std::system_error& reason) {
    fs::remove_all(made, error);
    fail(folder, reason.code().value());
  } catch (...) {
    fs::remove_all(made, error);
    throw;
  }
}

}  // namespace tenon::cli
