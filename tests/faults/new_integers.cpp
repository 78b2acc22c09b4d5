// No fault: operators with inputs of dtypes of 0.2 whose elements come from examples, or are needed
// by infer().
#include <tenon/operator.hpp>

struct PickRows : tenon::Operator {
  static constexpr tenon::Types index_types{tenon::u16, tenon::u32};

  static constexpr void describe(auto& op) {
    op.doc("rows of a table");
    op.input("table", "[rows, columns]");
    op.input("index", "[n], below rows").types(index_types);
    op.output("y", "[n, columns]");
    op.types({tenon::f32});
    op.example({{"table", {4, 3}}, {"index", {3}, tenon::u16, {0, 3, 2}}});
  }
  void infer(tenon::Infer& io) const {
    const auto table = io.input("table").shape, index = io.input("index").shape;
    if (!table.has_rank() || !index.has_rank()) return;
    io.require(table.rank() == 2, "table is ", table, " but needs [rows, columns]");
    io.require(index.rank() == 1, "index is ", index, " but needs [n]");
    io.set_output("y", {index[0], table[1]});
  }
  void forward(const tenon::Call& call) const {
    const auto table = call.input<float>("table");
    const auto y = call.output<float>("y");
    const auto rows = call.input_type(0).shape[0], columns = call.input_type(0).shape[1];
    tenon::visit<index_types>(call.input_type(1).dtype, [&]<class T>() {
      const auto index = call.input<T>("index");
      for (std::int64_t i = 0; i < index.size(); ++i) {
        if (index[i] >= rows)
          throw tenon::Error("index ", static_cast<std::int64_t>(index[i]), " is not below ", rows);
        for (std::int64_t k = 0; k < columns; ++k)
          y[i * columns + k] = table[index[i] * columns + k];
      }
    });
  }
};
TENON_OPERATOR(pick_rows, PickRows)

struct ZerosOf : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("zeros of a shape");
    op.input("shape", "[rank]").types({tenon::u32});
    op.output("y", "zeros");
    op.types({tenon::f32});
  }
  void infer(tenon::Infer& io) const {
    io.set_output("y", tenon::Shape(), tenon::f32);
    const auto shape = io.input("shape").shape;
    if (!shape.has_rank()) return;
    io.require(shape.rank() == 1, "shape is ", shape, " but needs [rank]");
    const auto sizes = io.values<std::uint32_t>("shape");
    if (!sizes) return;
    auto wanted = tenon::Shape::of_rank(static_cast<int>(sizes.size()));
    for (int axis = 0; axis < wanted.rank(); ++axis) wanted.set(axis, sizes[axis]);
    io.set_output("y", wanted, tenon::f32);
  }
  void forward(const tenon::Call& call) const {
    for (auto& element : call.output<float>("y")) element = 0;
  }
};
TENON_OPERATOR(zeros_of, ZerosOf)
