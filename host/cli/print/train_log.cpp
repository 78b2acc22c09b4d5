#include "cli/print/train_log.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <tenon/host/failure.hpp>

#include "cli/print/parameter_text.hpp"
#include "cli/print/report.hpp"
#include "cli/streams.hpp"
#include "io/atomic_file.hpp"
#include "io/system_reason.hpp"

namespace tenon::cli {
namespace {

std::string lines_up_to(const std::filesystem::path& path, std::uint64_t step) {
  std::ifstream old(path);
  std::string lines;
  constexpr std::string_view begin = "{\"step\": ";
  for (std::string line; std::getline(old, line);) {
    if (!line.starts_with(begin) || !line.ends_with('}')) continue;  // truncated by a kill
    const auto found =
        parse_number<std::uint64_t>(line.substr(begin.size(), line.find(',') - begin.size()));
    if (found && *found <= step) lines += line + '\n';
  }
  return lines;
}

std::string clock_text(double seconds) {
  const auto whole = static_cast<long long>(std::ceil(seconds));
  return whole < 3600 ? fmt::format("{}:{:02}", whole / 60, whole % 60)
                      : fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace

std::string text_of(const Metrics& metrics) {
  auto text = fmt::format("loss {:.5g}", metrics.loss);
  if (metrics.accuracy) text += fmt::format("  accuracy {:.4f}", *metrics.accuracy);
  return text;
}

JsonItem json_of(const Metrics& metrics) {
  return json_object("loss", metrics.loss, "accuracy", metrics.accuracy);
}

void check_plot_path(const std::string& option, const std::filesystem::path& path) {
  if (path.extension() != ".svg")
    throw Failure(FailureKind::usage,
                  fmt::format("{} is '{}' but must end in .svg", option, path.string()));
  const AtomicFile tried(path);  // not committed: only tests that the file can be written
}

void write_plot(const std::filesystem::path& path, const LearningCurves& curves) {
  AtomicFile::write_text(path, draw_curves(curves.epochs()));
}

MetricsFile::MetricsFile(const std::filesystem::path& path, std::uint64_t step) : path_(path) {
  if (path.empty()) return;
  AtomicFile::write_text(path, lines_up_to(path, step));
  file_ = OpenFile(open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (file_.descriptor() < 0) throw write_failure(path, errno);
}

void MetricsFile::append(const JsonItem& line) {
  const auto text = line.text + '\n';
  const auto end = lseek(file_.descriptor(), 0, SEEK_END);
  for (std::string_view left = text; !left.empty();) {
    const auto written = ::write(file_.descriptor(), left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      auto failure = write_failure(path_, errno);
      if (left.size() < text.size() && ftruncate(file_.descriptor(), end) != 0)
        failure = write_failure(path_, errno);
      throw failure;
    }
    left.remove_prefix(static_cast<std::size_t>(written));
  }
}

void MetricsFile::write(const StepReport& report) {
  if (path_.empty()) return;
  const auto& [loss, accuracy] = report.metrics;
  append(json_object("step", report.step, "epoch", report.epoch, "loss", loss, "accuracy", accuracy,
                     "learning_rate", report.rate, "examples", report.examples));
}

void MetricsFile::write_validation(std::uint64_t step, std::uint64_t epoch,
                                   const Metrics& metrics) {
  if (path_.empty()) return;
  append(json_object("step", step, "epoch", epoch, "validation", json_of(metrics)));
}

Progress::Progress(std::uint64_t epochs, std::uint64_t steps_per_epoch, std::uint64_t first_step)
    : epochs_(epochs),
      steps_per_epoch_(steps_per_epoch),
      first_step_(first_step),
      terminal_(interactive()) {}

double Progress::seconds() const {
  return std::chrono::duration<double>(Clock::now() - begin_).count();
}

void Progress::step(const StepReport& report) {
  using std::chrono::milliseconds;
  examples_ += report.examples;
  epoch_.add_step(report);
  if (!terminal_ || Clock::now() - shown_ < milliseconds(100)) return;
  shown_ = Clock::now();
  const auto total = epochs_ * steps_per_epoch_, done = report.step - first_step_;
  const auto left = total > report.step ? static_cast<double>(total - report.step) : 0;
  write_message("\r\033[Kepoch {}/{}  step {}/{}  {}  {:.0f} examples/s  {} left", report.epoch + 1,
                epochs_, report.step, total, text_of(means()),
                static_cast<double>(examples_) / seconds(),
                clock_text(seconds() / static_cast<double>(done) * left));
  open_ = true;
}

void Progress::epoch(std::uint64_t step, std::uint64_t epoch,
                     const std::optional<Metrics>& validation) {
  if (open_) write_message("\r\033[K");
  write_message("epoch {}/{}  step {}  {}{}  {:.0f} examples/s\n", epoch, epochs_, step,
                text_of(means()), validation ? "  validation " + text_of(*validation) : "",
                static_cast<double>(examples_) / seconds());
  open_ = false;
  epoch_ = {};
}

Metrics Progress::means() const {
  const auto epochs = epoch_.epochs();
  return epochs.empty() ? Metrics{std::nan(""), std::nullopt} : epochs.back().training;
}

void Progress::end() {
  if (open_) write_message("\n");
  open_ = false;
}

}  // namespace tenon::cli
