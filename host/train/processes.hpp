// The processes of a distributed training, as started by a launcher. They communicate by operators
// of a plugin, which the host knows only by name.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <tenon/host/failure.hpp>
#include <tenon/host/host.hpp>
#include <tenon/host/prepared_call.hpp>
#include <tenon/host/tensor.hpp>
#include <tuple>
#include <vector>

namespace tenon {

/// Another process did not respond in time.
class WaitFailure : public Failure {
 public:
  using Failure::Failure;
};

/// Threads: one at a time; all processes make the same calls in the same order. The host outlives
/// it.
class Processes {
 public:
  explicit Processes(Host& host) : host_(host) {}  ///< only this process
  /// All processes that the launcher started; `timeout` is the maximum wait for another process in
  /// seconds. Throws Failure.
  Processes(Host& host, double timeout);

  bool several() const { return size_ > 1; }
  int rank() const { return rank_; }
  int size() const { return size_; }

  /// Each process's text, in rank order. Throws WaitFailure.
  std::vector<std::string> gather(const std::string& own);
  /// The tensors of all processes, stacked along a new first axis. They are dense, on the CPU, and
  /// have the same dtype and shape. Throws WaitFailure.
  Tensor gather(const Tensor& own);
  /// Whether tensors on this device can be added there; the answer is the same in all processes,
  /// and rank 0 warns if they cannot. A collective call. Throws WaitFailure.
  bool can_add_on(const std::string& device);
  /// Adds in place, in the order of the tree of `micro_batches`; a process without a micro-batch
  /// only receives the sum. Dense tensors, on the CPU or on a device for which can_add_on() is
  /// true. Throws WaitFailure.
  /// background: this thread waits while another one computes.
  void add(const Tensor& own, std::int64_t micro_batches, bool background = false);

 private:
  Host& host_;
  double timeout_ = 0;
  int rank_ = 0, size_ = 1;
  std::map<std::tuple<std::string, DType, std::int64_t, std::int64_t, bool>, PreparedCall>
      sums_;  // by device, dtype, count, micro_batches, background
};

}  // namespace tenon
