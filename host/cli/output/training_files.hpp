// Where the files of a training go.
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

/// Checked before any work: the paths can be written, differ from each other and from what is read, and belong to no other training as
/// long as this object lives. Without --checkpoint, an interrupted training is kept beside the output.
class TrainingFiles {
 public:
  /// writes: false for one of several processes that train together, of which another one writes: only the checkpoint is known then.
  /// Throws Failure.
  TrainingFiles(const Arguments& arguments, bool writes);

  const std::filesystem::path& output() const { return output_; }  ///< empty: none
  const std::filesystem::path& checkpoint() const { return checkpoint_; }
  const std::filesystem::path& metrics() const { return metrics_; }  ///< empty: none
  const std::filesystem::path& plot() const { return plot_; }        ///< empty: none
  bool always_checkpoint() const { return always_ || every_ > 0; }   ///< also at the end of a training that nothing disturbed
  bool wants_checkpoint(std::uint64_t step) const { return every_ > 0 && step % every_ == 0; }

  /// Writes the checkpoint; where that fails, beside the output. Returns the path. Throws the first Failure where neither can be written.
  std::filesystem::path keep(const Trainer& trainer) const;

 private:
  void check() const;

  std::filesystem::path output_, checkpoint_, metrics_, plot_;
  std::uint64_t every_;
  bool always_;  // the checkpoint was asked for
  std::vector<OutputLock> locks_;
};

}  // namespace tenon::cli
