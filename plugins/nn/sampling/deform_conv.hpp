// deform_conv for all devices: a convolution whose taps are shifted by computed offsets.
#pragma once
#include <algorithm>
#include <cmath>
#include <tenon/operator.hpp>

#include "shared/fits.hpp"
#include "shared/store.hpp"
#include "shared/window.hpp"

/// The position at which a tap reads a plane of data: the element above and to the left, and the
/// distance from it.
template <class W>
struct BilinearPosition {
  std::int64_t row = 0, column = 0, rows, columns;
  W y, x;
  bool outside;

  TENON_FN BilinearPosition(std::int64_t of_rows, std::int64_t of_columns, W at_y, W at_x)
      : rows(of_rows), columns(of_columns), y(at_y), x(at_x) {
    outside = !(y > -1 && y < static_cast<W>(rows) && x > -1 && x < static_cast<W>(columns));
    if (outside) return;
    const W top = std::floor(y), left = std::floor(x);
    row = static_cast<std::int64_t>(top), column = static_cast<std::int64_t>(left);
    y -= top, x -= left;
  }
  /// The element or one of its neighbors; 0 outside of data.
  template <class T>
  TENON_FN W at(const T* plane, int down, int right) const {
    const auto r = row + down, c = column + right;
    return r >= 0 && r < rows && c >= 0 && c < columns ? static_cast<W>(plane[r * columns + c])
                                                       : W(0);
  }
  template <class T>
  TENON_FN W element(const T* plane) const {
    if (outside) return 0;
    return (1 - y) * ((1 - x) * at(plane, 0, 0) + x * at(plane, 0, 1)) +
           y * ((1 - x) * at(plane, 1, 0) + x * at(plane, 1, 1));
  }
  template <class T>
  TENON_FN W slope_down(const T* plane) const {
    if (outside) return 0;
    return (1 - x) * (at(plane, 1, 0) - at(plane, 0, 0)) + x * (at(plane, 1, 1) - at(plane, 0, 1));
  }
  template <class T>
  TENON_FN W slope_right(const T* plane) const {
    if (outside) return 0;
    return (1 - y) * (at(plane, 0, 1) - at(plane, 0, 0)) + y * (at(plane, 1, 1) - at(plane, 1, 0));
  }
  TENON_FN void add(W* plane, W value) const {
    if (outside) return;
    for (int k = 0; k < 4; ++k) {
      const auto r = row + k / 2, c = column + k % 2;
      if (r >= 0 && r < rows && c >= 0 && c < columns)
        plane[r * columns + c] += (k / 2 == 1 ? y : 1 - y) * (k % 2 == 1 ? x : 1 - x) * value;
    }
  }
};

/// The tensors of a call, and the value that each tap reads at each position.
template <class T>
struct DeformTensors {
  using W = Wide<T>;
  const T *data, *weight, *offset, *mask;  ///< mask: may be null
  std::int64_t stride[2], pad[2], dilate[2], groups, offset_groups;
  std::int64_t batch = 0, filters = 0, width = 0, positions = 0;  ///< of output
  std::int64_t channels = 0, rows = 0, columns = 0;               ///< of data
  std::int64_t kernel_width = 0, taps = 0, depth = 0;  ///< of weight; depth: elements of a filter

