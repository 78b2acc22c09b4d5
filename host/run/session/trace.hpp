// The times of steps, in Chrome's trace format.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "io/open_file.hpp"
#include "plan/gpu_schedule.hpp"

namespace tenon {

/// Writes `{"traceEvents": [...]}` with one process per device and one thread per stream. Each run
/// is appended, so its cost does not depend on the number of earlier runs, and the file is complete
/// after it. If the program dies while appending, the closing brackets may be missing, which
/// viewers accept. Threads: one at a time.
class Trace {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Trace(std::filesystem::path path) : path_(std::move(path)) {}

  /// The first call replaces the existing file with an empty trace. Events of a failed run are kept
  /// until the next run that fails. Throws Failure (file).
  void begin_run();
  void add(const std::string& name, const std::string& category, const PlannedStream& stream,
           Clock::time_point begin, Clock::time_point end);
  /// Writes the added events, including those of the last failed run since the last call. Throws
  /// Failure; the events are then dropped.
  void end_run();

 private:
  void write_at(std::uint64_t offset, std::string_view text) const;
  int process_of(const PlannedStream& stream);

  std::filesystem::path path_;
  OpenFile file_{-1};
  std::uint64_t end_ = 0;  // end of the events in the file
  // not yet written; each begins with a comma
  std::string names_;   // of devices and streams
  std::string failed_;  // events of the last failed run
  std::string events_;
  bool empty_ = true;  // no events in the file yet
  std::map<std::string, int> processes_;
  std::map<std::pair<int, StreamRole>, bool> threads_;  // already named
  Clock::time_point start_ = Clock::now();
};

}  // namespace tenon
