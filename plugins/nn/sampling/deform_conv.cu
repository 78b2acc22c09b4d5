// deform_conv on CUDA: im2col columns, and products with the filters with cuBLAS.
#include "../../shared/device_gemm.hpp"
#include "deform_conv.hpp"

namespace deformed {

/// columns[samples, channels * taps, positions], for samples from `first` on.
template <class T>
struct MakeColumns {
  DeformTensors<T> tensors;
  std::int64_t first;
  Wide<T>* columns;

  TENON_FN void operator()(std::int64_t i) const {
    const auto position = i % tensors.positions, tap = i / tensors.positions % tensors.taps,
               plane = i / tensors.positions / tensors.taps;
    columns[i] =
        tensors.element(first + plane / tensors.channels, plane % tensors.channels, tap, position);
  }
};

template <class From, class To>
struct ConvertEach {
  const From* from;
  To* to;
  TENON_FN void operator()(std::int64_t i) const { to[i] = To(static_cast<Wide<To>>(from[i])); }
};

/// Elements of output, with their filter's bias.
template <class T>
struct PutOutput {
  const Wide<T>* from;
  const T* bias;  ///< null: no bias
  std::int64_t filters, positions;
  T* to;

  TENON_FN void operator()(std::int64_t i) const {
    to[i] = T(from[i] + (bias ? static_cast<Wide<T>>(bias[i / positions % filters]) : Wide<T>(0)));
  }
};

/// For one sample: gradients of the offsets and of the mask at a position; slopes: gradients of its
/// columns. Null: not requested.
template <class T>
struct MovesGradient {
  DeformTensors<T> tensors;
  std::int64_t n;
  const Wide<T>* slopes;
  T *doffset, *dmask;

  TENON_FN void operator()(std::int64_t i) const {
    using W = Wide<T>;
    const auto position = i % tensors.positions, g = i / tensors.positions, tap = g % tensors.taps,
               sharing = tensors.channels / tensors.offset_groups;
    const auto moves = n * tensors.offset_groups * tensors.taps + g,
               first = g / tensors.taps * sharing;
    const auto from = tensors.sampling_point(moves, tap, position);
    W down = 0, right = 0, mask = 0;
    for (auto c = first; c < first + sharing; ++c) {
      const W slope = slopes[(c * tensors.taps + tap) * tensors.positions + position];
      down += slope * from.slope_down(tensors.plane(n, c));
      right += slope * from.slope_right(tensors.plane(n, c));
      if (dmask) mask += slope * from.element(tensors.plane(n, c));
    }
    const W factor = tensors.factor(moves, position);
    if (doffset)
      doffset[2 * moves * tensors.positions + position] = T(down * factor),
                                              doffset[(2 * moves + 1) * tensors.positions +
                                                      position] = T(right * factor);
    if (dmask) dmask[moves * tensors.positions + position] = T(mask);
  }
};

/// For one sample: the gradient of a plane. One thread computes it, so that each element has a
/// fixed order of summation.
template <class T>
struct PlaneOfSample {
  DeformTensors<T> tensors;
  std::int64_t n;
  const Wide<T>* slopes;
  Wide<T>* sums;
  T* ddata;

  TENON_FN void operator()(std::int64_t c) const {
    const auto size = tensors.rows * tensors.columns;
    Wide<T>* const to = sums + c * size;
    for (std::int64_t k = 0; k < size; ++k) to[k] = 0;
    for (std::int64_t tap = 0; tap < tensors.taps; ++tap)
      for (std::int64_t position = 0; position < tensors.positions; ++position) {
        const auto moves = tensors.moves(n, c, tap);
        tensors.sampling_point(moves, tap, position)
            .add(to, slopes[(c * tensors.taps + tap) * tensors.positions + position] *
                         tensors.factor(moves, position));
      }
    for (std::int64_t k = 0; k < size; ++k) ddata[(n * tensors.channels + c) * size + k] = T(to[k]);
  }
};

template <class T>
struct SumFilter {
  const T* dy;
  std::int64_t batch, filters, positions;
  T* dbias;

