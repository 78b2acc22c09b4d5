// Examples in memory, and the batches that an epoch takes them in.
#pragma once
#include <cstdint>
#include <tenon/host/session.hpp>
#include <vector>

#include "tensor/backing_files.hpp"

namespace tenon {

/// Named tensors whose first dimension counts the examples. The order of an epoch follows from the seed and the epoch's number alone, so
/// that a training goes on in the middle of one without anything kept. Threads: one at a time.
class Batches {
 public:
  /// Throws Failure (usage) where there are no examples, or tensors disagree on their number.
  Batches(NamedTensors data, std::int64_t batch, std::uint64_t seed, bool shuffle = true);

  const NamedTensors& data() const { return data_; }
  std::int64_t examples() const { return examples_; }
  std::int64_t batch() const { return batch_; }
  std::int64_t count() const { return (examples_ + batch_ - 1) / batch_; }  ///< batches of an epoch; the last may be short

  /// The batch that begins after `position` examples of the epoch, position below examples(). `most`: at most so many examples. Throws
  /// Failure (file) where a mapped file of the data has changed.
  NamedTensors take(std::uint64_t epoch, std::int64_t position, std::int64_t most);
  NamedTensors take(std::uint64_t epoch, std::int64_t position) { return take(epoch, position, batch_); }

  /// Which example stands where in the epoch.
  const std::vector<std::int64_t>& order_of(std::uint64_t epoch);

 private:
  NamedTensors data_;
  BackingFiles files_;  // of data_
  std::int64_t batch_, examples_ = 0;
  std::uint64_t seed_;
  bool shuffle_;
  std::uint64_t epoch_ = 0;          // that order_ belongs to
  std::vector<std::int64_t> order_;  // empty: not made yet
};

}  // namespace tenon
