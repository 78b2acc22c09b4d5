// fully_connected on the CPU.
#include "fully_connected.hpp"

#include "../../shared/product/multiply_bf16.hpp"
#include "dense_product.hpp"
#include "shared/store.hpp"
#include "shared/sum.hpp"

namespace {

/// result = (with Write::add: +=) left * right.
template <class Arithmetic>
void multiply(const tenon::Call& call, const gemm::Operand<double>& left,
              const gemm::Operand<double>& right, double* result, const product::Size& size,
              bool add) {
  gemm::multiply(call, left, right, result, {size.rows, size.columns}, size.depth, add ? 1 : 0);
}
template <class Arithmetic>
void multiply(const tenon::Call& call, const gemm::Operand<float>& left,
              const gemm::Operand<float>& right, float* result, const product::Size& size,
              bool add) {
  product::multiply<Arithmetic>(call, left, {right}, result, size, {}, add);
}

template <class T, class Arithmetic = product::F32Arithmetic>
void gradients(const tenon::Call& call, std::int64_t num_hidden) {
  using Operand = gemm::Operand<T>;
  const auto dy = call.output_grad<T>(0);
  const auto data = call.input<T>("data"), weight = call.input<T>("weight");
  const auto features = weight.dim(1), batch = dy.size() / num_hidden;
  const auto adds = [&](int i) { return call.write(i) == tenon::Write::add; };
  if (call.write(0) != tenon::Write::none)
    multiply<Arithmetic>(call, Operand{dy.data(), num_hidden, false},
                         Operand{weight.data(), features, false}, call.input_grad<T>("data").data(),
                         {batch, features, num_hidden}, adds(0));
  if (call.write(1) != tenon::Write::none)
    multiply<Arithmetic>(call, Operand{dy.data(), num_hidden, true},
                         Operand{data.data(), features, false}, call.input_grad<T>("weight").data(),
                         {num_hidden, features, batch}, adds(1));
  if (call.has_input("bias") && call.write(2) != tenon::Write::none) {
    const auto db = call.input_grad<T>("bias");
    sum_columns(
        call, batch, num_hidden,
        [=](std::int64_t row, std::int64_t h) { return dy[row * num_hidden + h]; },
        [&](std::int64_t h, double sum) { store(call.write(2), db[h], static_cast<T>(sum)); });
  }
}

}  // namespace

struct FullyConnected : FullyConnectedShapes {
  void prepare(tenon::Prepare& io) const { prepack_weight(io, num_hidden); }
  std::string algorithm(const tenon::Infer& io) const { return dense_forward_algorithm(io); }
  std::string backward_algorithm(const tenon::Infer& io) const {
    return dense_backward_algorithm(io);
  }
  void forward(const tenon::Call& call) const {
    call.input_type(0).dtype == tenon::f64 ? dense_product_f64(call, num_hidden)
                                           : dense_product_f32(call, num_hidden);
  }
  void backward(const tenon::Call& call) const {
    call.input_type(0).dtype == tenon::f64 ? gradients<double>(call, num_hidden)
                                           : gradients<float>(call, num_hidden);
  }
};
TENON_OPERATOR(fully_connected, FullyConnected)

#if defined(TENON_WIDE_LEVELS)
struct FullyConnectedInBf16 : FullyConnected {
  using Arithmetic = product::bf16::Bf16Arithmetic;
  static constexpr int priority = 1;

  bool supports(const tenon::Infer& types) const { return Arithmetic::supports(types); }
  void prepare(tenon::Prepare& io) const { prepack_weight<Arithmetic>(io, num_hidden); }
  std::string algorithm(const tenon::Infer& io) const {
    return dense_forward_algorithm<Arithmetic>(io);
  }
  std::string backward_algorithm(const tenon::Infer& io) const {
    return dense_backward_algorithm<Arithmetic>(io);
  }
  void forward(const tenon::Call& call) const { dense_product_f32<Arithmetic>(call, num_hidden); }
  void backward(const tenon::Call& call) const { gradients<float, Arithmetic>(call, num_hidden); }
};
TENON_KERNEL_VARIANT(fully_connected, cpu, FullyConnectedInBf16)
#endif
