// Backs up a session's states before a training step.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "run/shared_values.hpp"

namespace tenon {

/// On a GPU both copies are enqueued on the session's kernel stream, so that a successful step does
/// not wait for them. The session outlives it. Threads: one at a time.
class StepStateBackup {
 public:
  explicit StepStateBackup(const SharedValues& values);
  ~StepStateBackup() { finish(); }  // before the memory is released
  StepStateBackup(const StepStateBackup&) = delete;
  StepStateBackup& operator=(const StepStateBackup&) = delete;

  /// To be called before the run that may change the states. Throws Failure.
  void save() const;
  /// Complete when it returns. If a device is lost, nothing is restored: reading the states fails,
  /// too.
  void put_back() const noexcept;

  /// Restores the states of save(), for the next micro-batch of the same step. Throws Failure.
  void restore() const;
  /// Copies of the current states, on the CPU. Throws Failure.
  std::vector<Tensor> copies() const;
  /// Combines the states after two micro-batches: adds floating-point ones to `left`. Throws
  /// Failure (failed) if others differ.
  void add(std::vector<Tensor>& left, const std::vector<Tensor>& right) const;
  /// Throws Failure (failed) if state number i, which is not floating-point, differs between two
  /// micro-batches.
  void require_equal(std::size_t i, const Tensor& left, const Tensor& right) const;
  /// Sets floating-point states to the sums divided by `micro_batches`, and the others to the
  /// common value. Throws Failure.
  void set_to_means(const std::vector<Tensor>& sums, std::int64_t micro_batches) const;

 private:
  struct State {
    std::string name;
    Tensor now, backup;
    Stream stream;
  };
  void finish() const noexcept;

  std::vector<State> states_;
};

}  // namespace tenon
