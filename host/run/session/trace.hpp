// When each step ran, in Chrome's trace format.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "io/open_file.hpp"
#include "plan/gpu_schedule.hpp"

namespace tenon {

/// Writes `{"traceEvents": [...]}`, a process for each device and a thread for each of its streams. Each run is added at the file's end, so
/// that it costs the same however many there were, and the file is whole again after it; where the program dies in the middle of that, the
/// closing brackets may be missing, which viewers put up with. Threads: one at a time.
class Trace {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Trace(std::filesystem::path path) : path_(std::move(path)) {}

  /// The first time, an empty trace takes the place of the file that was there. Throws Failure (file).
  void begin_run();
  void add(const std::string& name, const std::string& category, const PlannedStream& stream, Clock::time_point begin,
           Clock::time_point end);
  /// Writes what was added, by runs that failed since the last one too. Throws Failure; what was added is forgotten then.
  void end_run();

 private:
  void write_at(std::uint64_t offset, std::string_view text) const;
  int process_of(const PlannedStream& stream);

  std::filesystem::path path_;
  OpenFile file_{-1};
  std::uint64_t end_ = 0;  // of the events that the file has
  std::string events_;     // that are not written yet, each behind a comma
  bool empty_ = true;      // the file has none yet
  std::map<std::string, int> processes_;
  std::map<std::pair<int, StreamRole>, bool> threads_;  // that are named
  Clock::time_point start_ = Clock::now();
};

}  // namespace tenon
