// Constants whose elements determined plans.
#pragma once
#include <cstdint>
#include <tenon/host/tensor.hpp>
#include <vector>

namespace tenon {

/// The constants that planning read and that the application may write, with copies of what was
/// read: at most 64 KiB each. Threads: one at a time.
class PlanningConstants {
 public:
  /// A graph's or session's handle of a constant that planning read.
  void add(const Tensor& constant);
  /// Whether the elements of a constant differ from those that planning read. Costs nothing while
  /// no application has received a handle since the last call.
  bool changed() { return !read_.empty() && look(); }
  void clear() { read_.clear(); }

 private:
  struct Read {
    Tensor constant, elements;
  };
  bool look();

  std::vector<Read> read_;
  std::uint64_t versions_ = 0;  // TrackedTensor::all_versions() at the last look
  bool writable_ = true;        // the application may write without receiving a handle first
};

}  // namespace tenon
