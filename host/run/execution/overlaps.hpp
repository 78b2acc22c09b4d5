// Detects overlaps between a caller's tensors.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "run/execution/execution.hpp"

namespace tenon {

/// Detects caller's memory that a run writes and also reads, or writes for two outputs: there,
/// results would depend on the order of the steps. The execution's variables, states and constants
/// must not move. Threads: one at a time.
class Overlaps {
 public:
  explicit Overlaps(const Execution& execution);

  void begin() { bound_.clear(); }
  /// Adds the memory that the execution uses for this value.
  void add(ValueId value, bool written) { add_range(bound_, value, written); }
  /// Adds the memory of a dense tensor.
  void add(const Tensor& tensor, bool written) {
    add_range(bound_, tensor.data(), tensor.bytes(), written);
  }
  bool any();

 private:
  struct Range {
    const std::byte *begin, *end;
    bool written = false;
  };
  void add_range(std::vector<Range>& ranges, ValueId value, bool written) const;
  static void add_range(std::vector<Range>& ranges, const void* data, std::int64_t bytes,
                        bool written);

  const Execution& execution_;
  std::vector<Range> stored_;  // memory of variables, states and constants, sorted
  std::vector<Range> bound_;   // inputs and outputs of one run
};

}  // namespace tenon
