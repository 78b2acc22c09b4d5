// In-memory examples, and the batches of an epoch.
#pragma once
#include <cstdint>
#include <tenon/host/session.hpp>
#include <vector>

#include "tensor/backing_files.hpp"

namespace tenon {

/// Named tensors whose first dimension is the number of examples. An epoch's order depends only on
/// the seed and the epoch's number, so a training can resume in the middle of an epoch without
/// stored state. Threads: one at a time.
class Batches {
 public:
  /// Throws Failure (usage) if there are no examples, or tensors disagree on their number.
  Batches(NamedTensors data, std::int64_t batch, std::uint64_t seed, bool shuffle = true);

  const NamedTensors& data() const { return data_; }
  std::int64_t examples() const { return examples_; }
  std::int64_t batch() const { return batch_; }
  std::int64_t count() const {
    return (examples_ + batch_ - 1) / batch_;
  }  ///< batches of an epoch; the last one may be smaller

  /// The batch that begins after `position` examples of the epoch; position < examples().
  /// Throws Failure (file) if a mapped file of the data has changed.
  NamedTensors take(std::uint64_t epoch, std::int64_t position, std::int64_t max_examples);
  NamedTensors take(std::uint64_t epoch, std::int64_t position) {
    return take(epoch, position, batch_);
  }

  /// The example at each position of the epoch.
  const std::vector<std::int64_t>& order_of(std::uint64_t epoch);

 private:
  NamedTensors data_;
  BackingFiles files_;  // of data_
  std::int64_t batch_, examples_ = 0;
  std::uint64_t seed_;
  bool shuffle_;
  std::uint64_t epoch_ = 0;          // the epoch of order_
  std::vector<std::int64_t> order_;  // empty: not computed yet
};

}  // namespace tenon
