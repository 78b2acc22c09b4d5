#include "io/crash/watched_process.hpp"

#include <unistd.h>

#include <cstring>

namespace tenon {
namespace {

WatchedProcess* shared = nullptr;
std::atomic<bool> reported = false;

void write_all(const char* text) noexcept {
  for (auto left = std::strlen(text); left > 0;) {
    const auto written = write(STDERR_FILENO, text, left);
    if (written <= 0) return;
    text += written;
    left -= static_cast<std::size_t>(written);
  }
}

}  // namespace

void report_to_parent(WatchedProcess* watched) noexcept {
  shared = watched;
}

bool is_watched() noexcept {
  return shared != nullptr && shared->process == getpid();
}

void report_finished() noexcept {
  if (is_watched()) shared->finished.store(true, std::memory_order_release);
}

void report_call_limit(std::int64_t milliseconds) noexcept {
  if (is_watched()) shared->call_limit.store(milliseconds, std::memory_order_release);
}

void submit_report(const CrashReport& report) noexcept {
  if (reported.exchange(true)) return;
  if (is_watched()) {
    shared->report = report;
    shared->reported.store(true, std::memory_order_release);
    return;
  }
  CrashReportText text;
  describe(report, text);
  char line[sizeof text.sentence + sizeof text.hint + 32];
  char* end = stpcpy(stpcpy(stpcpy(line, "error: "), text.sentence), "\n");
  if (text.hint[0] != '\0') stpcpy(stpcpy(stpcpy(end, "hint: "), text.hint), "\n");
  write_all(line);
}

}  // namespace tenon
