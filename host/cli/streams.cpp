#include "cli/streams.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <tenon/host/failure.hpp>

#include "cli/print/report.hpp"
#include "io/system_reason.hpp"

namespace tenon::cli {
namespace {

int lost_results = 0;  // the first error number of stdout; 0: none

void keep_error(int error) {
  if (lost_results == 0) lost_results = error == 0 ? EIO : error;
}

}  // namespace

void open_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest number that is free, which is this one. Without /dev, a folder holds the number.
    if (open("/dev/null", O_RDWR) < 0) open("/", O_PATH | O_DIRECTORY);
  }
  std::signal(SIGPIPE, SIG_IGN);
}

void write_result(std::string_view text) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) keep_error(errno);
}

void tell(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
}

int finish_results(int status, bool json) {
  errno = 0;
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) keep_error(errno);
  if (lost_results == 0) return status;
  if (lost_results == EPIPE) return status == 0 ? 128 + SIGPIPE : status;
  report({FailureKind::failed, "cannot write to standard output: " + system_reason(lost_results)}, json);
  return status == 0 ? static_cast<int>(FailureKind::failed) : status;
}

}  // namespace tenon::cli
