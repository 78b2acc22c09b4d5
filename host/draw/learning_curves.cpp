#include <fmt/format.h>

#include <cerrno>
#include <cmath>
#include <fstream>
#include <string>
#include <tenon/host/draw.hpp>
#include <tenon/host/failure.hpp>

#include "io/json_document.hpp"
#include "io/system_reason.hpp"

namespace tenon {
namespace {

// examples of one step; keeps sums within 64 bits
constexpr std::int64_t max_examples = std::int64_t{1} << 32;

double number_or_nan(const JsonField& line, const char* key) {
  const auto field = line.need(key, "a line of metrics");
  return field.is_null() ? std::nan("") : field.number(key);
}

Metrics metrics_of(const JsonField& fields) {
  Metrics metrics{number_or_nan(fields, "loss"), std::nullopt};
  if (fields.find("accuracy")) metrics.accuracy = number_or_nan(fields, "accuracy");
  return metrics;
}

std::int64_t count_of(const JsonField& line, const char* key) {
  return line.need(key, "a line of metrics").integer(fmt::format("'{}'", key), 0, max_examples);
}

void add_line(LearningCurves& curves, const JsonField& line) {
  line.object("a line of metrics");
  const auto epoch = static_cast<std::uint64_t>(count_of(line, "epoch"));
  if (const auto validation = line.find("validation")) {
    validation->object("validation");
    return curves.add_validation(epoch, metrics_of(*validation));
  }
  StepReport report;
  report.metrics = metrics_of(line);
  report.epoch = epoch;
  report.examples = count_of(line, "examples");
  curves.add_step(report);
}

}  // namespace

void LearningCurves::add_step(const StepReport& report) {
  auto& sums = epochs_[report.epoch];
  const auto weight = static_cast<double>(report.examples);
  sums.examples += report.examples;
  sums.loss += report.metrics.loss * weight;
  if (!report.metrics.accuracy) return;
  sums.answered += report.examples;
  sums.right += *report.metrics.accuracy * weight;
}

void LearningCurves::add_validation(std::uint64_t epoch, const Metrics& metrics) {
  epochs_[epoch].validation = metrics;
}

std::vector<EpochMetrics> LearningCurves::epochs() const {
  std::vector<EpochMetrics> epochs;
  for (const auto& [epoch, sums] : epochs_) {
    Metrics means{std::nan(""), std::nullopt};
    if (sums.examples > 0) means.loss = sums.loss / static_cast<double>(sums.examples);
    if (sums.answered > 0) means.accuracy = sums.right / static_cast<double>(sums.answered);
    epochs.push_back({epoch, means, sums.validation});
  }
  return epochs;
}

LearningCurves read_curves(const std::filesystem::path& metrics) {
  std::ifstream file(metrics);
  if (!file) throw file_failure("read", metrics, system_reason(errno));
  LearningCurves curves;
  std::string line;
  for (std::uint64_t number = 1; std::getline(file, line); ++number) {
    // the last line was truncated when the process was killed
    if (file.eof() && !line.ends_with('}')) break;
    const auto document = parse_json(line, fmt::format("{}, line {}", metrics.string(), number));
    add_line(curves, JsonField(document));
  }
  if (file.bad()) throw file_failure("read", metrics, system_reason(errno));
  return curves;
}

}  // namespace tenon
