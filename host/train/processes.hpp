// The processes that train together, as a launcher started them. What they send goes through operators of a plugin, which the host knows by
// their names alone.
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

/// Another process does not come.
class WaitFailure : public Failure {
 public:
  using Failure::Failure;
};

/// Threads: one at a time, the same calls in the same order in all processes. The host outlives it.
class Processes {
 public:
  explicit Processes(Host& host) : host_(host) {}  ///< this one alone
  /// All that a launcher started; this one waits for another one for so many seconds at most. Throws Failure.
  Processes(Host& host, double timeout);

  bool several() const { return size_ > 1; }
  int rank() const { return rank_; }
  int size() const { return size_; }

  /// Each process's text, in the order of their ranks. Throws WaitFailure.
  std::vector<std::string> gather(const std::string& own);
  /// Each process's tensor, dense and on the CPU, which has the same dtype and shape in all; along a new first axis. Throws WaitFailure.
  Tensor gather(const Tensor& own);
  /// Whether what lies on this device can be added there: in all processes, or in none of them, which the first one warns of. All call it
  /// at once. Throws WaitFailure.
  bool can_add_on(const std::string& device);
  /// Adds by the tree of `lanes` lanes, in place; a process without a lane gets the sum alone. Dense, on the CPU or where can_add_on()
  /// says. Throws WaitFailure.
  /// background: this thread waits while another one computes.
  void add(const Tensor& own, std::int64_t lanes, bool background = false);

 private:
  Host& host_;
  double timeout_ = 0;
  int rank_ = 0, size_ = 1;
  std::map<std::tuple<std::string, DType, std::int64_t, std::int64_t, bool>, PreparedCall> sums_;  // by device, dtype, count, lanes,
                                                                                                   // background
};

}  // namespace tenon
