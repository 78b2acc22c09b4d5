// deform_conv: a convolution whose taps are moved by numbers that are computed.
#include <algorithm>
#include <cmath>
#include <tenon/operator.hpp>
#include <vector>

#include "shared/fits.hpp"
#include "shared/store.hpp"
#include "shared/window.hpp"

struct DeformConv : tenon::Operator {
  std::int64_t groups = 1, offset_groups = 1;
  tenon::Ints stride, pad, pad_end, dilate;

  static constexpr void describe(auto& op) {
    op.doc("convolution over two axes; each tap reads data where offset moves it, interpolated, times mask; it has no gradient");
    op.input("data", "[batch, channels, height, width]");
    op.input("weight", "[filters, channels / groups, kernel height, kernel width]");
    op.input("offset", "[batch, 2 offset_groups taps, output's height and width]: rows and columns of each tap");
    op.input("bias", "[filters]; default: 0").optional();
    op.input("mask", "[batch, offset_groups taps, output's height and width]; default: 1").optional();
    op.output("output", "[batch, filters, (axis + pad + pad_end - dilate (kernel - 1) - 1) / stride + 1, rounded down, for both axes]");
    op.param("stride", &DeformConv::stride, "steps along both axes; default: 1").at_least(1).at_most(Window::largest);
    op.param("pad", &DeformConv::pad, "zeros around data; one value is for both axes; default: 0").at_least(0).at_most(Window::largest);
    op.param("pad_end", &DeformConv::pad_end, "the same behind each axis, where it is not as before it; default: pad")
        .at_least(0)
        .at_most(Window::largest);
    op.param("dilate", &DeformConv::dilate, "distance between taps; default: 1").at_least(1).at_most(Window::largest);
    op.param("groups", &DeformConv::groups,
             "groups of channels: output channels of a group are computed from data channels of the same group")
        .at_least(1);
    op.param("offset_groups", &DeformConv::offset_groups, "groups of data's channels that share offset and mask").at_least(1);
    op.example({{"data", {1, 4, 5, 4}}, {"weight", {6, 2, 3, 2}}, {"offset", {1, 24, 3, 3}}, {"bias", {6}}, {"mask", {1, 12, 3, 3}}},
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
      if (numbers->size() > 2) io.param_error("stride", "or another one has ", numbers->size(), " values: needs one or two");
    const auto data = io.input("data").shape, weight = io.input("weight").shape;
    io.require(!data.has_rank() || data.rank() == 4, "data is ", data, " but needs 4 dimensions");
    io.require(!weight.has_rank() || weight.rank() == 4, "weight is ", weight, " but needs 4 dimensions");
    if (!data.has_rank() || !weight.has_rank()) return;
    const auto any = tenon::unknown;
    const auto known = [&](std::int64_t n) { return n != any; };
    io.require(!known(data[1]) || (data[1] % groups == 0 && data[1] % offset_groups == 0), "data ", data, " has ", data[1],
               " channels, which ", groups, " and ", offset_groups, " groups do not divide");
    io.require(!known(weight[0]) || weight[0] % groups == 0, "weight ", weight, " has ", weight[0], " filters, which ", groups,
               " groups do not divide");
    io.set_input("weight", {any, known(data[1]) ? data[1] / groups : any, any, any});
    auto output = tenon::Shape::of_rank(4);
    output.set(0, data[0]);
    output.set(1, weight[0]);
    bool whole = known(weight[2]) && known(weight[3]);
    for (int axis = 2; axis < 4 && whole; ++axis) {
      io.require(weight[axis] > 0, "weight is ", weight, ": needs a kernel");
      if (!known(data[axis])) continue;
      const auto moved = window(weight);
      io.require(moved.reach(axis - 2) <= moved.padded(axis - 2, data[axis]), "the kernel reaches over ", moved.reach(axis - 2),
                 " elements of axis ", axis, ", but data ", data, " with its padding has ", moved.padded(axis - 2, data[axis]));
      output.set(axis, moved.places(axis - 2, data[axis]));
    }
    const auto taps = whole ? weight[2] * weight[3] * offset_groups : any;
    io.set_input("offset", {data[0], whole ? 2 * taps : any, output[2], output[3]});
    if (io.has_input("mask")) io.set_input("mask", {data[0], taps, output[2], output[3]});
    if (io.has_input("bias")) io.set_input("bias", {weight[0]});
    io.set_output(0, output);
  }

  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() { run<T>(call); });
  }

 private:
  Window window(const tenon::Shape& weight) const {
    const Window moved{2, {weight[2], weight[3], 0}, Window::numbers(stride, 2, {1, 1, 1}), {}, Window::numbers(dilate, 2, {1, 1, 1})};
    return moved.with_padding(Padding::given, pad, pad_end, {});
  }

  /// Interpolated; 0 outside.
  template <class T, class W>
  static W element(const T* plane, std::int64_t rows, std::int64_t columns, W y, W x) {
    if (!(y > -1 && y < static_cast<W>(rows) && x > -1 && x < static_cast<W>(columns))) return 0;
    const W top = std::floor(y), left = std::floor(x), ly = y - top, lx = x - left;
    const auto row = static_cast<std::int64_t>(top), column = static_cast<std::int64_t>(left);
    const auto at = [&](std::int64_t r, std::int64_t c) {
      return r >= 0 && r < rows && c >= 0 && c < columns ? static_cast<W>(plane[r * columns + c]) : W(0);
    };
    return (1 - ly) * ((1 - lx) * at(row, column) + lx * at(row, column + 1)) +
           ly * ((1 - lx) * at(row + 1, column) + lx * at(row + 1, column + 1));
  }

  /// For each place: the columns that a convolution would read, then their products with the filters.
  template <class T>
  void run(const tenon::Call& call) const {
    using W = Wide<T>;
    const auto data = call.input<T>("data"), weight = call.input<T>("weight"), offset = call.input<T>("offset");
    const T* const bias = call.has_input("bias") ? call.input<T>("bias").data() : nullptr;
    const T* const mask = call.has_input("mask") ? call.input<T>("mask").data() : nullptr;
    const auto output = call.output<T>(0);
    const auto moved = window(weight.shape());
    const auto channels = data.dim(1), rows = data.dim(2), columns = data.dim(3), filters = output.dim(1);
    const auto places = output.dim(2) * output.dim(3), taps = weight.dim(2) * weight.dim(3), depth = channels / groups * taps;
    call.parallel_for(data.dim(0) * places, 1 + 4096 / (1 + channels * taps), [&](std::int64_t begin, std::int64_t end) {
      std::vector<W> column(static_cast<std::size_t>(channels * taps));
      for (auto i = begin; i < end; ++i) {
        const auto n = i / places, place = i % places;
        for (std::int64_t c = 0; c < channels; ++c)
          for (std::int64_t tap = 0; tap < taps; ++tap) {
            const auto moves = (n * offset_groups + c / (channels / offset_groups)) * taps + tap;
            const auto y = place / output.dim(3) * moved.stride[0] - moved.pad[0] + tap / weight.dim(3) * moved.dilate[0];
            const auto x = place % output.dim(3) * moved.stride[1] - moved.pad[1] + tap % weight.dim(3) * moved.dilate[1];
            const W found = element<T, W>(data.data() + (n * channels + c) * rows * columns, rows, columns,
                                          static_cast<W>(y) + static_cast<W>(offset[2 * moves * places + place]),
                                          static_cast<W>(x) + static_cast<W>(offset[(2 * moves + 1) * places + place]));
            column[static_cast<std::size_t>(c * taps + tap)] = mask ? found * static_cast<W>(mask[moves * places + place]) : found;
          }
        for (std::int64_t filter = 0; filter < filters; ++filter) {
          const W* const from = column.data() + filter / (filters / groups) * depth;
          W sum = bias ? static_cast<W>(bias[filter]) : W(0);
          for (std::int64_t k = 0; k < depth; ++k) sum += from[k] * static_cast<W>(weight[filter * depth + k]);
          output[(n * filters + filter) * places + place] = T(sum);
        }
      }
    });
  }
};
TENON_OPERATOR(deform_conv, DeformConv)
