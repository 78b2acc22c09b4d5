// What a training tells while it runs: progress for people, JSON lines for programs.
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

/// One JSON object a line: {"step": 1, "epoch": 0, "loss": ...} for each step, {"step": 24, "epoch": 0, "validation": {...}} after an
/// epoch. Each line is one write, so that a checkpoint never comes before the lines of its steps.
class MetricsFile {
 public:
  /// Keeps the lines up to `step` of a file that is there, so that a resumed training's file is that of one that never stopped. An empty
  /// path: nothing is written. Throws Failure (file).
  MetricsFile(const std::filesystem::path& path, std::uint64_t step);
  /// These throw Failure (failed); a line that did not fit is taken away again.
  void write(const StepReport& report);
  void write_validation(std::uint64_t step, std::uint64_t epoch, const Metrics& metrics);

 private:
  void append(const JsonItem& line);

  std::filesystem::path path_;
  OpenFile file_{-1};
};

/// Progress on stderr: a line that is written over at a terminal, else one line for each epoch.
class Progress {
 public:
  Progress(std::uint64_t epochs, std::uint64_t steps_per_epoch, std::uint64_t first_step);
  void step(const StepReport& report);
  /// `step` steps have been taken.
  void epoch(std::uint64_t step, std::uint64_t epoch, const std::optional<Metrics>& validation);
  /// Leaves the line that is written over.
  void end();

  /// Means over the steps of the epoch that were taken here.
  Metrics means() const;

 private:
  using Clock = std::chrono::steady_clock;
  double seconds() const;

  std::uint64_t epochs_, steps_per_epoch_, first_step_;
  bool terminal_, open_ = false;
  Clock::time_point begin_ = Clock::now(), shown_{};
  std::int64_t examples_ = 0;
  LearningCurves epoch_;  // that one alone
};

/// Before the training: throws Failure where `path`, given by `option`, does not end in .svg (usage) or cannot be written (file).
void check_plot_path(const std::string& option, const std::filesystem::path& path);
/// Writes it whole or not at all. Throws Failure (file).
void write_plot(const std::filesystem::path& path, const LearningCurves& curves);

/// `loss 0.1234  accuracy 0.987`
std::string text_of(const Metrics& metrics);
/// `{"loss": 0.1234, "accuracy": 0.987}`
JsonItem json_of(const Metrics& metrics);

}  // namespace tenon::cli
