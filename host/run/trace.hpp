// When each step ran, in Chrome's trace format.
#pragma once
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace tenon {

/// Collects events and writes them as one JSON file. Threads: one at a time.
class Trace {
 public:
  using Clock = std::chrono::steady_clock;
  void add(std::string name, std::string category, Clock::time_point begin, Clock::time_point end);
  /// Whole or not at all. Throws Failure (file).
  void write(const std::filesystem::path& path) const;

 private:
  struct Event {
    std::string name, category;
    Clock::time_point begin, end;
  };
  Clock::time_point start_ = Clock::now();
  std::vector<Event> events_;
};

}  // namespace tenon
