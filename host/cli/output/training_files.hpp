// Files of a training.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <tenon/host/draw.hpp>
#include <tenon/host/trainer.hpp>
#include <vector>

#include "cli/command.hpp"
#include "cli/output/output_lock.hpp"

namespace tenon::cli {

/// Checks all paths before any work: they can be written, differ from each other and from the
/// inputs, and are locked against other trainings for the lifetime of this object. Without
/// --checkpoint, an interrupted training is saved next to the output.
class TrainingFiles {
 public:
  /// `writes` is false for the processes of a distributed training that write nothing; they know
  /// only the checkpoint. Throws Failure.
  TrainingFiles(const Arguments& arguments, bool writes);

  const std::filesystem::path& output() const { return output_; }  ///< empty if there is none
  const std::filesystem::path& checkpoint() const { return checkpoint_; }
  const std::filesystem::path& metrics() const { return metrics_; }  ///< empty if there is none
  const std::filesystem::path& plot() const { return plot_; }        ///< empty if there is none
  /// also at the end of an uninterrupted training
  bool always_checkpoint() const { return always_ || every_ > 0; }
  bool checkpoint_is_due(std::uint64_t step) const { return every_ > 0 && step % every_ == 0; }

  /// Writes the checkpoint, or if that fails, one next to the output. Returns its path. Throws the
  /// first Failure if both fail.
  std::filesystem::path save_unfinished(const Trainer& trainer) const;

 private:
  void check() const;

  std::filesystem::path output_, checkpoint_, metrics_, plot_;
  std::uint64_t every_;
  bool always_;  // --checkpoint was given
  std::vector<OutputLock> locks_;
};

}  // namespace tenon::cli
