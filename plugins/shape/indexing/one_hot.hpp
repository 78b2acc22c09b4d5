// One-hot encoding of indices.
#pragma once
#include <algorithm>
#include <cstring>
#include <tenon/operator.hpp>

#include "../../shared/argument_numbers.hpp"
#include "../../shared/bytes.hpp"
#include "shared/dims.hpp"

/// Maps an element of output to the index that determines it.
struct OneHotIndexing {
  std::int64_t size, inner;  ///< size of the new axis, and number of elements after it
  bool negative;

  TENON_FN std::int64_t index_of(std::int64_t i) const {
    return i / inner / size * inner + i % inner;
  }
  TENON_FN bool is_named(std::int64_t i, std::int64_t index) const {
    return (negative && index < 0 ? index + size : index) == i / inner % size;
  }
};

struct OneHot : tenon::Operator {
  std::int64_t depth = 0, axis = -1;
  tenon::DType dtype = tenon::DType::f32;
  bool negative = false;

  static constexpr void describe(auto& op) {
    op.doc(
        "one-hot encoding: 1 at [..., indices[...]] and 0 elsewhere; all 0 for an index out of "
        "range");
    op.types(tenon::integral);
    op.input("indices", "any shape; positions along the new axis of output");
    describe_argument(op, "size", "one element; replaces the parameter `depth`");
    op.input("values", "[2]; the values written in place of 0 and 1; default: 0 and 1")
        .types(tenon::every_type)
        .optional();
    op.output("output",
              "shape of indices with a new axis of size `depth` at `axis`; dtype of values, or "
              "`dtype` if values is absent");
    op.param("depth", &OneHot::depth,
             "size of the new axis, the number of classes; 0: from the input size")
        .at_least(0);
    op.param("axis", &OneHot::axis,
             "position of the new axis in output; negative positions count from the end");
    op.param("dtype", &OneHot::dtype, "dtype of output if the input values is absent")
        .one_of(tenon::floating);
    op.param("negative", &OneHot::negative,
             "negative indices count from the end of the new axis; false: they are out of range");
    op.backward_reads("indices");
    op.example({{"indices", {3}, tenon::unknown_dtype, {0, 2, 1}}}, {{"depth", 3}});
    op.example({{"indices", {3}, tenon::unknown_dtype, {0, 2, 1}},
                {"size", {}, tenon::i64, {3}},
                {"values", {2}}},
               {{"axis", 0}, {"negative", true}});
    op.onnx("", "OneHot").since(9).attribute("axis", "axis").constant("negative", true);
  }

  void infer(tenon::Infer& io) const {
    const auto indices = io.input(0).shape;
    const auto type = io.has_input("values") ? io.input("values").dtype : dtype;
    if (io.has_input("values")) io.set_input("values", {2});
    io.set_output(0, tenon::Shape(), type);
    if (depth != 0 && io.has_input("size"))
      io.param_error("depth", "and the input 'size' are both set: needs only one of them");
    if (depth == 0 && !io.has_input("size"))
      io.param_error("depth", "and the input 'size' are both missing: needs one of them");
    if (!indices.has_rank()) return;
    io.require(indices.rank() < 8, "indices is ", indices,
               ": needs at most 7 dimensions, since output has one more");
    const int at = axis_of(io, axis, indices.rank() + 1);
    const auto size = argument_number(io, "size", depth);
    io.require(!size || *size >= 0, "size is ", size.value_or(0), ": needs 0 or more");
    auto output = tenon::Shape::of_rank(indices.rank() + 1);
    for (int a = 0; a < output.rank(); ++a)
      output.set(a, a == at ? size.value_or(tenon::unknown) : indices[a - (a > at)]);
    io.set_output(0, output, type);
  }

  void forward(const tenon::Call& call) const {
    const auto size = tenon::size_of(call.output_type(0).dtype);
    const Values values(call);
    const auto* const off = call.has_input("values") ? bytes::input(call, 2) : values.plain[0];
    const auto* const on =
        call.has_input("values") ? bytes::input(call, 2) + size : values.plain[1];
    each(call, [&](std::int64_t element, bool hot) {
      std::memcpy(bytes::output(call, 0) + static_cast<std::size_t>(element) * size, hot ? on : off,
                  size);
    });
  }

  /// The gradient of values.
  void backward(const tenon::Call& call) const {
    if (!call.has_input("values") || call.write(2) == tenon::Write::none) return;
    tenon::visit<tenon::floating + tenon::any_complex>(call.output_type(0).dtype, [&]<class T>() {
      using Sum = std::conditional_t<tenon::is_half<T>, float, T>;
      const T* const dy = call.output_grad<T>(0).data();
      Sum sums[2] = {Sum(0), Sum(0)};
      each(call,
           [&](std::int64_t element, bool hot) { sums[hot] += static_cast<Sum>(dy[element]); });
      for (int i = 0; i < 2; ++i) call.input_grad<T>(2).data()[i] = static_cast<T>(sums[i]);
    });
  }

 protected:
  /// 0 and 1 in output's dtype, used without the input values.
  struct Values {
    explicit Values(const tenon::Call& call) {
      if (call.has_input("values")) return;
      tenon::visit<tenon::floating>(call.output_type(0).dtype, [&]<class T>() {
        const auto one = static_cast<T>(1.0f);
        std::memcpy(plain[1], &one, sizeof one);
      });
    }
    std::byte plain[2][16] = {};
  };

  OneHotIndexing indexing_of(const tenon::Call& call) const {
    const auto output = call.output_type(0).shape;
    const int at = axis_of(axis, output.rank());
    std::int64_t inner = 1;
    for (int a = at + 1; a < output.rank(); ++a) inner *= output[a];
    if (!call.backward() && argument_number(call, "size", depth) != output[at])
      throw tenon::Error("output is ", output, ", but its new axis does not have size depth");
    return {output[at], inner, negative};
  }

 private:
  /// Calls body(offset, whether its index selects it) for each element of output.
  template <class Body>
  void each(const tenon::Call& call, Body body) const {
    const auto indexing = indexing_of(call);
    tenon::visit<tenon::integral>(call.input_type(0).dtype, [&]<class Index>() {
      const Index* const indices = call.input<Index>(0).data();
      const auto count = call.output_type(0).shape.size();
      for (std::int64_t i = 0; i < count; ++i)
        body(i, indexing.is_named(i, static_cast<std::int64_t>(indices[indexing.index_of(i)])));
    });
  }
};
