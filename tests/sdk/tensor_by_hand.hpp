// A tensor for tests of kernels: values as doubles, any dtype, any strides, with guard bytes around
// every element.
#pragma once

#include <cstdint>
#include <cstring>
#include <tenon/visit.hpp>
#include <vector>

namespace by_hand {

using Dims = std::vector<std::int64_t>;
using Values = std::vector<double>;

inline constexpr tenon::DType floating_dtypes[] = {tenon::f16, tenon::bf16, tenon::f32, tenon::f64};

/// Numbers in [0.5, 2]: away from points where a quotient has no derivative, and exact as f16 and
/// bf16.
inline Values some_values(std::int64_t n, int seed) {
  Values values;
  for (std::int64_t i = 0; i < n; ++i)
    values.push_back(0.5 + 0.125 * static_cast<double>((i * 5 + seed * 3) % 13));
  return values;
}

inline std::int64_t count(const Dims& dims) {
  std::int64_t n = 1;
  for (const auto dim : dims) n *= dim;
  return n;
}

/// Layouts of the elements: contiguous; reversed order of axes; every third element; backwards; one
/// element for all.
enum class Layout { contiguous, transposed, gaps, backwards, repeated };

class Tensor {
 public:
  Tensor() = default;
  Tensor(tenon::DType dtype, Dims dims, Layout layout = Layout::contiguous)
      : dtype_(dtype), dims_(std::move(dims)) {
    lay_out(layout);
    bytes_.assign(static_cast<std::size_t>(fence + span_ + fence) * size(), 0xa5);
  }
  Tensor(tenon::DType dtype, Dims dims, const Values& values, Layout layout = Layout::contiguous)
      : Tensor(dtype, std::move(dims), layout) {
    for (std::int64_t i = 0; i < count(dims_); ++i) set(i, values[static_cast<std::size_t>(i)]);
  }

  tenon::DType dtype() const { return dtype_; }
  const Dims& dims() const { return dims_; }

  /// The i-th element in row-major order.
  double get(std::int64_t i) const {
    return tenon::visit(dtype_, [&]<class T>() {
      T value;
      std::memcpy(&value, place(i), sizeof value);
      return static_cast<double>(value);
    });
  }
  void set(std::int64_t i, double number) {
    tenon::visit(dtype_, [&]<class T>() {
      const T value = static_cast<T>(number);
      std::memcpy(const_cast<unsigned char*>(place(i)), &value, sizeof value);
    });
  }
  Values values() const {
    Values values;
    for (std::int64_t i = 0; i < count(dims_); ++i) values.push_back(get(i));
    return values;
  }
  const std::vector<unsigned char>& bytes() const { return bytes_; }

  /// Whether all guard bytes are unchanged.
  bool fenced() const {
    std::vector<bool> ours(bytes_.size());
    for (std::int64_t i = 0; i < count(dims_); ++i)
      for (std::size_t k = 0; k < size(); ++k)
        ours[static_cast<std::size_t>(place(i) - bytes_.data()) + k] = true;
    for (std::size_t k = 0; k < bytes_.size(); ++k)
      if (!ours[k] && bytes_[k] != 0xa5) return false;
    return true;
  }

  /// The tensor at the C boundary; valid while this object is.
  tenon_tensor* raw() {
    raw_ = {};
    raw_.size = sizeof raw_;
    raw_.dtype = static_cast<std::uint8_t>(dtype_);
    raw_.dense.data = bytes_.data();
    raw_.dense.byte_offset = static_cast<std::uint64_t>(fence + origin_) * size();
    raw_.dense.device_type = TENON_CPU;
    raw_.dense.ndim = static_cast<std::int32_t>(dims_.size());
    raw_.dense.shape = dims_.data();
    raw_.dense.strides = strides_.empty() ? nullptr : strides_.data();
    return &raw_;
  }

 private:
  static constexpr std::int64_t fence = 64;

  std::size_t size() const { return tenon::size_of(dtype_); }

  void lay_out(Layout layout) {
    span_ = count(dims_);
    if (layout == Layout::contiguous || dims_.empty()) return;
    strides_.assign(dims_.size(), 1);
    const auto fill = [&](std::size_t axis, std::int64_t& next) {
      strides_[axis] = next;
      next *= dims_[axis];
    };
    std::int64_t next = layout == Layout::gaps ? 3 : layout == Layout::backwards ? -1 : 1;
    for (std::size_t i = 0; i < dims_.size(); ++i)
      fill(layout == Layout::transposed ? i : dims_.size() - 1 - i, next);
    if (layout == Layout::gaps) span_ *= 3;
    if (layout == Layout::backwards) origin_ = span_ - 1;
    if (layout == Layout::repeated) strides_.assign(dims_.size(), 0);
  }
  const unsigned char* place(std::int64_t i) const {
    std::int64_t offset = origin_, row_major = 1;
    for (std::size_t axis = dims_.size(); axis-- > 0; row_major *= dims_[axis], i /= dims_[axis])
      offset += i % dims_[axis] * (strides_.empty() ? row_major : strides_[axis]);
    return bytes_.data() + static_cast<std::size_t>(fence + offset) * size();
  }

  tenon::DType dtype_ = tenon::f32;
  Dims dims_, strides_;
  std::int64_t span_ = 0, origin_ = 0;
  std::vector<unsigned char> bytes_;
  tenon_tensor raw_{};
};

/// Returns the index in a broadcast tensor of element i of `wide`.
inline std::int64_t source_of(std::int64_t i, const Dims& wide, const Dims& narrow) {
  std::int64_t source = 0, step = 1;
  for (std::size_t back = 1; back <= wide.size(); ++back) {
    const std::int64_t dim = wide[wide.size() - back], at = i % dim;
    i /= dim;
    if (back > narrow.size()) continue;
    const std::int64_t own = narrow[narrow.size() - back];
    if (own != 1) source += at * step;
    step *= own;
  }
  return source;
}

}  // namespace by_hand
