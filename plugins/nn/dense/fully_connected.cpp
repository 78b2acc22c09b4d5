// fully_connected on the CPU.
#include "fully_connected.hpp"

#include "../../shared/gemm.hpp"
#include "../../shared/product/multiply.hpp"
#include "shared/store.hpp"
#include "shared/sum.hpp"

namespace {

template <class T>
void start_with_bias(const tenon::Call& call, std::int64_t num_hidden, const T* bias, T* output, std::int64_t batch) {
  call.parallel_for(batch, 1 + 16384 / num_hidden, [&](std::int64_t begin, std::int64_t end) {
    for (auto row = begin; row < end; ++row)
      for (std::int64_t h = 0; h < num_hidden; ++h) store(call.write(0), output[row * num_hidden + h], bias[h]);
  });
}

void multiply_f64(const tenon::Call& call, std::int64_t num_hidden) {
  const auto data = call.input<double>("data"), weight = call.input<double>("weight");
  const auto output = call.output<double>(0);
  const auto features = weight.dim(1), batch = output.size() / num_hidden;
  if (call.has_input("bias")) start_with_bias(call, num_hidden, call.input<double>("bias").data(), output.data(), batch);
  const bool adds = call.has_input("bias") || call.write(0) == tenon::Write::add;
  gemm::multiply(call, {data.data(), features, false}, {weight.data(), features, true}, output.data(), {batch, num_hidden}, features,
                 adds ? 1 : 0);
}

void multiply_f32(const tenon::Call& call, std::int64_t num_hidden) {
  const auto data = call.input<float>("data"), weight = call.input<float>("weight");
  const auto output = call.output<float>(0);
  const auto features = weight.dim(1), batch = output.size() / num_hidden;
  const float* const bias = call.has_input("bias") ? call.input<float>("bias").data() : nullptr;
  product::Start start{bias, 0};
  if (call.write(0) == tenon::Write::add) {
    if (bias) start_with_bias(call, num_hidden, bias, output.data(), batch);
    start = {output.data(), num_hidden};
  }
  product::multiply(call, {data.data(), features, false}, {{weight.data(), features, true}, static_cast<const float*>(call.kept(0))},
                    output.data(), {batch, num_hidden, features}, start);
}

/// result = left * right, or what is there and that.
void multiply(const tenon::Call& call, const gemm::Operand<double>& left, const gemm::Operand<double>& right, double* result,
              const product::Size& size, bool add) {
  gemm::multiply(call, left, right, result, {size.rows, size.columns}, size.depth, add ? 1 : 0);
}
void multiply(const tenon::Call& call, const gemm::Operand<float>& left, const gemm::Operand<float>& right, float* result,
              const product::Size& size, bool add) {
  product::multiply(call, left, {right}, result, size, {add ? result : nullptr, size.columns});
}

template <class T>
void gradients(const tenon::Call& call, std::int64_t num_hidden) {
  using Operand = gemm::Operand<T>;
  const auto dy = call.output_grad<T>(0);
  const auto data = call.input<T>("data"), weight = call.input<T>("weight");
  const auto features = weight.dim(1), batch = dy.size() / num_hidden;
  const auto adds = [&](int i) { return call.write(i) == tenon::Write::add; };
  if (call.write(0) != tenon::Write::none)
    multiply(call, Operand{dy.data(), num_hidden, false}, Operand{weight.data(), features, false}, call.input_grad<T>("data").data(),
             {batch, features, num_hidden}, adds(0));
  if (call.write(1) != tenon::Write::none)
    multiply(call, Operand{dy.data(), num_hidden, true}, Operand{data.data(), features, false}, call.input_grad<T>("weight").data(),
             {num_hidden, features, batch}, adds(1));
  if (call.has_input("bias") && call.write(2) != tenon::Write::none) {
    const auto db = call.input_grad<T>("bias");
    sum_columns(
        call, batch, num_hidden, [&](std::int64_t row, std::int64_t h) { return dy[row * num_hidden + h]; },
        [&](std::int64_t h, double sum) { store(call.write(2), db[h], static_cast<T>(sum)); });
  }
}

}  // namespace

/// The weight, packed. Kept only for f32.
void FullyConnected::prepare(tenon::Prepare& io) const {
  if (io.backward() || io.input("weight").dtype != tenon::f32 || !io.is_constant("weight")) return;
  const auto features = io.input("weight").shape[1], size = product::packed_size(features, num_hidden);
  if (size == 0) return;
  io.keep(0, "weight", tenon::join("panels of 64 of ", num_hidden, " x ", features, ", transposed"),
          sizeof(float) * static_cast<std::size_t>(size), [&](void* memory) {
            product::pack({io.constant<float>("weight").data(), features, true}, features, num_hidden, static_cast<float*>(memory));
          });
}

void FullyConnected::forward(const tenon::Call& call) const {
  call.input_type(0).dtype == tenon::f64 ? multiply_f64(call, num_hidden) : multiply_f32(call, num_hidden);
}

void FullyConnected::backward(const tenon::Call& call) const {
  call.input_type(0).dtype == tenon::f64 ? gradients<double>(call, num_hidden) : gradients<float>(call, num_hidden);
}

TENON_OPERATOR(fully_connected, FullyConnected)