  TENON_FN void operator()(std::int64_t filter) const {
    Wide<T> sum = 0;
    for (std::int64_t n = 0; n < batch; ++n)
      for (std::int64_t position = 0; position < positions; ++position)
        sum += static_cast<Wide<T>>(dy[(n * filters + filter) * positions + position]);
    dbias[filter] = T(sum);
  }
};

/// Numbers of scratch elements. Forward processes groups of samples, backward one sample at a time.
struct Sizes {
  std::int64_t weight, columns, output, data;  ///< columns, output and data: per sample
  std::int64_t samples;

  Sizes(const tenon::Shape& of_data, const tenon::Shape& of_weight, const tenon::Shape& of_output)
      : weight(of_weight.size()),
        columns(of_data[1] * of_weight[2] * of_weight[3] * of_output[2] * of_output[3]),
        output(of_output[1] * of_output[2] * of_output[3]),
        data(of_data[1] * of_data[2] * of_data[3]),
        samples(std::clamp<std::int64_t>((1 << 26) / std::max<std::int64_t>(columns, 1), 1,
                                         std::max<std::int64_t>(of_data[0], 1))) {}
  std::int64_t forward() const { return weight + samples * (columns + output); }
  std::int64_t backward() const { return 2 * weight + 2 * columns + output + data; }
};

}  // namespace deformed

struct DeformConvCuda : DeformConvShapes {
  static constexpr bool capturable = true;

