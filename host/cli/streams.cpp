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

std::FILE* results = nullptr;  // the original stdout
int results_error = 0;         // first errno of stdout; 0: no error

void record_error(int error) {
  if (results_error == 0) results_error = error == 0 ? EIO : error;
}

/// Redirects descriptor 1 to stderr for anything else that prints; if no descriptor is free,
/// nothing changes.
void separate_results() {
  results = stdout;
  const int own = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (own < 0) return;
  auto* stream = fdopen(own, "w");
  if (stream == nullptr) {
    close(own);
  } else if (dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    std::fclose(stream);
  } else {
    results = stream;
    std::setvbuf(stdout, nullptr, _IOLBF, 0);  // keeps the order with direct writes to stderr
  }
}

bool quiet = false;

}  // namespace

void open_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
    // open() returns the lowest free number, which is this one. Without /dev, a folder takes the
    // number.
    if (open("/dev/null", O_RDWR) < 0) open("/", O_PATH | O_DIRECTORY);
  }
  std::signal(SIGPIPE, SIG_IGN);
  separate_results();
}

std::string output_file(std::string value) {
  if (results == stdout) return value;
  const auto begin = value.find('=') + 1;  // start of FILE in NAME=FILE, else 0
  for (const char* name : {"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"})
    if (value.compare(begin, std::string::npos, name) == 0)
      return value.substr(0, begin) + "/dev/fd/" + std::to_string(fileno(results));
  return value;
}

Quiet::Quiet() {
  quiet = true;
}
Quiet::~Quiet() {
  quiet = false;
}

void write_result(std::string_view text) {
  if (quiet) return;
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), results) != text.size()) record_error(errno);
}

void write_message(std::string_view text) {
  if (quiet) return;
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void flush_results() {
  errno = 0;
  if (std::fflush(results) != 0 || std::ferror(results) != 0) record_error(errno);
}

int finish_results(int status, bool json) {
  flush_results();
  if (results_error == 0) return status;
  if (results_error == EPIPE) return status == 0 ? 128 + SIGPIPE : status;
  report({FailureKind::failed, "cannot write to standard output: " + system_reason(results_error)},
         json);
  return status == 0 ? static_cast<int>(FailureKind::failed) : status;
}

}  // namespace tenon::cli
