// Packed weights of the built-in kernels: packed constants of the session, or packed for one call.
#pragma once
#include <cstdint>
#include <tenon/operator.hpp>

#include "onednn/onednn.hpp"

/// Calls body(i) for i below count, on this thread.
struct OneByOne {
  void operator()(std::int64_t count, const auto& body) const {
    for (std::int64_t i = 0; i < count; ++i) body(i);
  }
};

class PackedWeights {
 public:
  /// prepacked: the weights as products.pack() leaves them, or null to pack them now, on all
  /// threads, in tasks of `grain` panels.
  template <class Products>
  PackedWeights(const tenon::Call& call, const Products& products, const float* weight,
                const void* prepacked, std::int64_t grain)
      : own_(prepacked ? 0 : products.packed_bytes()), data_(prepacked ? prepacked : own_.data()) {
    if (prepacked) return;
    products.pack(weight, own_.data(), [&](std::int64_t count, const auto& body) {
      call.parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
        for (auto i = begin; i < end; ++i) body(i);
      });
    });
  }
  const void* data() const { return data_; }

 private:
  onednn::Buffer own_;
  const void* data_;
};
