// Conversion between any two dtypes.
#pragma once
#include <tenon/operator.hpp>

#include "saturate.hpp"

template <class T>
inline constexpr bool is_half = std::is_same_v<T, tenon::half> || std::is_same_v<T, tenon::bfloat16>;

template <class To, class From>
TENON_FN To convert(From value) {
  if constexpr (is_half<From>) {
    return convert<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (is_half<To>) {
    return To(static_cast<float>(value));
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    return saturate<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

struct Cast : tenon::Operator {
  tenon::DType dtype = tenon::DType::f32;

  static constexpr void describe(auto& op) {
    op.doc("x converted to another dtype; towards integers, fractions are cut off, floating values saturate and integers wrap around");
    op.types(tenon::any_type);
    op.input("x", "any values; true counts as 1");
    op.output("y", "same shape as x; of dtype bool it tells which elements are not 0");
    op.param("dtype", &Cast::dtype, "dtype of y")
        .required()
        .one_of({{"bool", tenon::DType::boolean},
                 {"uint8", tenon::DType::u8},
                 {"int8", tenon::DType::i8},
                 {"int32", tenon::DType::i32},
                 {"int64", tenon::DType::i64},
                 {"float16", tenon::DType::f16},
                 {"bfloat16", tenon::DType::bf16},
                 {"float32", tenon::DType::f32},
                 {"float64", tenon::DType::f64}});
    op.backward_reads();
  }

  void infer(tenon::Infer& io) const {
    io.set_output(0, io.input(0).shape, dtype);
    io.set_input(0, io.output(0).shape);
  }

  void forward(const tenon::Call& call) const {
    tenon::visit(call.input_type(0).dtype,
                 [&]<class From>() { tenon::visit(dtype, [&]<class To>() { copy(call, call.input<From>(0), call.output<To>(0)); }); });
  }

  void backward(const tenon::Call& call) const {
    tenon::visit(dtype, [&]<class From>() {
      tenon::visit(call.input_type(0).dtype, [&]<class To>() { copy(call, call.output_grad<From>(0), call.input_grad<To>(0)); });
    });
  }

 private:
  template <class From, class To>
  static void copy(const tenon::Call& call, tenon::View<From> from, tenon::View<To> to) {
    const From* source = from.data();
    To* target = to.data();
    call.parallel_for(to.size(), 16384, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = begin; i < end; ++i) target[i] = convert<To>(source[i]);
    });
  }
};
