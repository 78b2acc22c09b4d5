// Loss and accuracy of each epoch of a training.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <tenon/draw.hpp>

namespace tenon {

/// Of one epoch: sums over its steps, and the look at other examples after it.
struct EpochRecord {
  double loss = 0, right = 0;               // weighted by examples
  std::int64_t examples = 0, answered = 0;  // answered: those whose right answers were counted
  std::optional<Metrics> validation;

  void add(const StepReport& report);
  /// Means over the examples; the loss is NaN where there are none.
  Metrics training() const;
};

/// Epochs count from 0, as in reports.
class LearningCurves {
 public:
  void add_step(const StepReport& report) { epochs_[report.epoch].add(report); }
  void add_validation(std::uint64_t epoch, const Metrics& metrics) { epochs_[epoch].validation = metrics; }
  std::vector<EpochMetrics> epochs() const;

 private:
  std::map<std::uint64_t, EpochRecord> epochs_;
};

/// From the JSON lines that MetricsFile writes. Throws Failure (file), with the line's number, for lines that are none of those.
LearningCurves read_curves(const std::filesystem::path& metrics);

/// Before the training: throws Failure where `path`, given by `option`, does not end in .svg (usage) or cannot be written (file).
void check_plot_path(const std::string& option, const std::filesystem::path& path);

/// Writes it whole or not at all. Throws Failure (file).
void write_plot(const std::filesystem::path& path, const LearningCurves& curves);

}  // namespace tenon
