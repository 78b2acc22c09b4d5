// Scales a tensor by one number.
#pragma once
#include <tenon/elementwise/convert.hpp>
#include <tenon/operator.hpp>
#include <tenon/same_sparsity.hpp>
#include <type_traits>

#include "block_sum.hpp"

/// mul would need the factor in data's dtype, and would lose most of its digits in 16 bits.
struct ScaleBy : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("data * factor, computed in float32 or wider");
    op.input("data", "any shape and storage");
    op.input("factor", "float32 scalar").types({tenon::f32});
    op.output("output",
              "same shape, dtype and storage as data; elements that a sparse tensor does not store "
              "remain 0, even if factor is inf or NaN");
    op.inplace("data", "output");
    op.backward_inplace("output", "data");
    op.backward_reads("data", "factor");
    op.example({{"data", {2, 3}}, {"factor", {}, tenon::f32, {0.5}}});
  }

  void infer(tenon::Infer& io) const {
    io.set_input("factor", tenon::Shape::scalar());
    io.set_input("data", io.output(0).shape);
    io.set_output(0, io.input("data").shape);
  }

  void infer_storage(tenon::InferStorage& io) const {
    if (io.input(1) == tenon::Storage::dense) keep_sparsity(io);
  }

  void forward(const tenon::Call& call) const {
    scale_all(call, tenon::copy_indices, [&](auto... values) { scale(call, values...); });
  }
  void forward_sparse(const tenon::Call& call) const { forward(call); }

  void backward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const auto dy = call.output_grad<T>(0);
      if (call.write(1) != tenon::Write::none) {  // first: the other gradient may overwrite dy
        const auto multiply = [from = call.input<T>("data").data(),
                               slope = dy.data()](std::int64_t i) {
          return static_cast<double>(from[i]) * static_cast<double>(slope[i]);
        };
        call.input_grad<float>("factor")[0] =
            static_cast<float>(block_sum(call, dy.size(), multiply));
      }
      if (call.write(0) != tenon::Write::none)
        scale(call, dy.data(), dy.size(), call.input_grad<T>("data").data());
    });
  }

 protected:
  template <class T>
  using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

  /// Calls scale(from, count, to) on the stored elements; `copy` copies the sparse indices, as in
  /// SameSparsity.
  template <class Copy, class Scale>
  static void scale_all(const tenon::Call& call, const Copy& copy, const Scale& scale) {
    const tenon::SameSparsity tensors(call, copy);
    tenon::visit<tenon::floating>(tensors.read_dtype(), [&]<class T>() {
      scale(tensors.read<T>(), tensors.count(), tensors.written<T>());
    });
  }

 private:
  template <class T>
  static void scale(const tenon::Call& call, const T* from, std::int64_t size, T* to) {
    const auto factor = static_cast<Wide<T>>(call.input<float>("factor")[0]);
    call.parallel_for(size, 16384, [=](std::int64_t begin, std::int64_t end) {
      tenon::elementwise::for_each(end - begin, [=](std::int64_t offset) {
        to[begin + offset] = static_cast<T>(Wide<T>(from[begin + offset]) * factor);
      });
    });
  }
};
