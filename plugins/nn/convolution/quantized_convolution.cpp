// A convolution of 8-bit integers with exact int32 sums, its scales and the quantization of the
// result in one pass.
#include "../../shared/quantized_call.hpp"
#include "convolution.hpp"
#include "quantized_windows.hpp"

struct QuantizedConvolution : ConvolutionLayer<WithActivation> {
  tenon::DType dtype = tenon::DType::u8;

  static constexpr void describe(auto& op) {
    op.doc(
        "convolution of (data - data_zero_point) and (weight - weight_zero_point) for 8-bit "
        "integers, with exact int32 sums. Without scales the result is these sums, which wrap "
        "around; with them it is activation(sum * (data_scale * weight_scale) + bias) in float32, "
        "which `result_scale` quantizes. Padding represents 0. Inference on the CPU only, not "
        "differentiable");
    op.input("data",
             "[batch, channels, spatial axes ...], one spatial axis for each value of `kernel`")
        .types(quantized::integers);
    op.input("weight", "[num_filter, channels, kernel ...]").types(quantized::integers);
    quantized::describe_scales(op, "data_scale", "data_zero_point", "[] or [1]; needs weight_scale",
                               "[] or [1], of data's dtype; default: 0");
    quantized::describe_scales(
        op, "weight_scale", "weight_zero_point",
        "[], [1] or one for each filter, [num_filter]; needs data_scale",
        "[], [1] or one for each filter, [num_filter], of weight's dtype; default: 0");
    quantized::describe_result(op);
    op.output("output", "as for convolution; int32, float32, or the dtype of result_zero_point");
    describe_parameters(op);
    op.param("weight_axis", &QuantizedConvolution::weight_axis,
             "axis of weight along which weight_scale and weight_zero_point differ if they have "
             "several elements: must then be 0, that of the filters");
    op.param("dtype", &QuantizedConvolution::dtype,
             "dtype of a quantized output if result_zero_point is absent")
        .one_of(quantized::integers);
    describe_activation(op);
    op.rule("from_convolution",
            "convolution(&dequantize(x, xs!, xz!?; axis=$x_axis), &dequantize(w!, ws!, wz!?; "
            "axis=$axis), b?; ...layer)",
            "quantized_convolution(x, w, data_scale=xs, data_zero_point=xz, weight_scale=ws, "
            "weight_zero_point=wz, bias=b; weight_axis=$axis, ...layer)");
    TENON_FUSE_QUANTIZED(op, "quantized_convolution", "data", "weight");
    op.prefers_channels_last("data", "output");
    op.example({{"data", {1, 2, 5, 5}, tenon::u8},
                {"weight", {3, 2, 3, 3}, tenon::i8},
                {"data_scale", {1}, tenon::f32},
                {"data_zero_point", {1}, tenon::u8},
                {"weight_scale", {3}, tenon::f32},
                {"bias", {3}, tenon::f32},
                {"result_scale", {1}, tenon::f32},
                {"result_zero_point", {1}, tenon::i8}},
               {{"num_filter", 3}, {"kernel", {3, 3}}, {"pad", {1, 1}}});
  }

  void infer(tenon::Infer& io) const {
    const quantized::Operand left{"data"}, right{"weight"};
    quantized::infer_result(io, left, right, dtype, activation != ActivationKind::none);
    quantized::check(io, left, 1, false);
    quantized::check(io, right, num_filter, weight_axis == 0);
    if (groups != 1) io.param_error("groups", "is ", groups, " but must be 1");
    ConvolutionLayer::infer(io);
    const auto weight = io.input("weight").shape;
    if (weight.has_rank() && weight[1] != tenon::unknown)
      quantized::check_depth(io, left, right, weight.size() / std::max<std::int64_t>(weight[0], 1));
  }

  std::int64_t weight_axis = 0;
};
TENON_OPERATOR(quantized_convolution, QuantizedConvolution)

struct QuantizedConvolutionCpu : QuantizedConvolution {
  void prepare(tenon::Prepare& io) const {
    if (!io.is_constant("weight")) return;
    const auto weight = io.input("weight");
    const auto depth = weight.shape.size() / num_filter;
    const product::int8::PackedRight right(depth, num_filter);
    if (depth == 0) return;
    const auto fill = [&]<class T>(void* memory) {
      pack(right, weight, io.constant<T>("weight").data(), memory);
    };
    io.prepack(0, "weight",
               tenon::join("weight of a convolution, channels last, ", right.packing(), " of ",
                           weight.dtype),
               right.bytes(), [&](void* memory) {
                 weight.dtype == tenon::u8 ? fill.operator()<std::uint8_t>(memory)
                                           : fill.operator()<std::int8_t>(memory);
               });
  }