  TENON_FN std::int64_t group_filters() const { return filters / groups; }
  TENON_FN const T* plane(std::int64_t n, std::int64_t c) const {
    return data + (n * channels + c) * rows * columns;
  }
  /// Index in mask; offset has two numbers for each.
  TENON_FN std::int64_t moves(std::int64_t n, std::int64_t c, std::int64_t tap) const {
    return (n * offset_groups + c / (channels / offset_groups)) * taps + tap;
  }
  TENON_FN W factor(std::int64_t at, std::int64_t position) const {
    return mask ? static_cast<W>(mask[at * positions + position]) : W(1);
  }
  TENON_FN BilinearPosition<W> sampling_point(std::int64_t at, std::int64_t tap,
                                              std::int64_t position) const {
    const auto y = position / width * stride[0] - pad[0] + tap / kernel_width * dilate[0];
    const auto x = position % width * stride[1] - pad[1] + tap % kernel_width * dilate[1];
    return {rows, columns,
            static_cast<W>(y) + static_cast<W>(offset[2 * at * positions + position]),
            static_cast<W>(x) + static_cast<W>(offset[(2 * at + 1) * positions + position])};
  }
  /// The im2col value of a tap at a position.
  TENON_FN W element(std::int64_t n, std::int64_t c, std::int64_t tap,
                     std::int64_t position) const {
    const auto at = moves(n, c, tap);
    const W found = sampling_point(at, tap, position).element(plane(n, c));
    return mask ? found * factor(at, position) : found;
  }
};

struct DeformConvShapes : tenon::Operator {
  std::int64_t groups = 1, offset_groups = 1;
  tenon::Ints stride, pad, pad_end, dilate;

  static constexpr void describe(auto& op) {
    op.doc(
        "deformable convolution over two axes (torchvision.ops.deform_conv2d): each kernel element "
        "reads data at a position shifted by offset, with bilinear interpolation, multiplied by "
        "mask");
    op.input("data", "[batch, channels, height, width]");
    op.input("weight", "[filters, channels / groups, kernel_height, kernel_width]");
    op.input("offset",
             "[batch, 2 * offset_groups * kernel_height * kernel_width, output_height, "
             "output_width]; row and column offset of each kernel element, in elements of data");
    op.input("bias", "[filters]; default: 0").optional();
    op.input("mask",
             "[batch, offset_groups * kernel_height * kernel_width, output_height, output_width]; "
             "factor of each kernel element; default: 1")
        .optional();
    op.output("output",
              "[batch, filters, output_height, output_width]; along both axes floor((size + pad + "
              "pad_end - dilate * (kernel - 1) - 1) / stride) + 1");
    op.param("stride", &DeformConvShapes::stride,
             "step of the filters along both axes; one value applies to both; default: 1")
        .at_least(1)
        .at_most(Window::max_number);
    op.param("pad", &DeformConvShapes::pad,
             "zero padding on both sides of both axes; one value applies to both; default: 0")
        .at_least(0)
        .at_most(Window::max_number);
    op.param("pad_end", &DeformConvShapes::pad_end,
             "zero padding after each axis; one value applies to both; default: same as `pad`")
        .at_least(0)
        .at_most(Window::max_number);
    op.param(
          "dilate", &DeformConvShapes::dilate,
          "distance between kernel elements along both axes; one value applies to both; default: 1")
        .at_least(1)
        .at_most(Window::max_number);
    op.param("groups", &DeformConvShapes::groups,
             "number of channel groups; output channels of a group depend only on data channels of "
             "the same group")
        .at_least(1);
    op.param("offset_groups", &DeformConvShapes::offset_groups,
             "number of channel groups of data, each with its own offset and mask")
        .at_least(1);
    op.example({{"data", {1, 4, 5, 4}},
                {"weight", {6, 2, 3, 2}},
                {"offset", {1, 24, 3, 3}},
                {"bias", {6}},
                {"mask", {1, 12, 3, 3}}},
               {{"groups", 2}, {"offset_groups", 2}});
    op.example({{"data", {1, 2, 3, 3}}, {"weight", {1, 2, 2, 2}}, {"offset", {1, 8, 2, 2}}});
    op.onnx("", "DeformConv")
        .since(19)
        .inputs("data", "weight", "offset", "bias", "mask")
        .attribute("strides", "stride")
        .attribute("dilations", "dilate")
        .halves("pads", "pad", "pad_end")
        .attribute("group", "groups")
        .attribute("offset_group", "offset_groups")
        .ignore("kernel_shape");
  }

