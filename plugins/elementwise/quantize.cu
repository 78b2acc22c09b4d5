// CUDA kernels of quantize and dequantize, and of bit_cast.
#include <tenon/gpu/launch.hpp>

#include "../shared/any_elements.hpp"
#include "bit_cast.hpp"
#include "dequantize.hpp"
#include "quantize.hpp"

namespace {

using Scales = AnyElements<float, float, tenon::half, tenon::bfloat16>;
using Numbers = AnyElements<float, float, tenon::half, tenon::bfloat16, std::int32_t>;
using Whole =
    AnyElements<std::int64_t, std::uint8_t, std::int8_t, std::uint16_t, std::int16_t, std::int32_t>;

/// Converts one element with its scale and zero point.
template <class Y>
struct QuantizeEach {
  quantization::ScaleSegments segments;
  Numbers x;
  Scales scales;
  const Y* zeros;  ///< null: all zero points are 0
  tenon::DType rounded_to;
  Y* y;

  TENON_FN void operator()(std::int64_t i) const {
    const auto at = segments.scale_of(i);
    y[i] = quantization::placed<Y>(quotient(x[i], scales[at]),
                                   zeros ? static_cast<float>(zeros[at]) : 0.0f);
  }

 private:
  TENON_FN float quotient(float number, float scale) const {
    if (rounded_to == tenon::f16) return quantization::quotient<tenon::half>(number, scale);
    if (rounded_to == tenon::bf16) return quantization::quotient<tenon::bfloat16>(number, scale);
    return quantization::quotient<float>(number, scale);
  }
};

template <class Y>
struct DequantizeEach {
  quantization::ScaleSegments segments;
  Whole x;
  Scales scales;
  Whole zeros;  ///< without data: all zero points are 0
  Y* y;

  TENON_FN void operator()(std::int64_t i) const {
    const auto at = segments.scale_of(i);
    y[i] = static_cast<Y>(static_cast<float>(x[i] - (zeros.data ? zeros[at] : 0)) * scales[at]);
  }
};

/// Sets a byte to true if any of its bits is set.
struct IsSet {
  const unsigned char* x;
  unsigned char* y;

  TENON_FN void operator()(std::int64_t i) const { y[i] = x[i] != 0; }
};

}  // namespace

/// Low-bit dtypes run on the CPU only.
struct QuantizeCuda : Quantize {
  static constexpr bool capturable = true;
  bool supports(const tenon::Infer& types) const {
    const auto y = types.has_input(2) ? types.input(2).dtype : dtype;
    return whole_types.has(y) && float_types.has(types.input(1).dtype);
  }

  void forward(const tenon::Call& call) const {
    const auto x = call.input_type(0), scale = call.input_type(1);
    if (x.shape.size() == 0) return;
    tenon::visit<whole_types>(call.output_type(0).dtype, [&]<class Y>() {
      tenon::gpu::for_each(call, x.shape.size(),
                           QuantizeEach<Y>{{x.shape, scale.shape, axis, block_size},
                                           Numbers::of(call, 0),
                                           Scales::of(call, 1),
                                           call.has_input(2) ? call.input<Y>(2).data() : nullptr,
                                           precise ? tenon::f32 : scale.dtype,
                                           call.output<Y>(0).data()});
    });
  }
};
TENON_KERNEL(quantize, cuda, QuantizeCuda)

struct DequantizeCuda : Dequantize {
  static constexpr bool capturable = true;
  bool supports(const tenon::Infer& types) const {
    return whole.has(types.input(0).dtype) && results.has(types.input(1).dtype);
  }

  void forward(const tenon::Call& call) const {
    const auto x = call.input_type(0), scale = call.input_type(1);
    if (x.shape.size() == 0) return;
    Whole zeros{nullptr, x.dtype};
    if (call.has_input(2)) zeros = Whole::of(call, 2);
    tenon::visit<results>(result(scale.dtype), [&]<class Y>() {
      tenon::gpu::for_each(call, x.shape.size(),
                           DequantizeEach<Y>{{x.shape, scale.shape, axis, block_size},
                                             Whole::of(call, 0),
                                             Scales::of(call, 1),
                                             zeros,
                                             call.output<Y>(0).data()});
    });
  }
};
TENON_KERNEL(dequantize, cuda, DequantizeCuda)

struct BitCastCuda : BitCast {
  static constexpr bool capturable = true;

  void forward(const tenon::Call& call) const {
    const auto [x, y, bytes] = memory(call);
    if (dtype == tenon::boolean)
      tenon::gpu::for_each(call, bytes, IsSet{x, y});
    else
      tenon::gpu::copy(call, y, x, static_cast<std::size_t>(bytes));
  }
};
TENON_KERNEL(bit_cast, cuda, BitCastCuda)
