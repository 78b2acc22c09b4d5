// fully_connected on CUDA.
#include <tenon/gpu/library_workspace.hpp>

#include "fully_connected.hpp"
#include "matrix_product.hpp"
#include "shared/column_sums.hpp"
#include "shared/store_sum.hpp"

namespace {

template <class T>
struct GradElement {
  const T* dy;
  std::int64_t columns;
  TENON_DEVICE T operator()(std::int64_t row, std::int64_t column) const {
    return dy[row * columns + column];
  }
};

}  // namespace

/// `bf16`: f32 products round their factors to bfloat16.
template <bool bf16>
struct FullyConnectedOnDevice : FullyConnectedShapes {
  static constexpr bool capturable = true;

  std::size_t workspace(const tenon::Infer&) const { return product_bytes; }
  /// The products and the sums of the bias gradient use it one after the other.
  std::size_t backward_workspace(const tenon::Infer& io) const {
    return std::max(product_bytes,
                    ColumnSums::of(io.output(0).shape.size() / num_hidden, num_hidden).bytes());
  }

  void forward(const tenon::Call& call) {
    call.input_type(0).dtype == tenon::f64 ? product<double>(call) : product<float>(call);
  }
  void backward(const tenon::Call& call) {
    call.input_type(0).dtype == tenon::f64 ? gradients<double>(call) : gradients<float>(call);
  }

 private:
  static constexpr std::size_t product_bytes =
      tenon::gpu::library_workspace_bytes(product_workspace);

  template <class T>
  void product(const tenon::Call& call) {
    const auto data = call.input<T>("data"), weight = call.input<T>("weight");
    const auto output = call.output<T>(0);
    const auto features = weight.dim(1), batch = output.size() / num_hidden;
    const T* const bias = call.has_input("bias") ? call.input<T>("bias").data() : nullptr;
    multiply<T>(call,
                {{data.data(), features, false},
                 {weight.data(), features, true},
                 output.data(),
                 batch,
                 num_hidden,
                 features,
                 call.write(0) == tenon::Write::add,
                 bias,
                 bf16},
                tenon::gpu::library_workspace(call, product_workspace), product_);
  }

  template <class T>
  void gradients(const tenon::Call& call) {
    const auto dy = call.output_grad<T>(0);
    const auto data = call.input<T>("data"), weight = call.input<T>("weight");
    const auto features = weight.dim(1), batch = dy.size() / num_hidden;
    void* const scratch = tenon::gpu::library_workspace(call, product_workspace);
    if (const auto write = call.write(0); write != tenon::Write::none)
      multiply<T>(call,
                  {{dy.data(), num_hidden, false},
                   {weight.data(), features, false},
                   call.input_grad<T>("data").data(),
                   batch,
                   features,
                   num_hidden,
                   write == tenon::Write::add,
                   nullptr,
                   bf16},
                  scratch, data_gradient_);
    if (const auto write = call.write(1); write != tenon::Write::none)
      multiply<T>(call,
                  {{dy.data(), num_hidden, true},
                   {data.data(), features, false},
                   call.input_grad<T>("weight").data(),
                   num_hidden,
                   features,
                   batch,
                   write == tenon::Write::add,
                   nullptr,
                   bf16},
                  scratch, weight_gradient_);
    if (!call.has_input("bias") || call.write(2) == tenon::Write::none) return;
    const ColumnSums sums = ColumnSums::of(batch, num_hidden);
    sum_columns(call, sums, GradElement<T>{dy.data(), num_hidden},
                StoreSum<T>{call.input_grad<T>("bias").data(), call.write(2)},
                call.workspace<double>(sums.bytes() / sizeof(double)));
  }

  CachedProduct product_, data_gradient_, weight_gradient_;
};

struct FullyConnectedCuda : FullyConnectedOnDevice<false> {};
TENON_KERNEL(fully_connected, cuda, FullyConnectedCuda)

struct FullyConnectedCudaInBf16 : FullyConnectedOnDevice<true> {
  static constexpr int priority = 1;
  bool supports(const tenon::Infer& types) const {
    return types.precision() == tenon::bf16 && types.input(0).dtype == tenon::f32;
  }
};
TENON_KERNEL_VARIANT(fully_connected, cuda, FullyConnectedCudaInBf16)
