// The inverse of max_pool: elements return to the positions of the maxima.
#pragma once
#include <algorithm>
#include <vector>

#include "pool.hpp"
#include "shared/fits.hpp"

/// Maps flat indices in the counted shape to flat indices in output.
struct UnpoolIndices {
  int rank;
  std::int64_t from[5] = {},
               to[5] = {};  ///< sizes of both shapes: batch, channels and up to three spatial axes

  UnpoolIndices(const tenon::Shape& counted, const tenon::Shape& output)
      : rank(counted == output ? 0 : output.rank()) {
    for (int axis = 0; axis < rank; ++axis) from[axis] = counted[axis], to[axis] = output[axis];
  }
  TENON_FN std::int64_t of(std::int64_t index) const {
    if (rank == 0) return index;
    std::int64_t at = 0, step = 1;
    for (int axis = rank - 1; axis >= 0; --axis) {
      at += index % from[axis] * step;
      index /= from[axis];
      step *= to[axis];
    }
    return at;
  }
};

struct MaxUnpool : tenon::Operator {
  tenon::Ints kernel, stride, pad, pad_end, size;

  static constexpr void describe(auto& op) {
    op.doc(
        "inverse of max_pool: the elements of data at the positions in indices, and zeros "
        "elsewhere (torch.nn.MaxUnpool2d)");
    op.input("data",
             "[batch, channels, spatial axes ...], one spatial axis for each value of `kernel`");
    op.input("indices",
             "same shape as data; flat indices into [batch, channels, stride * (axis - 1) + kernel "
             "- pad - pad_end ...], as max_pool "
             "returns them")
        .types({tenon::i64});
    op.input("sizes",
             "[number of dimensions of data]; shape [batch, channels, spatial sizes ...] of "
             "output; replaces the parameter `size`")
        .optional()
        .on_cpu()
        .types({tenon::i64});
    op.output("output",
              "[batch, channels, spatial sizes ...]; spatial sizes: `size`, or by default stride * "
              "(axis - 1) + kernel - pad - pad_end");
    op.param("kernel", &MaxUnpool::kernel, "window size along each spatial axis, 1 to 3 values")
        .required()
        .at_least(1)
        .at_most(Window::max_number);
    op.param("stride", &MaxUnpool::stride,
             "step of the window along each spatial axis; one value applies to all axes; default: "
             "same as `kernel`")
        .at_least(1)
        .at_most(Window::max_number);
    op.param("pad", &MaxUnpool::pad,
             "padding of the max pooling on both sides of each spatial axis; one value applies to "
             "all axes; default: 0")
        .at_least(0)
        .at_most(Window::max_number);
    op.param("pad_end", &MaxUnpool::pad_end,
             "padding of the max pooling after each spatial axis; default: same as `pad`")
        .at_least(0)
        .at_most(Window::max_number);
    op.param("size", &MaxUnpool::size,
             "spatial sizes of output, at least the default: stride * (axis - 1) + kernel - pad - "
             "pad_end; additional elements are zero")
        .at_least(1);
    op.backward_reads("indices");
    op.example({{"data", {1, 1, 2, 2}}, {"indices", {1, 1, 2, 2}, tenon::i64, {0, 0, 0, 0}}},
               {{"kernel", {2, 2}}});
    op.example({{"data", {1, 2, 2}}, {"indices", {1, 2, 2}, tenon::i64, {0, 0, 0, 0}}},
               {{"kernel", {2}}, {"size", {5}}});
    op.onnx("", "MaxUnpool")
        .since(9)
        .inputs("data", "indices", "sizes")
        .attribute("kernel_shape", "kernel")
        .attribute("strides", "stride", {1})
        .halves("pads", "pad", "pad_end");
  }

