// Kernels for these tests, launched like a plugin's: by another copy of the CUDA runtime, on
// Tenon's streams.
#pragma once
#include <cstdint>
#include <tenon/fn.hpp>

/// Adds 1 to each of n numbers. `stream` is a cudaStream_t.
void launch_add_one(std::uint32_t* data, std::int64_t n, void* stream);

/// to[i] = 1,000 times the outer index of point i plus its inner index, in a box [outer, inner].
/// `wide`: uses the 64-bit indices of boxes with more than 2^31 points.
void launch_offsets(std::uint32_t* to, std::int64_t outer, std::int64_t inner, bool wide,
                    void* stream);

/// A number of `bytes` bytes, without a default constructor, because reductions need none.
template <int bytes>
struct Mixed {
  unsigned char part[bytes];
  explicit TENON_FN Mixed(unsigned seed) : part{} {
    for (int i = 0; i < bytes; ++i)
      part[i] = static_cast<unsigned char>(seed * 37u + static_cast<unsigned>(i) * 11u);
  }
};

/// Neither associative nor commutative: the result shows the order of combination.
struct Mix {
  template <int bytes>
  TENON_FN Mixed<bytes> operator()(Mixed<bytes> left, Mixed<bytes> right) const {
    for (int i = 0; i < bytes; ++i) {
      const unsigned l = left.part[i], r = right.part[bytes - 1 - i];
      left.part[i] = static_cast<unsigned char>((l * 3 + 1) ^ (r * 5 + (l >> 4)));
    }
    return left;
  }
};

/// results[thread] = Mix of a block's reduce() of Mixed(7 + thread) and then of Mixed(thread).
template <int bytes>
void launch_mix(Mixed<bytes>* results, void* stream);

/// Writes to memory that is not allocated.
void launch_wild_write(void* stream);
