// Center crops, sampling grids and cache updates.
#include <fmt/format.h>

#include <algorithm>

#include "onnx/import/node_import.hpp"

namespace tenon::onnx {
namespace {

using Numbers = std::vector<std::int64_t>;

// Axes that are too large are cropped on both sides; those that are too small are padded with
// zeros.
void center_crop_pad(NodeImport& node) {
  auto x = node.input(0);
  const int rank = node.rank(x);
  const auto shape = node.shape(x);
  const auto sizes = node.known_integers(1).value_or(Numbers{});
  Numbers axes = node.integers("axes").value_or(Numbers{});
  if (axes.empty())
    for (int a = 0; a < rank; ++a) axes.push_back(a);
  node.require(axes.size() == sizes.size(), "its shape must have a size for each axis");
  Numbers begin, end, before, after;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    axes[i] = node.axis(axes[i], rank);
    const auto size = shape[static_cast<int>(axes[i])];
    node.require_known(size != unknown, "it needs the sizes of its input, which are unknown");
    node.require(sizes[i] >= 0, "its shape has a negative size");
    const auto cropped = std::max<std::int64_t>(size - sizes[i], 0) / 2,
               added = std::max<std::int64_t>(sizes[i] - size, 0);
    begin.push_back(cropped);
    end.push_back(cropped + std::min(size, sizes[i]));
    before.push_back(added / 2);
    after.push_back(added - added / 2);
  }
  if (std::any_of(after.begin(), after.end(), [](auto n) { return n > 0; }))
    x = node.add("tenon.pad",
                 std::vector{node.add("tenon.slice", std::vector{x},
                                      {{"axes", axes}, {"begin", begin}, {"end", end}})},
                 {{"before", before}, {"after", after}, {"axes", axes}});
  else
    x = node.add("tenon.slice", std::vector{x}, {{"axes", axes}, {"begin", begin}, {"end", end}});
  node.output(x);
}

// A grid of points over [-1, 1], transformed by theta: [batch, 2 or 3, 3 or 4] to [batch, (depth,)
// height, width, 2 or 3].
void affine_grid(NodeImport& node) {
  const auto theta = node.input(0);
  const auto sizes = node.known_integers(1).value_or(Numbers{});
  node.require(sizes.size() == 4 || sizes.size() == 5, "its size must have 4 or 5 numbers");
  const auto axes = static_cast<std::int64_t>(sizes.size()) - 2;
  const bool corners = node.integer("align_corners", 0) != 0;
  std::int64_t count = 1;
  for (std::size_t i = 2; i < sizes.size(); ++i)
    node.require(
        sizes[i] > 0 && !__builtin_mul_overflow(count, sizes[i], &count) && count <= 1 << 26,
        "its grid is too large, or empty");
  node.charge_bytes(8 * count * (axes + 1));
  auto base = Tensor::empty(f64, {count, axes + 1});
  auto* to = static_cast<double*>(base.data());
  for (std::int64_t point = 0; point < count; ++point) {
    auto rest = point;
    for (std::int64_t a = 0; a < axes; ++a) {  // the grid's last axis is x
      const auto size = sizes[sizes.size() - 1 - static_cast<std::size_t>(a)];
      const auto position = static_cast<double>(rest % size), steps = static_cast<double>(size);
      *to++ = corners ? (size == 1 ? -1.0 : 2 * position / (steps - 1) - 1)
                      : (2 * position + 1) / steps - 1;
      rest /= size;
    }
    *to++ = 1;
  }
  const auto type = node.dtype(theta);
  const auto wide = node.widened(theta);
  const auto grid =
      node.add("tenon.matmul", std::vector{node.cast(node.constant(base), node.dtype(wide)), wide},
               {{"transpose_b", true}});
  Numbers shape{sizes[0]};
  shape.insert(shape.end(), sizes.begin() + 2, sizes.end());
  shape.push_back(axes);
  node.output(node.cast(node.add("tenon.reshape", std::vector{grid}, {{"shape", shape}}), type));
}

// Writes the rows of the update into the cache from each sample's index on, with one index per
// element along the axis.
void tensor_scatter(NodeImport& node) {
  const auto cache = node.input(0), update = node.input(1);
  const auto shape = node.shape(cache), update_shape = node.shape(update);
  const int rank = node.rank(cache), axis = node.axis(node.integer("axis", -2), rank);
  const auto mode = node.text("mode", "linear");
  node.require(mode == "linear" || mode == "circular",
               fmt::format("its mode '{}' is unknown", mode));
  node.require_known(shape.known() && update_shape.known(),
                     "the sizes of its cache and update are unknown");
  node.require(update_shape.rank() == rank && axis > 0,
               "its cache and update differ in rank, or its axis is the batch axis");
  Numbers along(static_cast<std::size_t>(rank), 1), first(along),
      whole(update_shape.begin(), update_shape.end());
  along[static_cast<std::size_t>(axis)] = update_shape[axis];
  first[0] = shape[0];
  auto at =
      node.add("tenon.reshape", std::vector{node.arange(update_shape[axis])}, {{"shape", along}});
  if (node.has(2)) {
    const auto begins =
        node.add("tenon.reshape", std::vector{node.cast(node.input(2), i64)}, {{"shape", first}});
    at = node.add("tenon.add", std::vector{at, begins});
  }
  if (mode == "circular")
    at = node.add("tenon.mod", std::vector{at, node.scalar(static_cast<double>(shape[axis]), at)});
  at = node.add("tenon.broadcast_to", std::vector{at}, {{"shape", whole}});
  node.output(node.add("tenon.scatter_along", std::vector{cache, at, update}, {{"axis", axis}}));
}

const Composition boxes_read[] = {{"CenterCropPad", center_crop_pad, 18},
                                  {"AffineGrid", affine_grid, 20},
                                  {"TensorScatter", tensor_scatter, 24}};

}  // namespace
}  // namespace tenon::onnx
