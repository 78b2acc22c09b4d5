#include "cli/output/output_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <tenon/host/failure.hpp>
#include <thread>

#include "cli/output/output_paths.hpp"
#include "cli/streams.hpp"
#include "io/system_reason.hpp"

namespace tenon::cli {
namespace {

constexpr std::string_view begin_of_text = "tenon process ";

std::string text_in(int descriptor) {
  char text[64];
  const auto size = pread(descriptor, text, sizeof text, 0);
  return {text, static_cast<std::size_t>(size < 0 ? 0 : size)};
}

/// Returns whether `text` is exactly what take() writes.
bool is_holder(std::string_view text) {
  if (!text.starts_with(begin_of_text)) return false;
  const auto number = text.substr(begin_of_text.size());
  return !number.empty() && number.size() <= 10 &&
         number.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_regular(int descriptor) {
  struct stat status {};
  return fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

/// Retries briefly: a killed process releases the lock only when its last system call has ended.
bool lock(int descriptor) {
  using namespace std::chrono_literals;
  for (int tries = 0; flock(descriptor, LOCK_EX | LOCK_NB) != 0; ++tries) {
    if (errno != EWOULDBLOCK || tries == 50) return false;
    std::this_thread::sleep_for(10ms);
  }
  return true;
}

Failure is_taken(const std::filesystem::path& output, const std::string& holder) {
  const auto holder_text =
      is_holder(holder) ? fmt::format(" ({})", holder.substr(holder.find(' ') + 1)) : "";
  return {FailureKind::file,
          fmt::format("{} is in use by another training{}", output.string(), holder_text),
          "wait until it ends, or choose another file"};
}

Failure is_foreign(const std::filesystem::path& path) {
  return {FailureKind::file,
          fmt::format("{} is needed as a lock file, but another program's file has that name",
                      path.string()),
          "remove it, or choose another output"};
}

}  // namespace

std::filesystem::path lock_path(const std::filesystem::path& output) {
  return final_path(output).concat(".lock");
}

OutputLock::OutputLock(const std::filesystem::path& output) : path_(lock_path(output)) {
  while (!take(output)) continue;
}

/// Returns false if the previous holder removed the file before this process acquired the lock.
bool OutputLock::take(const std::filesystem::path& output) {
  OpenFile file(open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666));
  if (file.descriptor() >= 0 && !is_regular(file.descriptor())) throw is_foreign(path_);
  if (file.descriptor() < 0 || !lock(file.descriptor())) {
    const int error = errno;
    if (file.descriptor() >= 0 && error == EWOULDBLOCK)
      throw is_taken(output, text_in(file.descriptor()));
    write_message("note: cannot lock {} ({}): make sure that no other training writes it\n",
                  output.string(), system_reason(error));
    if (file.descriptor() >= 0 && text_in(file.descriptor()).empty()) unlink(path_.c_str());
    return true;
  }
  if (!file.is_at(path_)) return false;
  if (const auto text = text_in(file.descriptor()); !text.empty() && !is_holder(text))
    throw is_foreign(path_);
  const auto holder = fmt::format("{}{}", begin_of_text, getpid());
  // on a full disk the lock works without the process number
  if (ftruncate(file.descriptor(), 0) == 0) {
    [[maybe_unused]] const auto written =
        pwrite(file.descriptor(), holder.data(), holder.size(), 0);
  }
  file_ = std::move(file);
  return true;
}

OutputLock::~OutputLock() {
  if (file_.descriptor() >= 0 && file_.is_at(path_)) unlink(path_.c_str());
}

}  // namespace tenon::cli
