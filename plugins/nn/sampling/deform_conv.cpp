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
    op.doc("convolution over two axes; each tap reads data where offset moves it, interpolated, times mask");
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
  void backward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() { gradients<T>(call); });
  }

 private:
  Window window(const tenon::Shape& weight) const {
    const Window moved{2, {weight[2], weight[3], 0}, Window::numbers(stride, 2, {1, 1, 1}), {}, Window::numbers(dilate, 2, {1, 1, 1})};
    return moved.with_padding(Padding::given, pad, pad_end, {});
  }

  /// Where a tap reads one plane of data: the element above and to the left of the place, and how far the place is from it.
  template <class W>
  struct Place {
    std::int64_t row = 0, column = 0, rows, columns;
    W y, x;
    bool outside;

    Place(std::int64_t of_rows, std::int64_t of_columns, W at_y, W at_x) : rows(of_rows), columns(of_columns), y(at_y), x(at_x) {
      outside = !(y > -1 && y < static_cast<W>(rows) && x > -1 && x < static_cast<W>(columns));
      if (outside) return;
      const W top = std::floor(y), left = std::floor(x);
      row = static_cast<std::int64_t>(top), column = static_cast<std::int64_t>(left);
      y -= top, x -= left;
    }
    /// The element itself, or one of its neighbours; 0 outside.
    template <class T>
    W at(const T* plane, int down, int right) const {
      const auto r = row + down, c = column + right;
      return r >= 0 && r < rows && c >= 0 && c < columns ? static_cast<W>(plane[r * columns + c]) : W(0);
    }
    template <class T>
    W element(const T* plane) const {
      if (outside) return 0;
      return (1 - y) * ((1 - x) * at(plane, 0, 0) + x * at(plane, 0, 1)) + y * ((1 - x) * at(plane, 1, 0) + x * at(plane, 1, 1));
    }
    template <class T>
    W slope_down(const T* plane) const {
      if (outside) return 0;
      return (1 - x) * (at(plane, 1, 0) - at(plane, 0, 0)) + x * (at(plane, 1, 1) - at(plane, 0, 1));
    }
    template <class T>
    W slope_right(const T* plane) const {
      if (outside) return 0;
      return (1 - y) * (at(plane, 0, 1) - at(plane, 0, 0)) + y * (at(plane, 1, 1) - at(plane, 1, 0));
    }
    void add(W* plane, W value) const {
      if (outside) return;
      for (int k = 0; k < 4; ++k) {
        const auto r = row + k / 2, c = column + k % 2;
        if (r >= 0 && r < rows && c >= 0 && c < columns)
          plane[r * columns + c] += (k / 2 == 1 ? y : 1 - y) * (k % 2 == 1 ? x : 1 - x) * value;
      }
    }
  };

  /// What a call is about.
  template <class T>
  struct Tensors {
    using W = Wide<T>;
    Tensors(const DeformConv& op, const tenon::Call& call, const tenon::Shape& output)
        : of(op),
          data(call.input<T>("data").data()),
          weight(call.input<T>("weight").data()),
          offset(call.input<T>("offset").data()),
          mask(call.has_input("mask") ? call.input<T>("mask").data() : nullptr),
          moved(op.window(call.input<T>("weight").shape())),
          batch(output[0]),
          filters(output[1]),
          width(output[3]),
          places(output[2] * output[3]) {
      const auto from = call.input<T>("data"), kernel = call.input<T>("weight");
      channels = from.dim(1), rows = from.dim(2), columns = from.dim(3);
      kernel_width = kernel.dim(3), taps = kernel.dim(2) * kernel.dim(3), depth = channels / of.groups * taps;
    }

    const T* plane(std::int64_t n, std::int64_t c) const { return data + (n * channels + c) * rows * columns; }
    /// Among the masks; offsets are two for each of them.
    std::int64_t moves(std::int64_t n, std::int64_t c, std::int64_t tap) const {
      return (n * of.offset_groups + c / (channels / of.offset_groups)) * taps + tap;
    }
    W factor(std::int64_t at, std::int64_t place) const { return mask ? static_cast<W>(mask[at * places + place]) : W(1); }
    Place<W> place_of(std::int64_t at, std::int64_t tap, std::int64_t place) const {
      const auto y = place / width * moved.stride[0] - moved.pad[0] + tap / kernel_width * moved.dilate[0];
      const auto x = place % width * moved.stride[1] - moved.pad[1] + tap % kernel_width * moved.dilate[1];
      return {rows, columns, static_cast<W>(y) + static_cast<W>(offset[2 * at * places + place]),
              static_cast<W>(x) + static_cast<W>(offset[(2 * at + 1) * places + place])};
    }

    const DeformConv& of;
    const T *data, *weight, *offset, *mask;
    const Window moved;
    std::int64_t batch, filters, width, places, channels = 0, rows = 0, columns = 0, kernel_width = 0, taps = 0, depth = 0;
  };

  /// For each place: the columns that a convolution would read, then their products with the filters.
  template <class T>
  void run(const tenon::Call& call) const {
    using W = Wide<T>;
    const auto output = call.output<T>(0);
    const Tensors<T> at(*this, call, output.shape());
    const T* const bias = call.has_input("bias") ? call.input<T>("bias").data() : nullptr;
    const auto channels = at.channels, taps = at.taps, depth = at.depth, filters = at.filters, places = at.places;
    call.parallel_for(at.batch * places, 1 + 4096 / (1 + channels * taps), [&](std::int64_t begin, std::int64_t end) {
      std::vector<W> column(static_cast<std::size_t>(channels * taps));
      for (auto i = begin; i < end; ++i) {
        const auto n = i / places, place = i % places;
        for (std::int64_t c = 0; c < channels; ++c)
          for (std::int64_t tap = 0; tap < taps; ++tap) {
            const auto moves = at.moves(n, c, tap);
            const W found = at.place_of(moves, tap, place).element(at.plane(n, c));
            column[static_cast<std::size_t>(c * taps + tap)] = at.mask ? found * at.factor(moves, place) : found;
          }
        for (std::int64_t filter = 0; filter < filters; ++filter) {
          const W* const from = column.data() + filter / (filters / groups) * depth;
          W sum = bias ? static_cast<W>(bias[filter]) : W(0);
          for (std::int64_t k = 0; k < depth; ++k) sum += from[k] * static_cast<W>(at.weight[filter * depth + k]);
          output[(n * filters + filter) * places + place] = T(sum);
        }
      }
    });
  }

  /// Sample by sample: gradients of the columns are those of output times the filters, and all others follow from them. Each element is
  /// summed by one thread, in one order.
  template <class T>
  void gradients(const tenon::Call& call) const {
    using W = Wide<T>;
    const auto dy = call.output_grad<T>(0);
    const Tensors<T> at(*this, call, dy.shape());
    const auto to = [&](int i) {
      return i < call.inputs() && call.write(i) != tenon::Write::none ? call.input_grad<T>(i).data() : nullptr;
    };
    T *const ddata = to(0), *const dweight = to(1), *const doffset = to(2), *const dbias = to(3), *const dmask = to(4);
    const auto channels = at.channels, taps = at.taps, depth = at.depth, filters = at.filters, places = at.places;
    const auto plane = at.rows * at.columns, per_group = filters / groups, sharing = channels / offset_groups;
    std::vector<W> columns(dweight ? size(channels * taps * places) : 0), slopes(size(channels * taps * places));
    std::vector<W> weights(dweight ? size(filters * depth) : 0), biases(dbias ? size(filters) : 0);
    for (std::int64_t n = 0; n < at.batch; ++n) {
      const T* const slope = dy.data() + n * filters * places;
      call.parallel_for(channels * taps, 1 + 4096 / (1 + places * per_group), [&](std::int64_t begin, std::int64_t end) {
        for (auto k = begin; k < end; ++k) {
          const auto c = k / taps, tap = k % taps, moves = at.moves(n, c, tap), first = k / depth * per_group;
          for (std::int64_t place = 0; place < places; ++place) {
            W sum = 0;
            for (auto f = first; f < first + per_group; ++f)
              sum += static_cast<W>(at.weight[f * depth + k % depth]) * static_cast<W>(slope[f * places + place]);
            slopes[size(k * places + place)] = sum;
            if (dweight)
              columns[size(k * places + place)] = at.place_of(moves, tap, place).element(at.plane(n, c)) * at.factor(moves, place);
          }
        }
      });
      if (dweight || dbias)
        call.parallel_for(filters, 1 + 4096 / (1 + places * depth), [&](std::int64_t begin, std::int64_t end) {
          for (auto f = begin; f < end; ++f) {
            for (std::int64_t place = 0; dbias && place < places; ++place) biases[size(f)] += static_cast<W>(slope[f * places + place]);
            for (std::int64_t k = 0; dweight && k < depth; ++k) {
              const W* const column = columns.data() + (f / per_group * depth + k) * places;
              W sum = 0;
              for (std::int64_t place = 0; place < places; ++place) sum += column[place] * static_cast<W>(slope[f * places + place]);
              weights[size(f * depth + k)] += sum;
            }
          }
        });
      if (doffset || dmask)
        call.parallel_for(offset_groups * taps, 1, [&](std::int64_t begin, std::int64_t end) {
          for (auto g = begin; g < end; ++g)
            for (std::int64_t place = 0; place < places; ++place) {
              const auto tap = g % taps, first = g / taps * sharing, moves = n * offset_groups * taps + g;
              const auto from = at.place_of(moves, tap, place);
              W down = 0, right = 0, mask = 0;
              for (auto c = first; c < first + sharing; ++c) {
                const W grad = slopes[size((c * taps + tap) * places + place)];
                down += grad * from.slope_down(at.plane(n, c));
                right += grad * from.slope_right(at.plane(n, c));
                if (dmask) mask += grad * from.element(at.plane(n, c));
              }
              const W factor = at.factor(moves, place);
              if (doffset)
                doffset[2 * moves * places + place] = T(down * factor), doffset[(2 * moves + 1) * places + place] = T(right * factor);
              if (dmask) dmask[moves * places + place] = T(mask);
            }
        });
      if (ddata)
        call.parallel_for(channels, 1, [&](std::int64_t begin, std::int64_t end) {
          std::vector<W> sums(size(plane));
          for (auto c = begin; c < end; ++c) {
            std::fill(sums.begin(), sums.end(), W(0));
            for (std::int64_t tap = 0; tap < taps; ++tap)
              for (std::int64_t place = 0; place < places; ++place) {
                const auto moves = at.moves(n, c, tap);
                at.place_of(moves, tap, place).add(sums.data(), slopes[size((c * taps + tap) * places + place)] * at.factor(moves, place));
              }
            for (std::int64_t k = 0; k < plane; ++k) ddata[(n * channels + c) * plane + k] = T(sums[size(k)]);
          }
        });
    }
    for (std::size_t k = 0; k < weights.size(); ++k) dweight[k] = T(weights[k]);
    for (std::size_t k = 0; k < biases.size(); ++k) dbias[k] = T(biases[k]);
  }

  static std::size_t size(std::int64_t count) { return static_cast<std::size_t>(count); }
};
TENON_OPERATOR(deform_conv, DeformConv)
