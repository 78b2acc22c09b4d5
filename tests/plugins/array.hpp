// Tensors of the plugin tests: elements of any dtype in memory with guarded margins, and the same
// elements as double for oracles.
#pragma once
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <span>
#include <tenon/shape.hpp>
#include <tenon/visit.hpp>
#include <vector>

using Integers = std::vector<std::int64_t>;

inline constexpr tenon::DType all_floating[] = {tenon::f32, tenon::f64, tenon::f16, tenon::bf16};

/// The data type of oracles.
struct DoubleArray {
  tenon::Shape shape;
  std::vector<double> values;

  double& operator[](std::int64_t i) { return values[static_cast<std::size_t>(i)]; }
  double operator[](std::int64_t i) const { return values[static_cast<std::size_t>(i)]; }
  std::int64_t dim(int axis) const { return shape[axis]; }
  std::int64_t size() const { return static_cast<std::int64_t>(values.size()); }
};

inline DoubleArray zeros(const tenon::Shape& shape) {
  return {shape, std::vector<double>(static_cast<std::size_t>(shape.size()))};
}

class Array {
 public:
  Array() = default;  ///< an absent optional input
  /// All bits of the elements are set (NaN, or -1), so that elements that are never written are
  /// detected.
  Array(tenon::DType dtype, const tenon::Shape& shape)
      : type_{shape, dtype},
        bytes_(static_cast<std::size_t>(shape.size()) * tenon::size_of(dtype) + 2 * margin, 0xff) {
    std::memset(bytes_.data(), watch, margin);
    std::memset(bytes_.data() + bytes_.size() - margin, watch, margin);
  }
  Array(tenon::DType dtype, const DoubleArray& from) : Array(dtype, from.shape) {
    tenon::visit(dtype, [&]<class T>() {
      for (std::int64_t i = 0; i < from.size(); ++i) data<T>()[i] = to_element<T>(from[i]);
    });
  }

  explicit operator bool() const { return !bytes_.empty(); }
  const tenon::TensorType& type() const { return type_; }
  std::size_t bytes() const { return bytes_.size() - 2 * margin; }
  void* memory() { return bytes_.data() + margin; }
  const void* memory() const { return bytes_.data() + margin; }
  template <class T>
  T* data() {
    return static_cast<T*>(memory());
  }

  DoubleArray doubles() const {
    auto result = zeros(type_.shape);
    tenon::visit(type_.dtype, [&]<class T>() {
      for (std::int64_t i = 0; i < result.size(); ++i)
        result[i] = static_cast<double>(static_cast<const T*>(memory())[i]);
    });
    return result;
  }

  static constexpr std::size_t margin = 64;
  /// The whole memory: the elements begin after `margin` bytes.
  std::span<std::uint8_t> with_margins() { return bytes_; }

  bool same_bits(const Array& other) const { return bytes_ == other.bytes_; }
  /// Whether nothing was written before the first element or after the last one.
  bool margins_untouched() const {
    for (std::size_t i = 0; i < margin; ++i)
      if (bytes_[i] != watch || bytes_[bytes_.size() - 1 - i] != watch) return false;
    return true;
  }

 private:
  static constexpr std::uint8_t watch = 0xa5;

  template <class T>
  static T to_element(double value) {
    if constexpr (std::is_same_v<T, tenon::half> || std::is_same_v<T, tenon::bfloat16>)
      return T(static_cast<float>(value));
    else
      return static_cast<T>(value);
  }

  tenon::TensorType type_;
  std::vector<std::uint8_t> bytes_;
};

/// Numbers in [-1, 1) that are exact in float and double.
inline DoubleArray random_doubles(const tenon::Shape& shape, unsigned seed) {
  std::mt19937 generator(seed);
  auto result = zeros(shape);
  for (auto& value : result.values) value = static_cast<double>(generator() % 65536) / 32768 - 1;
  return result;
}

inline DoubleArray random_indices(const tenon::Shape& shape, unsigned limit, unsigned seed) {
  std::mt19937 generator(seed);
  auto result = zeros(shape);
  for (auto& value : result.values) value = generator() % limit;
  return result;
}
