// output = data * weight^T + bias on the CPU.
#pragma once
#include <string>
#include <tenon/operator.hpp>

#include "../../shared/gemm.hpp"
#include "../../shared/product/multiply.hpp"
#include "shared/store.hpp"

/// Packs a constant weight into slot 0; only for f32. `Arithmetic`: precision of f32 products.
template <class Arithmetic = product::F32Arithmetic>
void prepack_weight(tenon::Prepare& io, std::int64_t num_hidden) {
  if (io.backward() || io.input("weight").dtype != tenon::f32 || !io.is_constant("weight")) return;
  const auto features = io.input("weight").shape[1];
  const Arithmetic arithmetic({io.output(0).shape.size() / num_hidden, num_hidden, features});
  const auto size = arithmetic.packed_size();
  if (size == 0) return;
  using Packed = typename Arithmetic::Packed;
  io.prepack(0, "weight",
             tenon::join(arithmetic.packing(), " of ", num_hidden, " x ", features, ", transposed"),
             sizeof(Packed) * static_cast<std::size_t>(size), [&](void* memory) {
               arithmetic.pack({io.constant<float>("weight").data(), features, true},
                               static_cast<Packed*>(memory));
             });
}

/// The algorithm for a product of a dense layer.
template <class Arithmetic = product::F32Arithmetic>
std::string dense_algorithm(const tenon::Infer& io, const product::Size& size) {
  return choice::text_of(product::choose(
      product::multiplies_of(io.input("weight").dtype, Arithmetic::multiplies), size));
}
template <class Arithmetic = product::F32Arithmetic>
std::string dense_forward_algorithm(const tenon::Infer& io) {
  const auto hidden = io.input("weight").shape[0], features = io.input("weight").shape[1];
  return dense_algorithm<Arithmetic>(io, {io.output(0).shape.size() / hidden, hidden, features});
}
template <class Arithmetic = product::F32Arithmetic>
std::string dense_backward_algorithm(const tenon::Infer& io) {
  const auto hidden = io.input("weight").shape[0], features = io.input("weight").shape[1],
             batch = io.output(0).shape.size() / hidden;
  return "for data " + dense_algorithm<Arithmetic>(io, {batch, features, hidden}) +
         "; for weight " + dense_algorithm<Arithmetic>(io, {hidden, features, batch});
}

/// Sets, or with Write::add increments, each row of output by the bias.
template <class T>
void start_with_bias(const tenon::Call& call, std::int64_t num_hidden, const T* bias, T* output,
                     std::int64_t batch) {
  call.parallel_for(batch, 1 + 16384 / num_hidden, [&](std::int64_t begin, std::int64_t end) {
    for (auto row = begin; row < end; ++row)
      for (std::int64_t h = 0; h < num_hidden; ++h)
        store(call.write(0), output[row * num_hidden + h], bias[h]);
  });
}

inline void dense_product_f64(const tenon::Call& call, std::int64_t num_hidden) {
  const auto data = call.input<double>("data"), weight = call.input<double>("weight");
  const auto output = call.output<double>(0);
  const auto features = weight.dim(1), batch = output.size() / num_hidden;
  if (call.has_input("bias"))
    start_with_bias(call, num_hidden, call.input<double>("bias").data(), output.data(), batch);
  const bool adds = call.has_input("bias") || call.write(0) == tenon::Write::add;
  gemm::multiply(call, {data.data(), features, false}, {weight.data(), features, true},
                 output.data(), {batch, num_hidden}, features, adds ? 1 : 0);
}

/// Calls finish(tile) for tiles of complete output rows, on any thread.
template <class Arithmetic = product::F32Arithmetic, class Finish = product::Nothing>
void dense_product_f32(const tenon::Call& call, std::int64_t num_hidden,
                       const Finish& finish = {}) {
  const auto data = call.input<float>("data"), weight = call.input<float>("weight");
  const auto output = call.output<float>(0);
  const auto features = weight.dim(1), batch = output.size() / num_hidden;
  const float* const bias = call.has_input("bias") ? call.input<float>("bias").data() : nullptr;
  using Packed = typename Arithmetic::Packed;
  product::multiply<Arithmetic>(
      call, {data.data(), features, false},
      {{weight.data(), features, true}, static_cast<const Packed*>(call.prepacked(0))},
      output.data(), {batch, num_hidden, features}, {bias, 0}, call.write(0) == tenon::Write::add,
      finish);
}
