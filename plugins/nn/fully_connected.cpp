// A dense layer. The matrix products come from OpenBLAS, through linalg's tiles.
#include <tenon/operator.hpp>

#include "../linalg/gemm.hpp"
#include "fits.hpp"
#include "store.hpp"
#include "sum.hpp"

struct FullyConnected : tenon::Operator {
  std::int64_t num_hidden = 0;
  bool no_bias = false;
  bool flatten = true;

  static constexpr void describe(auto& op) {
    op.doc("output = data * weight^T + bias");
    op.types({tenon::f32, tenon::f64});
    op.input("data", "[batch, ...], where everything but the batch is features; [..., features] without flatten");
    op.input("weight", "[num_hidden, features]");
    op.input("bias", "[num_hidden]; absent when no_bias").optional();
    op.output("output", "[batch, num_hidden]; [..., num_hidden] without flatten");
    op.param("num_hidden", &FullyConnected::num_hidden, "rows of weight").required().at_least(1);
    op.param("no_bias", &FullyConnected::no_bias, "leave the bias out");
    op.param("flatten", &FullyConnected::flatten, "take all axes of data but the first as features, instead of the last axis alone");
    op.backward_reads("data", "weight");
    op.accumulates();
  }

  void infer(tenon::Infer& io) const {
    io.require(!no_bias || !io.has_input("bias"), "has a bias although no_bias is set");
    const auto data = io.input("data").shape;
    if (!data.has_rank()) return;
    io.require(data.rank() >= (flatten ? 2 : 1), "data is ", data, " but needs at least ", flatten ? "two dimensions" : "one dimension");
    const auto features = features_of(data);
    const auto weight = io.input("weight").shape;
    const tenon::Shape needed{num_hidden, features};
    io.require(fits(weight, needed), "weight is ", weight, " but data ", data, " needs ", needed);
    io.set_input("weight", needed);
    if (!no_bias) io.set_input("bias", {num_hidden});
    io.set_output(0, output_shape(data));
  }

  void forward(const tenon::Call& call) const { call.input_type(0).dtype == tenon::f64 ? multiply<double>(call) : multiply<float>(call); }

  void backward(const tenon::Call& call) const {
    call.input_type(0).dtype == tenon::f64 ? gradients<double>(call) : gradients<float>(call);
  }

 private:
  std::int64_t features_of(const tenon::Shape& data) const {
    if (!flatten) return data[-1];
    std::int64_t features = 1;
    for (int axis = 1; axis < data.rank(); ++axis) {
      if (data[axis] == tenon::unknown) return tenon::unknown;
      features *= data[axis];
    }
    return features;
  }

  tenon::Shape output_shape(tenon::Shape data) const {
    if (flatten) return {data[0], num_hidden};
    data.set(-1, num_hidden);
    return data;
  }

  template <class T>
  void multiply(const tenon::Call& call) const {
    const auto data = call.input<T>("data"), weight = call.input<T>("weight");
    const auto output = call.output<T>(0);
    const auto features = weight.dim(1), batch = output.size() / num_hidden;
    if (call.has_input("bias")) start_with_bias<T>(call, call.input<T>("bias").data(), output.data(), batch);
    const bool adds = call.has_input("bias") || call.write(0) == tenon::Write::add;
    gemm::multiply<T>(call, {data.data(), features, false}, {weight.data(), features, true}, output.data(), {batch, num_hidden}, features,
                      adds ? T(1) : T(0));
  }

  template <class T>
  void start_with_bias(const tenon::Call& call, const T* bias, T* output, std::int64_t batch) const {
    call.parallel_for(batch, 1 + 16384 / num_hidden, [&](std::int64_t begin, std::int64_t end) {
      for (auto row = begin; row < end; ++row)
        for (std::int64_t h = 0; h < num_hidden; ++h) store(call.write(0), output[row * num_hidden + h], bias[h]);
    });
  }

  template <class T>
  void gradients(const tenon::Call& call) const {
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
};
TENON_OPERATOR(fully_connected, FullyConnected)
