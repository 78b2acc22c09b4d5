#include "onnx/operators/matrix.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tenon::onnx {
namespace {

// Product of the sizes from `begin` to `end`. A size of 0 gives 0, even if others are unknown.
std::int64_t product_of_sizes(const Shape& shape, int begin, int end) {
  std::int64_t product = 1;
  for (int i = begin; i < end; ++i) {
    if (shape[i] == 0) return 0;
    if (product == unknown || shape[i] == unknown ||
        __builtin_mul_overflow(product, shape[i], &product))
      product = unknown;
  }
  return product;
}

// Extracts `bits` bits from bit `first` on of unsigned 64-bit integers, as float64.
Operand limb(NodeImport& node, const Operand& x, std::int64_t first, std::int64_t bits) {
  const auto number = [&](std::int64_t value) {
    return node.constant(Tensor::from({static_cast<std::uint64_t>(value)}, Shape::scalar()));
  };
  const auto moved = first == 0 ? x
                                : node.add("tenon.bit_shift", std::vector{x, number(first)},
                                           {{"direction", "right"}});
  return node.cast(
      node.add("tenon.bitwise_and", std::vector{moved, number((std::int64_t{1} << bits) - 1)}),
      f64);
}

// In float64, sums of up to 2^21 products of 16-bit limbs are exact, and sums of up to 2^37
// products of 8-bit limbs.
Operand integer_product(NodeImport& node, const Operand& a, const Operand& b, DType type) {
  const auto shape = node.shape(a);
  const auto terms = shape.has_rank() && shape.rank() > 0 ? shape[-1] : unknown;
  const std::int64_t bits = terms != unknown && terms <= 1 << 21 ? 16 : 8;
  const auto limbs = static_cast<std::int64_t>(8 * size_of(type)) / bits;
  std::vector<Operand> left, right;
  for (std::int64_t i = 0; i < limbs; ++i) {
    left.push_back(limb(node, node.cast(a, u64), i * bits, bits));
    right.push_back(limb(node, node.cast(b, u64), i * bits, bits));
  }
  Operand total;
  for (std::int64_t i = 0; i < limbs; ++i)
    for (std::int64_t j = 0; i + j < limbs; ++j) {
      const auto from = node.add("tenon.matmul", std::vector{left[static_cast<std::size_t>(i)],
                                                             right[static_cast<std::size_t>(j)]});
      auto partial = node.cast(from, u64);
      const auto factor = Tensor::from({std::uint64_t{1} << ((i + j) * bits)}, Shape::scalar());
      if (i + j > 0) partial = node.add("tenon.mul", std::vector{partial, node.constant(factor)});
      total = total.empty() ? partial : node.add("tenon.add", std::vector{total, partial});
    }
  return node.cast(total, type);
}

}  // namespace

Operand reshaped(NodeImport& node, const Operand& x, const Operand& sizes) {
  if (!sizes.known()) return node.add("tenon.reshape", Importer::Named{{"x", x}, {"sizes", sizes}});
  const auto numbers = sizes.elements.values<std::int64_t>();
  return node.add("tenon.reshape", std::vector{x},
                  {{"shape", std::vector<std::int64_t>(numbers.begin(), numbers.end())}});
}

Operand sizes_along(NodeImport& node, const Operand& x, std::int64_t begin, std::int64_t end) {
  if (const auto shape = node.shape(x); shape.has_rank()) {
    const auto limited = [&](std::int64_t at) {
      return std::clamp<std::int64_t>(at < 0 ? at + shape.rank() : at, 0, shape.rank());
    };
    const auto first = limited(begin), last = std::max(first, limited(end));
    const std::vector<std::int64_t> sizes(shape.begin() + first, shape.begin() + last);
    if (std::count(sizes.begin(), sizes.end(), unknown) == 0) return node.constant(sizes);
  }
  return node.add("tenon.slice", std::vector{node.shape_of(x)},
                  {{"axes", {0}}, {"begin", {begin}}, {"end", {end}}});
}

Operand as_matrix(NodeImport& node, const Operand& x, std::int64_t axis) {
  const auto shape = node.shape(x);
  if (shape.has_rank()) {
    node.require(axis >= -shape.rank() && axis <= shape.rank(),
                 fmt::format("its axis {} is out of range for {} dimensions", axis, shape.rank()));
    const int at = static_cast<int>(axis < 0 ? axis + shape.rank() : axis);
    const auto rows = product_of_sizes(shape, 0, at),
               columns = product_of_sizes(shape, at, shape.rank());
    if (rows > 0 || columns > 0 || (rows == 0 && columns == 0))
      return node.add("tenon.reshape", std::vector{x}, {{"shape", {rows, columns}}});
  }
  const auto product = [&](std::int64_t begin, std::int64_t end) {
    return node.add("tenon.prod", std::vector{sizes_along(node, x, begin, end)},
                    {{"keepdims", true}});
  };
  return reshaped(node, x,
                  node.add("tenon.concat", std::vector{product(0, axis), product(axis, INT64_MAX)},
                           {{"axis", 0}}));
}

Operand arange(NodeImport& node, const Operand& size) {
  const auto number = [&](std::int64_t value) {
    return node.constant(Tensor::from({value}, Shape::scalar()));
  };
  return node.add("tenon.range", std::vector{number(0), size, number(1)});
}

Operand matrix_product(NodeImport& node, const Operand& a, const Operand& b) {
  const auto type = node.dtype(a);
  node.require(type == node.dtype(b),
               fmt::format("its inputs are {} and {}, but must have the same dtype", name_of(type),
                           name_of(node.dtype(b))));
  if (any_integer.has(type)) return integer_product(node, a, b, type);
  node.require(type != boolean, "its inputs are bool, but must be numbers");
  return node.add("tenon.matmul", std::vector{node.widened(a), node.widened(b)});
}

}  // namespace tenon::onnx