  std::string algorithm(const tenon::Infer&) const {
    return "im2col, products: " + choice::text_of(product::choose(product::Multiplies::int8));
  }

  void forward(const tenon::Call& call) const {
    const auto data = call.input_type("data"), weight = call.input_type("weight");
    if (call.output_type(0).shape.size() == 0) return;
    const auto depth = weight.shape.size() / num_filter;
    const product::int8::PackedRight right(depth, num_filter);
    const void* packed = call.prepacked(0);
    std::vector<std::byte> own;
    if (!packed) {
      own.resize(right.bytes());
      pack(right, weight, quantized::elements(call, "weight"), own.data());
      packed = own.data();
    }
    std::vector<std::byte> reordered;
    const auto* samples = quantized::elements(call, "data");
    if (!call.channels_last("data")) {
      reordered = channels_last(call, data.shape, samples);
      samples = reordered.data();
    }
    convolve(call, samples, packed, right);
  }

 private:
  /// Packs the weights with the channels innermost, as windows have them.
  static void pack(const product::int8::PackedRight& right, const tenon::TensorType& weight,
                   const void* elements, void* to) {
    const auto filters = weight.shape[0], channels = weight.shape[1],
               depth = weight.shape.size() / filters;
    std::vector<std::byte> rows(static_cast<std::size_t>(weight.shape.size()));
    for (std::int64_t i = 0; i < filters; ++i)
      transpose_elements(static_cast<const std::byte*>(elements) + i * depth, channels,
                         depth / channels, rows.data() + i * depth);
    right.pack({rows.data(), weight.dtype, depth, true}, to);
  }

  static std::vector<std::byte> channels_last(const tenon::Call& call, const tenon::Shape& shape,
                                              const std::byte* data) {
    std::vector<std::byte> to(static_cast<std::size_t>(shape.size()));
    const auto size = shape.size() / shape[0];
    call.parallel_for(shape[0], 1, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = begin; i < end; ++i)
        transpose_elements(data + i * size, shape[1], size / shape[1], to.data() + i * size);
    });
    return to;
  }

  void convolve(const tenon::Call& call, const std::byte* samples, const void* packed,
                const product::int8::PackedRight& right) const {
    const auto data = call.input_type("data"), weight = call.input_type("weight");
    const auto output = call.output_type(0).shape;
    const auto& format = product::int8::usable_format();
    const WindowGeometry geometry(window(data.shape), data.shape, output);
    const auto channels = data.shape[1];
    const product::Size size{WindowGeometry::count(geometry.positions), num_filter,
                             weight.shape.size() / num_filter};
    const auto zero = quantized::zero_points(call, "data_zero_point");
    const int padding = zero.empty() ? 0 : zero[0];
    const product::int8::ZeroPoints zeros(format, size, right.sums(packed), data.dtype, padding,
                                          weight.dtype,
                                          quantized::zero_points(call, "weight_zero_point"));
    const bool last = call.output_channels_last(0);
    quantized::with_result(
        call, *this, {"data"}, {"weight"}, num_filter, [&]<class Y>(Y* to, const auto& write) {
          const auto finish = [&](const product::Tile& tile, const std::int32_t* sums, Y* sample) {
            if (last)
              return write(tile, sums, sample + tile.row * num_filter + tile.column, num_filter);
            constexpr auto step = product::int8::max_columns;
            Y rows[product::int8::RowGroup::max_size * step];
            write(tile, sums, rows, step);
            for (std::int64_t j = 0; j < tile.columns; ++j)
              for (std::int64_t i = 0; i < tile.rows; ++i)
                sample[(tile.column + j) * size.rows + tile.row + i] = rows[i * step + j];
          };
          product::for_each_tile(call, product::int8::cut(), data.shape[0], size,
                                 [&](std::int64_t i, const product::Tile& tile) {
                                   const QuantizedWindows windows(
                                       geometry,
                                       reinterpret_cast<const std::uint8_t*>(samples) +
                                           i * WindowGeometry::count(geometry.size) * channels,
                                       channels, static_cast<std::uint8_t>(padding));
                                   product::int8::multiply_tile(
                                       format, size, packed, zeros, tile,
                                       [&](std::int64_t row, std::int64_t rows, std::int64_t step,
                                           auto* words, auto* row_sums) {
                                         windows.pack(format, data.dtype, row, rows, step, words,
                                                      row_sums);
                                       },
                                       [&](const product::Tile& done, const std::int32_t* sums) {
                                         finish(done, sums, to + i * size.rows * num_filter);
                                       });
                                 });
        });
  }
};
TENON_KERNEL(quantized_convolution, cpu, QuantizedConvolutionCpu)
