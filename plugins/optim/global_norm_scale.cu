#include "global_norm_scale.hpp"
#include "sum_on_device.hpp"

namespace {

template <class T>
struct Square {
  const T* data;

  TENON_FN double operator()(std::int64_t i) const {
    const auto value = static_cast<double>(data[i]);
    return value * value;
  }
};

struct PutScale {
  double max_norm;
  float* scale;

  TENON_FN void operator()(double squares) const {
    *scale = GlobalNormScale::scale_of(max_norm, squares);
  }
};

}  // namespace

struct GlobalNormScaleCuda : GlobalNormScale {
  static constexpr bool capturable = true;

  std::size_t workspace(const tenon::Infer& io) const {
    return static_cast<std::size_t>(io.inputs() * max_partial_sums) * sizeof(double);
  }

  void forward(const tenon::Call& call) const {
    double* const partial_sums =
        call.workspace<double>(static_cast<std::size_t>(call.inputs() * max_partial_sums));
    std::int64_t count = 0;
    for (int i = 0; i < call.inputs(); ++i)
      tenon::visit<tenon::floating>(call.input_type(i).dtype, [&]<class T>() {
        const auto [data, size] = stored<T>(call, i);
        count += partial_sums_of(call, size, Square<T>{data}, partial_sums + count);
      });
    put_sum(call, partial_sums, count, PutScale{max_norm, call.output<float>(0).data()});
  }
  void forward_sparse(const tenon::Call& call) const { forward(call); }
};
TENON_KERNEL(global_norm_scale, cuda, GlobalNormScaleCuda)
