// Constants whose elements determined types or plans.
#pragma once
#include <cstdint>
#include <string>
#include <tenon/host/tensor.hpp>
#include <vector>

namespace tenon {

/// Constants that inference or planning read and that the application may write, with copies of
/// what was read: at most 64 KiB each. Threads: one at a time; any number for const functions.
class ReadConstants {
 public:
  /// `constant`: a graph's or session's handle.
  void add(const Tensor& constant, std::string name);
  void add(const ReadConstants& others);
  /// Whether the elements of a constant differ from those that were read. Costs nothing while no
  /// application has received a handle since the last call.
  bool changed() { return !read_.empty() && look(); }
  /// The name of a constant whose elements differ from those that were read; empty: none does.
  std::string find_changed() const;
  void clear() { read_.clear(); }

 private:
  struct Read {
    Tensor constant, elements;
    std::string name;
  };
  bool has(const Tensor& constant) const;
  bool look();

  std::vector<Read> read_;
  std::uint64_t versions_ = 0;  // TrackedTensor::all_versions() at the last look
  bool writable_ = true;        // the application may write without receiving a handle first
};

}  // namespace tenon