  void infer(tenon::Infer& io) const {
    require_kernel(io, kernel);
    require_numbers(io, "stride", stride, kernel.size());
    require_numbers(io, "pad", pad, kernel.size());
    require_numbers(io, "pad_end", pad_end, kernel.size());
    require_numbers(io, "size", size, kernel.size());
    const int axes = static_cast<int>(kernel.size());
    auto data = io.input("data").shape;
    if (!data.has_rank()) data = tenon::Shape::of_rank(axes + 2);
    require_spatial(io, data, axes);
    io.set_input("data", data);
    io.set_input("indices", data);
    auto output = counted(data);
    for (int axis = 2; axis < axes + 2; ++axis)
      io.require(data[axis] == tenon::unknown || output[axis] > 0, "data ", data,
                 " with its padding leaves axis ", axis, " of output empty");
    const auto first = output;
    if (io.has_input("sizes")) {
      io.set_input("sizes", {axes + 2});
      io.require(size.size() == 0, "has both size and sizes: needs only one of them");
      const auto sizes = io.values<std::int64_t>("sizes");
      for (int axis = 2; axis < axes + 2; ++axis)
        output.set(axis, sizes ? sizes[axis] : tenon::unknown);
    } else if (size.size() > 0) {
      const auto sizes = Window::numbers(size, axes, {});
      for (int axis = 2; axis < axes + 2; ++axis)
        output.set(axis, sizes[static_cast<std::size_t>(axis - 2)]);
    }
    for (int axis = 2; axis < axes + 2; ++axis)
      io.require(output[axis] == tenon::unknown || first[axis] == tenon::unknown ||
                     output[axis] >= first[axis],
                 "size is ", output[axis], " along axis ", axis, " of output: needs at least ",
                 first[axis]);
    io.set_output(0, output);
  }

  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const auto data = call.input<T>(0);
      const auto output = call.output<T>(0);
      std::fill(output.begin(), output.end(), T(0));
      each(call, data.shape(), output.shape(),
           [&](std::int64_t i, std::int64_t at) { output[at] = data[i]; });
    });
  }

  void backward(const tenon::Call& call) const {
    if (call.write(0) == tenon::Write::none) return;
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const auto dx = call.input_grad<T>(0);
      const auto dy = call.output_grad<T>(0);
      // if several elements have the same position, the last one counts
      std::vector<std::int64_t> last(static_cast<std::size_t>(dy.size()), -1);
      std::fill(dx.begin(), dx.end(), T(0));
      each(call, dx.shape(), dy.shape(),
           [&](std::int64_t i, std::int64_t at) { last[static_cast<std::size_t>(at)] = i; });
      for (std::int64_t at = 0; at < dy.size(); ++at)
        if (const auto i = last[static_cast<std::size_t>(at)]; i >= 0) dx[i] = dy[at];
    });
  }

 protected:
  /// The shape that the indices refer to.
  tenon::Shape counted(tenon::Shape shape) const {
    const int axes = static_cast<int>(kernel.size());
    const auto sizes = Window::numbers(kernel, axes, {}),
               steps = Window::numbers(stride, axes, sizes),
               before = Window::numbers(pad, axes, {0, 0, 0}),
               after = Window::numbers(pad_end, axes, before);
    for (std::size_t i = 0; i < kernel.size(); ++i) {
      const int axis = static_cast<int>(i) + 2;
      if (shape[axis] != tenon::unknown)
        shape.set(axis, (shape[axis] - 1) * steps[i] + sizes[i] - before[i] - after[i]);
    }
    return shape;
  }

 private:
  /// Calls body(index in data, index in output) for each element.
  template <class Body>
  void each(const tenon::Call& call, const tenon::Shape& data, const tenon::Shape& output,
            const Body& body) const {
    const auto indices = call.input<std::int64_t>("indices");
    const auto count = counted(data).size();
    const UnpoolIndices to_output(counted(data), output);
    for (std::int64_t i = 0; i < indices.size(); ++i) {
      const auto index = indices[i];
      if (index < 0 || index >= count)
        throw tenon::Error("indices contains ", index, ": needs 0 to ", count - 1);
      body(i, to_output.of(index));
    }
  }
};
