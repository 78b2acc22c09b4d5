// No faults: elements that are valid only for some parameter values, and refused by the kernels
// otherwise.
#include <cmath>
#include <limits>

#include "sound.hpp"

using tenon::Error;

/// Sums -log of the labelled elements, [rows, classes] and [rows]; rows with the label ignore_index
/// do not count.
struct ChosenLoss : Sound {
  std::int64_t ignore_index = -100;
  bool mean = false;
  static constexpr void describe(auto& op) {
    op.doc("-log p of each row's label, summed");
    op.types({tenon::f32, tenon::f64});
    op.input("p", "[rows, classes], above 0");
    op.input("label", "[rows], the class of each").types({tenon::i32, tenon::i64});
    op.output("loss", "one number");
    op.param("ignore_index", &ChosenLoss::ignore_index, "a label of rows that do not count");
    op.param("mean", &ChosenLoss::mean, "divided by the number of rows");
    op.example({{"p", {4, 3}}, {"label", {4}, tenon::i32, {0, -100, 2, 1}}});
    op.example({{"p", {2, 3}}, {"label", {2}, tenon::i32, {2, -1}}}, {{"ignore_index", -1}});
  }
  void infer(Infer& io) const {
    const auto p = io.input("p").shape;
    io.set_input("p", tenon::Shape::of_rank(2));
    if (p.has_rank() && p.rank() == 2) io.set_input("label", {p[0]});
    io.set_output(0, tenon::Shape::scalar());
  }
  std::int64_t label_at(const Call& call, std::int64_t row) const {
    const auto type = call.input_type(1).dtype;
    return type == tenon::i32 ? call.input<std::int32_t>(1)[row] : call.input<std::int64_t>(1)[row];
  }
  template <class Each>
  void each_row(const Call& call, Each&& each) const {
    const auto shape = call.input_type(0).shape;
    for (std::int64_t row = 0; row < shape[0]; ++row) {
      const auto label = label_at(call, row);
      if (label == ignore_index) continue;
      if (label < 0 || label >= shape[1])
        throw Error("a label is ", label, ", but there are ", shape[1], " classes");
      each(row * shape[1] + label);
    }
  }
  void forward(const Call& call) const {
    typed(call, [&]<class T>() {
      const auto p = call.input<T>(0);
      const auto rows =
          mean ? static_cast<T>(std::max<std::int64_t>(call.input_type(0).shape[0], 1)) : T(1);
      T sum = 0;
      each_row(call, [&](std::int64_t i) {
        if (!(p[i] > 0)) throw Error("p is ", static_cast<double>(p[i]), ", but must be above 0");
        sum -= std::log(p[i]);
      });
      call.output<T>(0)[0] = sum / rows;
    });
  }
  void backward(const Call& call) const {
    if (call.write(0) == Write::none) return;
    typed(call, [&]<class T>() {
      const auto p = call.input<T>(0);
      const auto dp = call.input_grad<T>(0);
      const auto rows =
          mean ? static_cast<T>(std::max<std::int64_t>(call.input_type(0).shape[0], 1)) : T(1);
      for (auto& element : dp) element = 0;
      each_row(call, [&](std::int64_t i) { dp[i] = -call.output_grad<T>(0)[0] / (p[i] * rows); });
    });
  }
};
TENON_OPERATOR(chosen_loss, ChosenLoss)

/// Same without an example.
struct BareLoss : ChosenLoss {
  static constexpr void describe(auto& op) {
    op.doc("-log p of each row's label, summed");
    op.types({tenon::f32, tenon::f64});
    op.input("p", "[rows, classes], above 0");
    op.input("label", "[rows], the class of each").types({tenon::i32, tenon::i64});
    op.output("loss", "one number");
    op.param("ignore_index", &BareLoss::ignore_index, "a label of rows that do not count");
    op.param("mean", &BareLoss::mean, "divided by the number of rows");
  }
};
TENON_OPERATOR(bare_loss, BareLoss)

