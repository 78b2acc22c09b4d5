#include "cli/output/training_files.hpp"

#include <fmt/format.h>

#include "cli/output/output_paths.hpp"
#include "cli/print/train_log.hpp"
#include "cli/streams.hpp"
#include "io/atomic_file.hpp"

namespace tenon::cli {
namespace {

namespace fs = std::filesystem;

fs::path default_checkpoint(const fs::path& output) {
  return fs::path(output).replace_extension(".checkpoint.tenon");
}

}  // namespace

TrainingFiles::TrainingFiles(const Arguments& arguments, bool writes)
    : output_(arguments.get("output")),
      checkpoint_(arguments.get("checkpoint")),
      metrics_(arguments.get("metrics")),
      plot_(arguments.get("plot")),
      every_(arguments.count("checkpoint-every")),
      always_(!checkpoint_.empty()) {
  if (output_.empty() && checkpoint_.empty())
    throw Failure(FailureKind::usage, "--output is required",
                  "tenon train graph.json --data x=x.npy -o model.tenon");
  if (checkpoint_.empty()) checkpoint_ = default_checkpoint(output_);
  if (!writes) {
    for (auto* path : {&output_, &metrics_, &plot_}) path->clear();
    every_ = 0;
    always_ = false;
    return;
  }
  check();
  std::vector<NamedFile> outputs{{"--output", output_},
                                 {"--checkpoint", checkpoint_},
                                 {"--metrics", metrics_},
                                 {"--plot", plot_}};
  std::erase_if(outputs, [](const NamedFile& file) { return file.path.empty(); });
  auto written = outputs;
  for (const auto& [name, path] : outputs)
    written.push_back({"the lock of " + name, lock_path(path)});
  refuse_same_outputs(written);
  // Training may continue in the graph's own file, so --output may be GRAPH.
  std::vector<NamedFile> inputs{{"GRAPH", arguments.get("GRAPH")}};
  for (const auto* option : {"data", "validate"})
    for (auto& file : array_files(arguments, option)) inputs.push_back(std::move(file));
  refuse_lost_inputs({{"--metrics", metrics_}, {"--plot", plot_}}, inputs);
  for (const auto& file : outputs) locks_.emplace_back(file.path);
}

void TrainingFiles::check() const {
  for (const auto& path : {output_, checkpoint_}) {
    if (path.empty()) continue;
    if (path.extension() != ".tenon")
      throw Failure(FailureKind::usage,
                    fmt::format("output is '{}' but must end in .tenon", path.string()));
    if (const auto folder = path.parent_path(); !folder.empty() && !fs::is_directory(folder))
      throw Failure(FailureKind::file, fmt::format("cannot write {}: there is no folder {}",
                                                   path.string(), folder.string()));
    const AtomicFile tried(path);  // not committed: only tests that the file can be written
  }
  if (!plot_.empty()) check_plot_path("--plot", plot_);
  if (!metrics_.empty()) const AtomicFile tried(metrics_);
}

fs::path TrainingFiles::save_unfinished(const Trainer& trainer) const {
  try {
    trainer.save_checkpoint(checkpoint_);
    return checkpoint_;
  } catch (const Failure& failure) {
    auto other = output_.empty() ? fs::path() : default_checkpoint(output_);
    if (other.empty() || other == checkpoint_) throw;
    write_message("warning: {}; {} is written instead\n", failure.what(), other.string());
    try {
      trainer.save_checkpoint(other);
    } catch (const Failure&) {
      throw failure;
    }
    return other;
  }
}

}  // namespace tenon::cli