  void infer(tenon::Infer& io) const {
    for (const auto* numbers : {&stride, &pad, &pad_end, &dilate})
      if (numbers->size() > 2)
        io.param_error("stride", "or another list has ", numbers->size(),
                       " values: needs one or two");
    const auto data = io.input("data").shape, weight = io.input("weight").shape;
    io.require(!data.has_rank() || data.rank() == 4, "data is ", data,
               " but needs four dimensions");
    io.require(!weight.has_rank() || weight.rank() == 4, "weight is ", weight,
               " but needs four dimensions");
    if (!data.has_rank() || !weight.has_rank()) return;
    const auto any = tenon::unknown;
    const auto known = [&](std::int64_t n) { return n != any; };
    io.require(!known(data[1]) || (data[1] % groups == 0 && data[1] % offset_groups == 0), "data ",
               data, " has ", data[1], " channels, which is not a multiple of groups, ", groups,
               ", and offset_groups, ", offset_groups);
    io.require(!known(weight[0]) || weight[0] % groups == 0, "weight ", weight, " has ", weight[0],
               " filters, which is not a multiple of groups, ", groups);
    io.set_input("weight", {any, known(data[1]) ? data[1] / groups : any, any, any});
    auto output = tenon::Shape::of_rank(4);
    output.set(0, data[0]);
    output.set(1, weight[0]);
    bool whole = known(weight[2]) && known(weight[3]);
    for (int axis = 2; axis < 4 && whole; ++axis) {
      io.require(weight[axis] > 0, "weight is ", weight, ": needs a nonempty kernel");
      if (!known(data[axis])) continue;
      const auto moved = window(weight);
      io.require(moved.reach(axis - 2) <= moved.padded(axis - 2, data[axis]),
                 "the kernel extends over ", moved.reach(axis - 2), " elements of axis ", axis,
                 ", but data ", data, " with padding has ", moved.padded(axis - 2, data[axis]));
      output.set(axis, moved.output_size(axis - 2, data[axis]));
    }
    const auto taps = whole ? weight[2] * weight[3] * offset_groups : any;
    io.set_input("offset", {data[0], whole ? 2 * taps : any, output[2], output[3]});
    if (io.has_input("mask")) io.set_input("mask", {data[0], taps, output[2], output[3]});
    if (io.has_input("bias")) io.set_input("bias", {weight[0]});
    io.set_output(0, output);
  }

 protected:
  Window window(const tenon::Shape& weight) const {
    const Window moved{2,
                       {weight[2], weight[3], 0},
                       Window::numbers(stride, 2, {1, 1, 1}),
                       {},
                       Window::numbers(dilate, 2, {1, 1, 1})};
    return moved.with_padding(Padding::from_parameters, pad, pad_end, {});
  }

  template <class T>
  DeformTensors<T> tensors_of(const tenon::Call& call, const tenon::Shape& output) const {
    const auto data = call.input<T>("data"), weight = call.input<T>("weight");
    const auto moved = window(weight.shape());
    DeformTensors<T> tensors{
        data.data(), weight.data(), call.input<T>("offset").data(), nullptr, {}, {}, {},
        groups,      offset_groups};
    if (call.has_input("mask")) tensors.mask = call.input<T>("mask").data();
    for (std::size_t i = 0; i < 2; ++i)
      tensors.stride[i] = moved.stride[i], tensors.pad[i] = moved.pad[i],
      tensors.dilate[i] = moved.dilate[i];
    tensors.batch = output[0], tensors.filters = output[1], tensors.width = output[3],
    tensors.positions = output[2] * output[3];
    tensors.channels = data.dim(1), tensors.rows = data.dim(2), tensors.columns = data.dim(3);
    tensors.kernel_width = weight.dim(3), tensors.taps = weight.dim(2) * weight.dim(3),
    tensors.depth = tensors.channels / groups * tensors.taps;
    return tensors;
  }
};
