// fully_connected on the CPU. The matrix products come from OpenBLAS, through linalg's tiles.
#include "fully_connected.hpp"

#include "../../shared/gemm.hpp"
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

template <class T>
void multiply(const tenon::Call& call, std::int64_t num_hidden) {
  const auto data = call.input<T>("data"), weight = call.input<T>("weight");
  const auto output = call.output<T>(0);
  const auto features = weight.dim(1), batch = output.size() / num_hidden;
  if (call.has_input("bias")) start_with_bias<T>(call, num_hidden, call.input<T>("bias").data(), output.data(), batch);
  const bool adds = call.has_input("bias") || call.write(0) == tenon::Write::add;
  gemm::multiply<T>(call, {data.data(), features, false}, {weight.data(), features, true}, output.data(), {batch, num_hidden}, features,
                    adds ? T(1) : T(0));
}

template <class T>
void gradients(const tenon::Call& call, std::int64_t num_hidden) {
  const auto dy = call.output_grad<T>(0);
  const auto data = call.input<T>("data"), weight = call.input<T>("weight");
  const auto features = weight.dim(1), batch = dy.size() / num_hidden;
  const auto start = [&](int i) { return call.write(i) == tenon::Write::add ? T(1) : T(0); };
  if (call.write(0) != tenon::Write::none)
    gemm::multiply<T>(call, {dy.data(), num_hidden, false}, {weight.data(), features, false}, call.input_grad<T>("data").data(),
                      {batch, features}, num_hidden, start(0));
  if (call.write(1) != tenon::Write::none)
    gemm::multiply<T>(call, {dy.data(), num_hidden, true}, {data.data(), features, false}, call.input_grad<T>("weight").data(),
                      {num_hidden, features}, batch, start(1));
  if (call.has_input("bias") && call.write(2) != tenon::Write::none) {
    const auto db = call.input_grad<T>("bias");
    sum_columns(
        call, batch, num_hidden, [&](std::int64_t row, std::int64_t h) { return dy[row * num_hidden + h]; },
        [&](std::int64_t h, double sum) { store(call.write(2), db[h], static_cast<T>(sum)); });
  }
}

}  // namespace

void FullyConnected::forward(const tenon::Call& call) const {
  call.input_type(0).dtype == tenon::f64 ? multiply<double>(call, num_hidden) : multiply<float>(call, num_hidden);
}

void FullyConnected::backward(const tenon::Call& call) const {
  call.input_type(0).dtype == tenon::f64 ? gradients<double>(call, num_hidden) : gradients<float>(call, num_hidden);
}

TENON_OPERATOR(fully_connected, FullyConnected)
