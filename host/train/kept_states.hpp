// A session's states from before a step of training.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "run/shared_values.hpp"

namespace tenon {

/// On a GPU both copies are work on the stream of the session's kernels, so that a step which does not fail waits for neither.
/// The session outlives it. Threads: one at a time.
class KeptStates {
 public:
  explicit KeptStates(const SharedValues& values);
  ~KeptStates() { finish(); }  // before their memory is given back
  KeptStates(const KeptStates&) = delete;
  KeptStates& operator=(const KeptStates&) = delete;

  /// Before the run that may change them. Throws Failure.
  void keep() const;
  /// Done when it returns. Where a device is lost, nothing is put back: reading the states fails, too.
  void put_back() const noexcept;

  /// As they were at keep(), for another lane of the same step. Throws Failure.
  void restore() const;
  /// Copies of what the states are now, on the CPU. Throws Failure.
  std::vector<Tensor> copies() const;
  /// Adds what two lanes made of the states: `left` gets the sums of floating ones. Throws Failure (failed) where others differ.
  void add(std::vector<Tensor>& left, const std::vector<Tensor>& right) const;
  /// Throws Failure (failed) where the states number i of two lanes, which are not floating, differ.
  void require_equal(std::size_t i, const Tensor& left, const Tensor& right) const;
  /// Sets floating ones to a `lanes`-th of the sums, others to what all lanes have. Throws Failure.
  void set_to_means(const std::vector<Tensor>& sums, std::int64_t lanes) const;

 private:
  struct State {
    std::string name;
    Tensor now, kept;
    Stream stream;
  };
  void finish() const noexcept;

  std::vector<State> states_;
};

}  // namespace tenon