  std::size_t workspace(const tenon::Infer& io) const { return bytes(io, false); }
  std::size_t backward_workspace(const tenon::Infer& io) const { return bytes(io, true); }

  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() { run<T>(call); });
  }
  void backward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() { gradients<T>(call); });
  }

 private:
  static std::size_t bytes(const tenon::Infer& io, bool back) {
    const auto data = io.input(0).shape, weight = io.input(1).shape, output = io.output(0).shape;
    if (!data.known() || !weight.known() || !output.known()) return device_gemm::workspace_bytes;
    const deformed::Sizes sizes(data, weight, output);
    const std::size_t each = io.input(0).dtype == tenon::f64 ? sizeof(double) : sizeof(float);
    return device_gemm::workspace_bytes +
           each * static_cast<std::size_t>(back ? sizes.backward() : sizes.forward());
  }
  template <class W>
  static W* scratch(const tenon::Call& call, std::int64_t count) {
    const auto all = device_gemm::workspace_bytes + sizeof(W) * static_cast<std::size_t>(count);
    return reinterpret_cast<W*>(call.workspace<std::byte>(all) + device_gemm::workspace_bytes);
  }

  template <class T>
  void run(const tenon::Call& call) const {
    using W = Wide<T>;
    const auto shape = call.output_type(0).shape;
    const DeformTensors<T> tensors = tensors_of<T>(call, shape);
    const deformed::Sizes sizes(call.input_type(0).shape, call.input_type(1).shape, shape);
    W* const weight = scratch<W>(call, sizes.forward());
    W *const columns = weight + sizes.weight, *const output =
                                                  columns + sizes.samples * sizes.columns;
    tenon::gpu::for_each(call, sizes.weight, deformed::ConvertEach<T, W>{tensors.weight, weight});
    const T* const bias = call.has_input("bias") ? call.input<T>("bias").data() : nullptr;
    for (std::int64_t first = 0; first < tensors.batch; first += sizes.samples) {
      const auto samples = std::min(sizes.samples, tensors.batch - first);
      tenon::gpu::for_each(call, samples * sizes.columns,
                           deformed::MakeColumns<T>{tensors, first, columns});
      for (std::int64_t g = 0; g < groups; ++g)
        device_gemm::multiply<W>(
            call, {{weight + g * tensors.group_filters() * tensors.depth, tensors.depth, 0, false},
                   {columns + g * tensors.depth * tensors.positions, tensors.positions,
                    sizes.columns, false},
                   output + g * tensors.group_filters() * tensors.positions,
                   sizes.output,
                   samples,
                   tensors.group_filters(),
                   tensors.positions,
                   tensors.depth,
                   false});
      tenon::gpu::for_each(call, samples * sizes.output,
                           deformed::PutOutput<T>{output, bias, tensors.filters, tensors.positions,
                                                  call.output<T>(0).data() + first * sizes.output});
    }
  }

  template <class T>
  void gradients(const tenon::Call& call) const {
    using W = Wide<T>;
    const auto dy = call.output_grad<T>(0);
    const DeformTensors<T> tensors = tensors_of<T>(call, dy.shape());
    const deformed::Sizes sizes(call.input_type(0).shape, call.input_type(1).shape, dy.shape());
    const auto to = [&](int i) {
      return i < call.inputs() && call.write(i) != tenon::Write::none ? call.input_grad<T>(i).data()
                                                                      : nullptr;
    };
    T *const ddata = to(0), *const dweight = to(1), *const doffset = to(2), *const dbias = to(3),
             *const dmask = to(4);
    W* const weight = scratch<W>(call, sizes.backward());
    W *const weight_sums = weight + sizes.weight, *const columns = weight_sums + sizes.weight,
             *const slopes = columns + sizes.columns;
    W *const slope = slopes + sizes.columns, *const sums = slope + sizes.output;
    tenon::gpu::for_each(call, sizes.weight, deformed::ConvertEach<T, W>{tensors.weight, weight});
    tenon::gpu::clear(call, weight_sums, static_cast<std::size_t>(sizes.weight) * sizeof(W));
    if (dbias)
      tenon::gpu::for_each(call, tensors.filters,
                           deformed::SumFilter<T>{dy.data(), tensors.batch, tensors.filters,
                                                  tensors.positions, dbias});
    for (std::int64_t n = 0; n < tensors.batch; ++n) {
      tenon::gpu::for_each(call, sizes.output,
                           deformed::ConvertEach<T, W>{dy.data() + n * sizes.output, slope});
      if (dweight)
        tenon::gpu::for_each(call, sizes.columns, deformed::MakeColumns<T>{tensors, n, columns});
      for (std::int64_t g = 0; g < groups; ++g) {
        const auto filter = g * tensors.group_filters(),
                   column = g * tensors.depth * tensors.positions;
        const device_gemm::Matrices<const W> own{slope + filter * tensors.positions,
                                                 tensors.positions, 0, false};
        device_gemm::multiply<W>(call, {{weight + filter * tensors.depth, tensors.depth, 0, true},
                                        own,
                                        slopes + column,
                                        0,
                                        1,
                                        tensors.depth,
                                        tensors.positions,
                                        tensors.group_filters(),
                                        false});
        if (dweight)
          device_gemm::multiply<W>(call, {own,
                                          {columns + column, tensors.positions, 0, true},
                                          weight_sums + filter * tensors.depth,
                                          0,
                                          1,
                                          tensors.group_filters(),
                                          tensors.depth,
                                          tensors.positions,
                                          true});
      }
      if (doffset || dmask)
        tenon::gpu::for_each(call, offset_groups * tensors.taps * tensors.positions,
                             deformed::MovesGradient<T>{tensors, n, slopes, doffset, dmask});
      if (ddata)
        tenon::gpu::for_each(call, tensors.channels,
                             deformed::PlaneOfSample<T>{tensors, n, slopes, sums, ddata});
    }
    if (dweight)
      tenon::gpu::for_each(call, sizes.weight, deformed::ConvertEach<W, T>{weight_sums, dweight});
  }
};
TENON_KERNEL(deform_conv, cuda, DeformConvCuda)
