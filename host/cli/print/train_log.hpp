// Output of a running training: progress for people, JSON lines for programs.
#pragma once
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <tenon/host/draw.hpp>
#include <tenon/host/trainer.hpp>

#include "cli/print/json_text.hpp"
#include "io/open_file.hpp"

namespace tenon::cli {

/// Writes one JSON object per line: {"step": 1, "epoch": 0, "loss": ...} for each step, {"step":
/// 24, "epoch": 0, "validation": {...}} after an epoch. Each line is a single write, so a
/// checkpoint never precedes the lines of its steps.
class MetricsFile {
 public:
  /// Keeps the lines up to `step` of an existing file, so that a resumed training produces the same
  /// file as an uninterrupted one. Writes nothing if the path is empty. Throws Failure (file).
  MetricsFile(const std::filesystem::path& path, std::uint64_t step);
  /// These throw Failure (failed); a partially written line is removed.
  void write(const StepReport& report);
  void write_validation(std::uint64_t step, std::uint64_t epoch, const Metrics& metrics);

 private:
  void append(const JsonItem& line);

  std::filesystem::path path_;
  OpenFile file_{-1};
};

/// Progress on stderr: on a terminal one line that is updated in place, else one line per epoch.
class Progress {
 public:
  Progress(std::uint64_t epochs, std::uint64_t steps_per_epoch, std::uint64_t first_step);
  void step(const StepReport& report);
  /// `step` is the number of steps taken.
  void epoch(std::uint64_t step, std::uint64_t epoch, const std::optional<Metrics>& validation);
  /// Ends the line that is updated in place.
  void end();

  /// Returns means over this process's steps in the current epoch.
  Metrics means() const;

 private:
  using Clock = std::chrono::steady_clock;
  double seconds() const;

  std::uint64_t epochs_, steps_per_epoch_, first_step_;
  bool terminal_, open_ = false;
  Clock::time_point begin_ = Clock::now(), shown_{};
  std::int64_t examples_ = 0;
  LearningCurves epoch_;  // the current epoch only
};

/// Checks the path before training. Throws Failure if `path`, the value of `option`, does not end
/// in .svg (usage) or cannot be written (file).
void check_plot_path(const std::string& option, const std::filesystem::path& path);
/// Writes the file atomically. Throws Failure (file).
void write_plot(const std::filesystem::path& path, const LearningCurves& curves);

/// Example: `loss 0.1234  accuracy 0.987`.
std::string text_of(const Metrics& metrics);
/// Example: `{"loss": 0.1234, "accuracy": 0.987}`.
JsonItem json_of(const Metrics& metrics);

}  // namespace tenon::cli
