// Buckets of dense gradients that processes add, and the thread that adds them while later
// gradients are computed.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <map>
#include <mutex>
#include <string>
#include <tenon/host/session.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "train/processes.hpp"

namespace tenon {

/// Groups gradients of these dtypes and shapes, in the order in which they are computed, into
/// buckets: returns the end index of each bucket. The more processes there are, the more sequential
/// messages a bucket takes, so the larger it is; results do not depend on it.
std::vector<std::size_t> bucket_ends(const std::vector<std::pair<DType, Shape>>& gradients,
                                     int processes);

/// Gradients of one dtype that are adjacent in the order of the backward pass share a bucket, which
/// is added as a whole. All processes add the same buckets in the same order. Threads: one at a
/// time, except ready().
class GradientBuckets {
 public:
  explicit GradientBuckets(Processes& processes) : processes_(processes) {}
  ~GradientBuckets();
  GradientBuckets(const GradientBuckets&) = delete;
  GradientBuckets& operator=(const GradientBuckets&) = delete;

  /// To be called once, with gradients of these types in the order in which they are computed; on
  /// the CPU, or on a device where Processes can add.
  void lay_out(const std::vector<std::pair<std::string, Tensor>>& gradients,
               const std::string& device);
  bool laid_out() const { return laid_out_; }
  /// The memory of each gradient, by name.
  const NamedTensors& views() const { return views_; }

  /// From here on, a bucket is added as soon as all its gradients, and the buckets before it, are
  /// ready.
  void begin(std::int64_t micro_batches);
  bool begun() const { return begun_; }
  void ready(const std::string& name);  ///< the gradient's memory holds this process's contribution
  /// Marks all gradients as ready, and returns when the sums are complete. Throws WaitFailure.
  void finish();

 private:
  struct Bucket {
    Tensor flat;
    std::size_t gradients = 0, waits_for = 0;  // counts
  };
  void add_buckets();

  Processes& processes_;
  std::vector<Bucket> buckets_;
  NamedTensors views_;
  std::map<std::string, std::size_t> bucket_of_;
  bool laid_out_ = false, begun_ = false;
  std::int64_t micro_batches_ = 0;

  std::mutex changing_;  // guards the following members and Bucket::waits_for
  std::condition_variable changed_;
  bool adds_ = false, finishing_ = false, ends_ = false;
  std::exception_ptr failure_;
  std::thread adder_;
};

}  // namespace tenon