/// Sums over an alignment of labels other than blank: [steps, batch, classes], [batch, labels], and
/// two lengths per batch entry.
struct Alignment : Sound {
  std::int64_t blank = 0;
  static constexpr void words(auto& op) {
    op.doc("the sum of p of the labels of each sequence at its first steps");
    op.types({tenon::f32, tenon::f64});
    op.input("p", "[steps, batch, classes]");
    op.input("labels", "[batch, labels]").types({tenon::i32});
    op.input("steps", "[batch], how many steps count").types({tenon::i32});
    op.input("count", "[batch], how many labels count").types({tenon::i32});
    op.output("sum", "[batch]");
  }
  static constexpr void describe(auto& op) {
    words(op);
    op.param("blank", &Alignment::blank, "a class that is no label").at_least(0);
  }
  void infer(Infer& io) const {
    io.set_input("p", tenon::Shape::of_rank(3));
    io.set_input("labels", tenon::Shape::of_rank(2));
    const auto p = io.input("p").shape;
    if (!p.has_rank() || p.rank() != 3) return;
    io.set_input("labels", {p[1], tenon::unknown});
    io.set_input("steps", {p[1]});
    io.set_input("count", {p[1]});
    io.set_output(0, {p[1]});
  }
  template <class Each>
  void each_label(const Call& call, Each&& each) const {
    const auto p = call.input_type(0).shape, labels = call.input_type(1).shape;
    if (blank >= p[2]) throw Error("blank is ", blank, ", but there are ", p[2], " classes");
    for (std::int64_t b = 0; b < p[1]; ++b) {
      const auto steps = call.input<std::int32_t>(2)[b], count = call.input<std::int32_t>(3)[b];
      if (steps < 1 || steps > p[0]) throw Error("a sequence has ", steps, " steps of ", p[0]);
      if (count < 0 || count > labels[1] || count > steps)
        throw Error("a sequence has ", count, " labels of ", labels[1]);
      for (std::int64_t i = 0; i < count; ++i) {
        const auto label = call.input<std::int32_t>(1)[b * labels[1] + i];
        if (label == blank || label < 0 || label >= p[2])
          throw Error("a label is ", label, ", but blank is ", blank);
        each(b, (i * p[1] + b) * p[2] + label);
      }
    }
  }
  void forward(const Call& call) const {
    typed(call, [&]<class T>() {
      for (auto& element : call.output<T>(0)) element = 0;
      each_label(call, [&](std::int64_t b, std::int64_t i) {
        call.output<T>(0)[b] += call.input<T>(0)[i];
      });
    });
  }
  void backward(const Call& call) const {
    if (call.write(0) == Write::none) return;
    typed(call, [&]<class T>() {
      for (auto& element : call.input_grad<T>(0)) element = 0;
      each_label(call, [&](std::int64_t b, std::int64_t i) {
        call.input_grad<T>(0)[i] = call.output_grad<T>(0)[b];
      });
    });
  }
};
TENON_OPERATOR(bare_alignment, Alignment)

struct ExampleAlignment : Alignment {
  static constexpr void describe(auto& op) {
    words(op);
    op.param("blank", &ExampleAlignment::blank, "a class that is no label").at_least(0);
    op.example({{"p", {5, 2, 4}},
                {"labels", {2, 2}, tenon::i32, {1, 3, 2, 1}},
                {"steps", {2}, tenon::i32, {5, 4}},
                {"count", {2}, tenon::i32, {2, 1}}});
    op.example({{"p", {5, 2, 4}},
                {"labels", {2, 2}, tenon::i32, {0, 3, 2, 1}},
                {"steps", {2}, tenon::i32, {5, 4}},
                {"count", {2}, tenon::i32, {2, 1}}},
               {{"blank", 1}});
  }
};
TENON_OPERATOR(alignment, ExampleAlignment)

/// Sums of segments; ids are below `segments`.
struct SegmentSum : Sound {
  std::int64_t segments = 3;
  static constexpr void describe(auto& op) {
    op.doc("the sum of the elements of each segment");
    op.types({tenon::f32, tenon::f64});
    op.input("x", "[n]");
    op.input("id", "[n], the segment of each").types({tenon::i64});
    op.output("y", "[segments]");
    op.param("segments", &SegmentSum::segments, "how many").at_least(0);
  }
  void infer(Infer& io) const {
    const auto x = io.input("x").shape;
    io.set_input("x", tenon::Shape::of_rank(1));
    io.set_input("id", x);
    io.set_output(0, {segments});
  }
  void forward(const Call& call) const {
    typed(call, [&]<class T>() {
      const auto y = call.output<T>(0);
      for (auto& element : y) element = 0;
      for (std::int64_t i = 0; i < call.input<T>(0).size(); ++i) {
        const auto id = call.input<std::int64_t>(1)[i];
        if (id < 0 || id >= segments) throw Error("id ", id, " is not below ", segments);
        y[id] += call.input<T>(0)[i];
      }
    });
  }
  void backward(const Call& call) const {
    if (call.write(0) == Write::none) return;
    typed(call, [&]<class T>() {
      for (std::int64_t i = 0; i < call.input_grad<T>(0).size(); ++i)
        call.input_grad<T>(0)[i] = call.output_grad<T>(0)[call.input<std::int64_t>(1)[i]];
    });
  }
};
TENON_OPERATOR(segment_sums, SegmentSum)
