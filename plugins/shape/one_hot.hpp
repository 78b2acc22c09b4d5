// Numbers as rows of zeros with a one in the place that the number names.
#pragma once
#include <algorithm>
#include <tenon/operator.hpp>

struct OneHot : tenon::Operator {
  std::int64_t depth = 0;
  tenon::DType dtype = tenon::DType::f32;

  static constexpr void describe(auto& op) {
    op.doc("1 at [..., indices[...]] and 0 elsewhere; nothing but 0 for an index out of range");
    op.types(tenon::integral);
    op.input("indices", "places along the last axis of output; any shape");
    op.output("output", "[shape of indices ..., depth]");
    op.param("depth", &OneHot::depth, "size of the last axis").required().at_least(1);
    op.param("dtype", &OneHot::dtype, "dtype of output").one_of(tenon::floating);
    op.example({{"indices", {3}, tenon::unknown_dtype, {0, 2, 1}}}, {{"depth", 3}});
  }

  void infer(tenon::Infer& io) const {
    const auto indices = io.input(0).shape;
    if (!indices.has_rank()) return io.set_output(0, tenon::Shape(), dtype);
    io.require(indices.rank() < 8, "indices is ", indices, ": needs at most 7 dimensions, as output has one more");
    auto output = tenon::Shape::of_rank(indices.rank() + 1);
    for (int axis = 0; axis < indices.rank(); ++axis) output.set(axis, indices[axis]);
    output.set(-1, depth);
    io.set_output(0, output, dtype);
  }

  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::integral>(call.input_type(0).dtype, [&]<class Index>() {
      tenon::visit<tenon::floating>(dtype, [&]<class T>() { fill(call.input<Index>(0), call.output<T>(0).data()); });
    });
  }

 private:
  template <class Index, class T>
  void fill(tenon::View<const Index> indices, T* row) const {
    for (const auto index : indices) {
      const auto place = static_cast<std::int64_t>(index);
      std::fill_n(row, depth, static_cast<T>(0.0f));
      if (place >= 0 && place < depth) row[place] = static_cast<T>(1.0f);
      row += depth;
    }
  }
};
