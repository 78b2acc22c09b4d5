// Constants, and values that follow from shapes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <tenon/visit.hpp>

#include "graph/inference/type.hpp"
#include "onnx/dtype.hpp"
#include "onnx/operators/matrix.hpp"

namespace tenon::onnx {
namespace {

void constant(NodeImport& node) {
  for (const auto& attribute : node.node().attributes) {
    const auto* found = node.attribute(attribute.name);
    if (found == nullptr) continue;
    if (attribute.name == "sparse_value") node.refuse("sparse constants are not supported");
    const auto value = node.value_of(*found);
    if (!value)
      node.refuse(
          fmt::format("its attribute '{}' has a type that cannot become a tensor", attribute.name));
    if (attribute.name == "value_float")
      return node.output(node.constant(
          Tensor::from({static_cast<float>(std::get<double>(value->variant()))}, Shape::scalar())));
    if (attribute.name == "value_int")
      return node.output(
          node.constant(Tensor::from({std::get<std::int64_t>(value->variant())}, Shape::scalar())));
    if (const auto* tensor = std::get_if<Tensor>(&value->variant()))
      return node.output(node.constant(*tensor));
    if (const auto* ints = std::get_if<std::vector<std::int64_t>>(&value->variant()))
      return node.output(node.constant(*ints));
    if (const auto* reals = std::get_if<std::vector<double>>(&value->variant())) {
      const std::vector<float> elements(reals->begin(), reals->end());
      return node.output(
          node.constant(Tensor::from(elements, {static_cast<std::int64_t>(elements.size())})));
    }
    node.refuse(fmt::format("its attribute '{}' is a string; tensors of strings are not supported",
                            attribute.name));
  }
  node.refuse("it has no value");
}

Tensor filled(const Tensor& value, const Shape& shape) {
  auto made = Tensor::empty(value.dtype(), shape);
  const auto bytes = size_of(value.dtype());
  auto* to = static_cast<std::byte*>(made.data());
  for (std::int64_t i = 0; i < made.size(); ++i, to += bytes) std::memcpy(to, value.data(), bytes);
  return made;
}

void constant_of_shape(NodeImport& node) {
  auto value = node.tensor("value");
  if (!value) value = Tensor::zeros(f32, {1});
  node.require(value.size() == 1, "its value must be one element");
  const auto shape = node.input(0);
  const auto at_runtime = [&] {
    const auto one = node.constant(value.reshape(Shape::scalar()));
    return node.output(
        node.add("tenon.broadcast_to", Importer::Named{{"x", one}, {"sizes", shape}}));
  };
  if (!shape.known()) return at_runtime();
  const auto sizes = *node.known_integers(0);
  node.require(sizes.size() <= max_rank, "its shape has more than 8 dimensions");
  std::int64_t count = 1;
  for (const auto size : sizes)
    node.require(size >= 0 && !__builtin_mul_overflow(count, size, &count) &&
                     count <= (std::int64_t{1} << 40),
                 "its shape is too large");
  const Shape whole(sizes.data(), static_cast<int>(sizes.size()));
  if (!node.importer().may_make(type_of(value.dtype(), whole))) return at_runtime();
  node.output(node.constant(filled(value, whole)));
}

// A slice of the sizes, clipped as in Python, so that the rank need not be known.
void shape(NodeImport& node) {
  const auto start = node.integer("start", 0), end = node.integer("end", INT64_MAX);
  node.output(start == 0 && end == INT64_MAX ? node.shape_of(node.input(0))
                                             : sizes_along(node, node.input(0), start, end));
}

void size(NodeImport& node) {
  const auto known = node.shape(node.input(0));
  if (known.known())
    return node.output(node.constant(Tensor::from({known.size()}, Shape::scalar())));
  node.output(node.add("tenon.prod", std::vector{node.shape_of(node.input(0))}));
}

void identity(NodeImport& node) {
  node.output(node.input(0));
}

// Ones where column = row + k. For a matrix that is large or of unknown size, it is computed at run
// time.
void eye_like(NodeImport& node) {
  const auto like = node.input(0);
  auto dtype = node.dtype(like);
  if (const auto* found = node.attribute("dtype"); found != nullptr) {
    const auto* element = element_type(static_cast<std::int32_t>(node.integer("dtype", 0)));
    node.require(element != nullptr && element->dtype != unknown_dtype,
                 "its dtype is not supported by Tenon");
    dtype = element->dtype;
  }
  const auto rank = node.shape(like).rank();
  node.require(rank < 0 || rank == 2,
               fmt::format("its input has {} dimensions, but needs 2", rank));
  auto sizes = node.shape_of(like);
  // fails for other ranks
  if (rank < 0) sizes = node.add("tenon.reshape", std::vector{sizes}, {{"shape", {2}}});
  const auto along = [&](std::int64_t axis) {
    return arange(node, node.add("tenon.slice", std::vector{sizes},
                                 {{"axes", {0}}, {"begin", {axis}}, {"end", {axis + 1}}}));
  };
  const auto k = node.constant(Tensor::from({node.integer("k", 0)}, Shape::scalar()));
  const auto diagonal = node.add("tenon.add", std::vector{along(0), k});
  const auto rows = node.add("tenon.expand_dims", std::vector{diagonal}, {{"axis", {1}}});
  node.output(node.cast(node.add("tenon.equal", std::vector{rows, along(1)}), dtype));
}

void range(NodeImport& node) {
  const auto start = node.input(0), limit = node.input(1), delta = node.input(2);
  const auto at_runtime = [&] {
    node.output(node.add("tenon.range", std::vector{start, limit, delta}));
  };
  if (!start.known() || !limit.known() || !delta.known()) return at_runtime();
  if (node.dtype(start) == i64) {  // float64 cannot represent all of them
    const auto known = [&](std::size_t i) {
      const auto numbers = *node.known_integers(i);
      node.require(numbers.size() == 1, fmt::format("its input {} must be one number", i));
      return numbers[0];
    };
    const auto first = known(0), last = known(1), step = known(2);
    node.require(step != 0, "its delta is 0");
    const auto number = [](std::int64_t n) { return static_cast<std::uint64_t>(n); };
    const auto distance = step > 0 ? number(last) - number(first) : number(first) - number(last);
    const auto size = step > 0 ? number(step) : -number(step);
    const auto steps = (step > 0) == (last > first) && last != first
                           ? distance / size + (distance % size != 0 ? 1 : 0)
                           : 0;
    if (steps > number(1) << 40 || !node.importer().may_make(static_cast<std::int64_t>(steps) * 8))
      return at_runtime();
    std::vector<std::int64_t> made;
    for (std::uint64_t i = 0; i < steps; ++i)
      made.push_back(static_cast<std::int64_t>(number(first) + i * number(step)));
    return node.output(node.constant(made));
  }
  const double first = *node.known_number(0), last = *node.known_number(1),
               step = *node.known_number(2);
  node.require(step != 0, "its delta is 0");
  const double count = std::max(std::ceil((last - first) / step), 0.0);
  node.require(count <= 1e15, "it has too many elements");
  if (!node.importer().may_make(static_cast<std::int64_t>(count) * 8)) return at_runtime();
  auto made = Tensor::empty(node.dtype(start), {static_cast<std::int64_t>(count)});
  visit<any_real>(made.dtype(), [&]<class T>() {
    for (std::int64_t i = 0; i < made.size(); ++i)
      static_cast<T*>(made.data())[i] = static_cast<T>(first + static_cast<double>(i) * step);
  });
  node.output(node.constant(made));
}

const Composition constants_read[] = {
    {"Constant", constant}, {"ConstantOfShape", constant_of_shape},
    {"Shape", shape},       {"Size", size},
    {"Identity", identity}, {"EyeLike", eye_like},
    {"Range", range}};

}  // namespace
}  // namespace tenon::onnx
