// Whether a caller's tensors overlap.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "run/execution/execution.hpp"

namespace tenon {

/// Looks for memory that a run writes for its caller and that it reads as well, or writes for something else: there, results follow from
/// the order of the steps. Of an execution whose variables, states and constants stay where they are. Threads: one at a time.
class Overlaps {
 public:
  explicit Overlaps(const Execution& execution);

  void begin() { bound_.clear(); }
  /// What the execution reads or writes of this value.
  void add(ValueId value, bool written) { add_range(bound_, value, written); }
  /// The memory of a dense tensor.
  void add(const Tensor& tensor, bool written) { add_range(bound_, tensor.data(), tensor.bytes(), written); }
  bool any();

 private:
  struct Range {
    const std::byte *begin, *end;
    bool written = false;
  };
  void add_range(std::vector<Range>& ranges, ValueId value, bool written) const;
  static void add_range(std::vector<Range>& ranges, const void* data, std::int64_t bytes, bool written);

  const Execution& execution_;
  std::vector<Range> kept_;   // memory of variables, states and constants, in order
  std::vector<Range> bound_;  // of one run: of inputs and outputs
};

}  // namespace tenon
