// Plugins, one for each FAULT_NAME, without a fault.
#include "doubling.hpp"

#ifdef FAULT_picky
// Valid, but its accepted inputs cannot be guessed.
struct Picky : tenon::Operator {
  int level = 1;
  static constexpr void describe(auto& op) {
    op.doc("twice x");
    op.types({tenon::f32});
    op.input("x", "[rows, a prime number of columns]");
    op.input("which", "[2], the numbers 5 and 2").types({tenon::i32});
    op.output("y", "same shape as x");
    op.param("level", &Picky::level, "41 for some primes").at_least(1);
  }
  void infer(tenon::Infer& io) const {
    const auto x = io.input("x").shape;
    io.require(!x.known() || (x.rank() == 2 && x[1] == 97), "x is ", x,
               ", which has too few columns");
    io.set_input("which", {2});
    io.require(level == 41, "the level is too low");
    io.set_output(0, x);
  }
  void forward(const tenon::Call& call) const {
    const auto which = call.input<std::int32_t>("which");
    if (which[0] != 5 || which[1] != 2)
      tenon::fail(tenon::ErrorKind::failed, {"which is not 5 and 2"});
    for (std::int64_t i = 0; i < call.input<float>(0).size(); ++i)
      call.output<float>(0).data()[i] = 2 * call.input<float>(0).data()[i];
  }
};
TENON_OPERATOR(picky, Picky)
#endif

#ifdef FAULT_keeps_bounds
/// Valid: bounds of 0, which integers cannot leave by a step of less than 1.
struct KeepsBounds : Doubling {
  std::int32_t least = 0, most = 0;
  std::int64_t large = 0;
  tenon::Ints list = {0};
  float real = 0;
  tenon::Table<float> table = {0};
  tenon::Table<std::int32_t> whole = {0};
  static constexpr void describe(auto& op) {
    Doubling::describe(op);
    op.param("least", &KeepsBounds::least, "is not used").at_least(0);
    op.param("most", &KeepsBounds::most, "is not used").at_most(0);
    op.param("large", &KeepsBounds::large, "is not used").at_least(0);
    op.param("list", &KeepsBounds::list, "is not used").at_least(0);
    op.param("real", &KeepsBounds::real, "is not used").at_least(0);
    op.param("table", &KeepsBounds::table, "is not used").at_least(0);
    op.param("whole", &KeepsBounds::whole, "is not used").at_most(0);
  }
  void forward(const tenon::Call& call) const { write(call, call.input<float>(0).size()); }
};
TENON_OPERATOR(keeps_bounds, KeepsBounds)
#endif

#ifdef FAULT_new_integers
// No fault: operators with inputs of dtypes of 0.2 whose elements come from examples, or are needed
// by infer().
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
    auto target = tenon::Shape::of_rank(static_cast<int>(sizes.size()));
    for (int axis = 0; axis < target.rank(); ++axis) target.set(axis, sizes[axis]);
    io.set_output("y", target, tenon::f32);
  }
  void forward(const tenon::Call& call) const {
    for (auto& element : call.output<float>("y")) element = 0;
  }
};
TENON_OPERATOR(zeros_of, ZerosOf)
#endif
