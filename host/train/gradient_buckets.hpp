// Dense gradients where processes add them, and the thread that adds them while later ones are still computed.
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

/// Which gradients share a bucket, of these dtypes and shapes, in the order in which they are computed: for each bucket the number of the
/// first that is not in it. The more processes there are, the more messages a bucket takes one after the other, and the larger it is; no
/// bit depends on that.
std::vector<std::size_t> bucket_ends(const std::vector<std::pair<DType, Shape>>& gradients, int processes);

/// Gradients of one dtype that are neighbours in the order of the backward pass share a bucket, which is added as a whole. All processes
/// add the same buckets in the same order. Threads: one at a time, but for ready().
class GradientBuckets {
 public:
  explicit GradientBuckets(Processes& processes) : processes_(processes) {}
  ~GradientBuckets();
  GradientBuckets(const GradientBuckets&) = delete;
  GradientBuckets& operator=(const GradientBuckets&) = delete;

  /// Once, for gradients like these, in the order in which they are computed; on the CPU, or where Processes can add.
  void lay_out(const std::vector<std::pair<std::string, Tensor>>& gradients, const std::string& device);
  bool laid_out() const { return laid_out_; }
  /// Where each lies, by its name.
  const NamedTensors& places() const { return places_; }

  /// From here on a bucket is added as soon as all of its gradients, and the buckets before it, are ready.
  void begin(std::int64_t lanes);
  bool begun() const { return begun_; }
  void ready(const std::string& name);  ///< its place has what this process adds
  /// All are ready, whatever is there. Returns when the sums are. Throws WaitFailure.
  void finish();

 private:
  struct Bucket {
    Tensor flat;
    std::size_t gradients = 0, waits_for = 0;  // how many
  };
  void add_buckets();

  Processes& processes_;
  std::vector<Bucket> buckets_;
  NamedTensors places_;
  std::map<std::string, std::size_t> bucket_of_;
  bool laid_out_ = false, begun_ = false;
  std::int64_t lanes_ = 0;

  std::mutex changing_;  // of what follows, and of Bucket::waits_for
  std::condition_variable changed_;
  bool adds_ = false, finishing_ = false, ends_ = false;
  std::exception_ptr failure_;
  std::thread adder_;
};

}  // namespace tenon
