#include <tenon/gpu/copy_indices.hpp>

#include "scale_by.hpp"
#include "sum_on_device.hpp"

namespace {

template <class T, class Wide>
struct Scaled {
  const T* from;
  const float* factor;
  T* to;

  TENON_FN void operator()(std::int64_t i) const {
    to[i] = static_cast<T>(static_cast<Wide>(from[i]) * static_cast<Wide>(*factor));
  }
};

template <class T>
struct Product {
  const T *left, *right;

  TENON_FN double operator()(std::int64_t i) const {
    return static_cast<double>(left[i]) * static_cast<double>(right[i]);
  }
};

struct PutNumber {
  float* to;

  TENON_FN void operator()(double number) const { *to = static_cast<float>(number); }
};

}  // namespace

struct ScaleByCuda : ScaleBy {
  static constexpr bool capturable = true;

  std::size_t backward_workspace(const tenon::Infer&) const {
    return max_partial_sums * sizeof(double);
  }

  void forward(const tenon::Call& call) const {
    scale_all(call, tenon::gpu::CopyIndices{call}, [&](auto... values) { scale(call, values...); });
  }
  void forward_sparse(const tenon::Call& call) const { forward(call); }

  void backward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const auto dy = call.output_grad<T>(0);
      if (call.write(1) != tenon::Write::none) {  // first: the other gradient may overwrite dy
        double* const partial_sums = call.workspace<double>(max_partial_sums);
        const auto count = partial_sums_of(
            call, dy.size(), Product<T>{call.input<T>("data").data(), dy.data()}, partial_sums);
        put_sum(call, partial_sums, count, PutNumber{call.input_grad<float>("factor").data()});
      }
      if (call.write(0) != tenon::Write::none)
        scale(call, dy.data(), dy.size(), call.input_grad<T>("data").data());
    });
  }

 private:
  template <class T>
  static void scale(const tenon::Call& call, const T* from, std::int64_t size, T* to) {
    tenon::gpu::for_each(call, size,
                         Scaled<T, Wide<T>>{from, call.input<float>("factor").data(), to});
  }
};
TENON_KERNEL(scale_by, cuda, ScaleByCuda)
