// The mapping of padded indices to indices of x along one axis.
#pragma once
#include <cstdint>
#include <tenon/fn.hpp>
#include <vector>

enum class PadMode : std::uint8_t { constant, edge, reflect, wrap };

/// The index in x for index i of y, where i counts from x's first element; -1: the constant.
TENON_FN inline std::int64_t pad_source(PadMode mode, std::int64_t i, std::int64_t size) {
  if (i >= 0 && i < size) return i;
  if (mode == PadMode::constant) return -1;
  if (mode == PadMode::edge) return i < 0 ? 0 : size - 1;
  if (size == 1) return 0;
  if (mode == PadMode::wrap) return (i % size + size) % size;
  const auto period = 2 * (size - 1), phase = (i % period + period) % period;
  return phase < size ? phase : period - phase;
}

/// The sources of the elements along one axis of y: indices of x, or -1 for the constant.
class PadAxis {
 public:
  PadAxis(PadMode mode, std::int64_t before, std::int64_t size, std::int64_t after)
      : source_(static_cast<std::size_t>(before + size + after)) {
    for (std::int64_t i = 0; i < padded(); ++i)
      source_[static_cast<std::size_t>(i)] = pad_source(mode, i - before, size);
  }
  std::int64_t padded() const { return static_cast<std::int64_t>(source_.size()); }
  std::int64_t operator[](std::int64_t i) const { return source_[static_cast<std::size_t>(i)]; }

 private:
  std::vector<std::int64_t> source_;
};
