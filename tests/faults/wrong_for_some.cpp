// Right for the most obvious calls, each wrong for others that a search for inputs must find.
#include <algorithm>
#include <cmath>

#include "sound.hpp"

/// x minus the mean of its group of channels. The gradient ignores the means from rank 3 on.
struct GroupGradient : Sound {
  int groups = 2;
  static constexpr void describe(auto& op) {
    Sound::describe(op);
    op.param("groups", &GroupGradient::groups, "of channels").at_least(1);
  }
  void infer(Infer& io) const {
    const auto x = io.input("x").shape;
    io.require(!x.has_rank() || x.rank() > 1, "x is ", x, " but needs two dimensions or more");
    io.require(!x.has_rank() || x[1] == tenon::unknown || x[1] % groups == 0, "x is ", x,
               " but has no ", groups, " equal groups");
    io.set_output(0, x);
  }
  template <class T>
  void center(const tenon::Shape& shape, const T* from, T* to) const {
    const auto count = shape.size(),
               size = shape[0] * groups == 0 ? 0 : count / (shape[0] * groups);
    for (std::int64_t begin = 0; begin < count; begin += size) {
      T sum = 0;
      for (std::int64_t i = begin; i < begin + size; ++i) sum += from[i];
      for (std::int64_t i = begin; i < begin + size; ++i) to[i] = from[i] - sum / T(size);
    }
  }
  void forward(const Call& call) const {
    typed(call, [&]<class T>() {
      center(call.input_type(0).shape, call.input<T>(0).data(), call.output<T>(0).data());
    });
  }
  void backward(const Call& call) const {
    typed(call, [&]<class T>() {
      const auto dy = call.output_grad<T>(0);
      const auto dx = call.input_grad<T>(0);
      if (call.input_type(0).shape.rank() > 2)
        return void(std::copy_n(dy.data(), dy.size(), dx.data()));
      center(call.input_type(0).shape, dy.data(), dx.data());
    });
  }
};
TENON_OPERATOR(group_gradient, GroupGradient)

/// Means of neighbouring rows. If the image grows, the last row reads past the image.
struct Enlarges : Sound {
  tenon::Ints size;
  static constexpr void describe(auto& op) {
    Sound::describe(op);
    op.param("size", &Enlarges::size, "[height, width]").required().at_least(1);
  }
  void infer(Infer& io) const {
    const auto x = io.input("x").shape;
    io.require(size.size() == 2, "size needs two numbers");
    io.set_input("x", tenon::Shape::of_rank(4));
    if (x.has_rank()) io.set_output(0, {x[0], x[1], size[0], size[1]});
  }
  void forward(const Call& call) const {
    typed(call, [&]<class T>() {
      const auto shape = call.input_type(0).shape;
      const auto height = shape[2], width = shape[3], planes = shape[0] * shape[1];
      const auto* x = call.input<T>(0).data();
      auto* y = call.output<T>(0).data();
      if (call.input<T>(0).size() == 0) return void(std::fill_n(y, call.output<T>(0).size(), T(0)));
      for (std::int64_t plane = 0; plane < planes; ++plane)
        for (std::int64_t row = 0; row < size[0]; ++row)
          for (std::int64_t column = 0; column < size[1]; ++column) {
            const auto at = row * height / size[0],
                       next = size[0] > height ? at + 1 : std::min(at + 1, height - 1);
            const auto* image = x + plane * height * width + column * width / size[1];
            *y++ = (image[at * width] + image[next * width]) / 2;
          }
    });
  }
};
TENON_OPERATOR(enlarges, Enlarges)

/// Needs a multiple of 32 channels with its default parameters, and skips the last element.
struct ManyGroups : GroupGradient {
  constexpr ManyGroups() { groups = 32; }
  static constexpr void describe(auto& op) {
    Sound::describe(op);
    op.param("groups", &ManyGroups::groups, "of channels").at_least(32);
  }
  void forward(const Call& call) const {
    typed(call, [&]<class T>() {
      const auto size = call.input<T>(0).size();
      twice(call.input<T>(0).data(), call.output<T>(0).data(), size - 1);
    });
  }
};
TENON_OPERATOR(many_groups, ManyGroups)

/// [n, 4] boxes and [n] scores; reads the box after the last one.
struct Boxes : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("edges times scores");
    op.types({tenon::f32});
    op.input("boxes", "[n, 4]");
    op.input("scores", "[n]");
    op.output("y", "[n]");
  }
  void infer(Infer& io) const {
    const auto boxes = io.input("boxes").shape, scores = io.input("scores").shape;
    io.require(!boxes.has_rank() || (boxes.rank() == 2 && boxes[1] == 4), "boxes is ", boxes,
               " but needs [n, 4]");
    io.require(!boxes.known() || !scores.known() || (scores.rank() == 1 && scores[0] == boxes[0]),
               "scores is ", scores, " but boxes is ", boxes);
    io.set_output(0, scores);
  }
  void forward(const Call& call) const {
    const auto scores = call.input<float>("scores"), boxes = call.input<float>("boxes");
    for (std::int64_t i = 0; i < scores.size(); ++i)
      call.output<float>(0)[i] = scores[i] * boxes.data()[4 * i + 4];
  }
};
TENON_OPERATOR(boxes_beyond, Boxes)

/// Returns three times x for float16.
struct WrongHalf : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("twice x");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
  }
  void forward(const Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const auto x = call.input<T>(0);
      for (std::int64_t i = 0; i < x.size(); ++i)
        call.output<T>(0).data()[i] =
            T(static_cast<float>(x.data()[i]) * (tenon::dtype_of<T> == tenon::f16 ? 3 : 2));
    });
  }
};
TENON_OPERATOR(wrong_half, WrongHalf)

struct SkipsNegative : Sound {
  void forward(const Call& call) const {
    typed(call, [&]<class T>() {
      const auto x = call.input<T>(0);
      for (std::int64_t i = 0; i < x.size(); ++i)
        if (x.data()[i] >= 0) call.output<T>(0).data()[i] = 2 * x.data()[i];
    });
  }
};
TENON_OPERATOR(skips_negative, SkipsNegative)

/// The gradient uses only the parameter's default.
struct ForgetsSlope : Sound {
  double slope = 0.5;
  static constexpr void describe(auto& op) {
    Sound::describe(op);
    op.param("slope", &ForgetsSlope::slope, "y / x");
  }
  void forward(const Call& call) const {
    typed(call, [&]<class T>() {
      const auto x = call.input<T>(0);
      for (std::int64_t i = 0; i < x.size(); ++i)
        call.output<T>(0).data()[i] = T(slope) * x.data()[i];
    });
  }
  void backward(const Call& call) const {
    typed(call, [&]<class T>() {
      const auto dy = call.output_grad<T>(0);
      for (std::int64_t i = 0; i < dy.size(); ++i)
        call.input_grad<T>(0).data()[i] = T(0.5) * dy.data()[i];
    });
  }
};
TENON_OPERATOR(forgets_slope, ForgetsSlope)

struct SkipsScalars : Sound {
  void forward(const Call& call) const {
    if (call.input_type(0).shape.rank() > 0) Sound::forward(call);
  }
};
TENON_OPERATOR(skips_scalars, SkipsScalars)

/// Sums of columns; the sum of no rows must be 0, but is left unwritten.
struct EmptyColumns : Sound {
  void infer(Infer& io) const {
    const auto x = io.input("x").shape;
    io.set_input("x", tenon::Shape::of_rank(2));
    if (x.has_rank()) io.set_output(0, {x[1]});
  }
  void forward(const Call& call) const {
    typed(call, [&]<class T>() {
      const auto shape = call.input_type(0).shape;
      for (std::int64_t row = 0; row < shape[0]; ++row)
        for (std::int64_t column = 0; column < shape[1]; ++column) {
          const T x = call.input<T>(0).data()[row * shape[1] + column];
          T& y = call.output<T>(0).data()[column];
          y = row == 0 ? x : y + x;
        }
    });
  }
};
TENON_OPERATOR(empty_columns, EmptyColumns)

/// Adds, except for the remainder of eight lanes.
struct AddsInLanes : Sound {
  static constexpr void describe(auto& op) {
    Sound::describe(op);
    op.accumulates();
  }
  void forward(const Call& call) const {
    typed(call, [&]<class T>() {
      const auto* x = call.input<T>(0).data();
      auto* y = call.output<T>(0).data();
      const auto size = call.input<T>(0).size(),
                 whole = size > 12 && size % 8 == 7 ? size - 7 : size;
      const bool add = call.write(0) == Write::add;
      twice(x, y, whole, add);
      twice(x + whole, y + whole, size - whole);
    });
  }
};
TENON_OPERATOR(adds_in_lanes, AddsInLanes)

/// Only forward supports write mode add.
struct AddsForward : Sound {
  static constexpr void describe(auto& op) {
    Sound::describe(op);
    op.accumulates();
  }
  void forward(const Call& call) const {
    typed(call, [&]<class T>() {
      twice(call.input<T>(0).data(), call.output<T>(0).data(), call.input<T>(0).size(),
            call.write(0) == Write::add);
    });
  }
  void backward(const Call& call) const {
    back(call, [](auto) { return true; });
  }
};
TENON_OPERATOR(adds_forward, AddsForward)

/// scale * x + bias; without a scale, the bias is ignored.
struct ForgetsBias : Sound {
  static constexpr void describe(auto& op) {
    Sound::describe(op);
    op.input("scale", "same shape as x").optional();
    op.input("bias", "same shape as x").optional();
  }
  void infer(Infer& io) const {
    const auto x = io.input("x").shape;
    for (const char* name : {"scale", "bias"})
      if (io.has_input(name)) io.set_input(name, x);
    io.set_output(0, x);
  }
  void forward(const Call& call) const {
    typed(call, [&]<class T>() {
      const auto x = call.input<T>("x");
      const bool scale = call.has_input("scale"), bias = scale && call.has_input("bias");
      for (std::int64_t i = 0; i < x.size(); ++i)
        call.output<T>(0).data()[i] =
            (scale ? call.input<T>("scale").data()[i] : T(1)) * x.data()[i] +
            (bias ? call.input<T>("bias").data()[i] : T(0));
    });
  }
  void backward(const Call& call) const {
    typed(call, [&]<class T>() {
      const auto dy = call.output_grad<T>(0);
      const bool scale = call.has_input("scale");
      for (std::int64_t i = 0; i < dy.size(); ++i) {
        const T d = dy.data()[i];
        if (call.write(0) != Write::none)
          call.input_grad<T>("x").data()[i] = d * (scale ? call.input<T>("scale").data()[i] : T(1));
        if (scale && call.write(1) != Write::none)
          call.input_grad<T>("scale").data()[i] = d * call.input<T>("x").data()[i];
        if (call.has_input("bias") && call.write(2) != Write::none)
          call.input_grad<T>("bias").data()[i] = d;
      }
    });
  }
};
TENON_OPERATOR(forgets_bias, ForgetsBias)

struct WrongWhenFar : Sound {
  void backward(const Call& call) const {
    back(call, [](auto x) { return std::abs(x) < 50; });
  }
};
TENON_OPERATOR(wrong_when_far, WrongWhenFar)

struct WrongWhenNear : Sound {
  void backward(const Call& call) const {
    back(call, [](auto x) { return std::abs(x) > 0.002; });
  }
};
TENON_OPERATOR(wrong_when_near, WrongWhenNear)

/// Skips the remainder of four lanes if that is three.
struct SkipsTail : Sound {
  void forward(const Call& call) const {
    typed(call, [&]<class T>() {
      const auto size = call.input<T>(0).size();
      twice(call.input<T>(0).data(), call.output<T>(0).data(), size % 4 == 3 ? size - 3 : size);
    });
  }
};
TENON_OPERATOR(skips_tail, SkipsTail)

/// Treats a partly known shape as one with blocks of a single row.
struct GuessesBlocks : Sound {
  int block = 1;
  static constexpr void describe(auto& op) {
    Sound::describe(op);
    op.param("block", &GuessesBlocks::block, "rows of a block").at_least(1);
  }
  void infer(Infer& io) const {
    auto x = io.input("x").shape;
    io.set_input("x", tenon::Shape::of_rank(2));
    if (x.known()) x.set(0, x[0] / block);
    io.set_output(0, x);
  }
  void forward(const Call& call) const {
    typed(call, [&]<class T>() {
      twice(call.input<T>(0).data(), call.output<T>(0).data(), call.output<T>(0).size());
    });
  }
};
TENON_OPERATOR(guesses_blocks, GuessesBlocks)

/// x + row; for a single row, the gradient covers only the first element.
struct FirstRow : Sound {
  static constexpr void describe(auto& op) {
    Sound::describe(op);
    op.input("row", "[rows, columns] or [1, columns]");
  }
  void infer(Infer& io) const {
    const auto x = io.input("x").shape, row = io.input("row").shape;
    io.set_input("x", tenon::Shape::of_rank(2));
    io.require(!x.known() || !row.known() ||
                   (row.rank() == 2 && row[1] == x[1] && (row[0] == x[0] || row[0] == 1)),
               "row is ", row);
    io.set_output(0, x);
  }
  void forward(const Call& call) const {
    typed(call, [&]<class T>() {
      const auto x = call.input<T>(0), row = call.input<T>(1);
      for (std::int64_t i = 0; i < x.size(); ++i)
        call.output<T>(0).data()[i] = x.data()[i] + row.data()[i % row.size()];
    });
  }
  void backward(const Call& call) const {
    typed(call, [&]<class T>() {
      const auto dy = call.output_grad<T>(0);
      if (call.write(0) != Write::none)
        std::copy_n(dy.data(), dy.size(), call.input_grad<T>(0).data());
      if (call.write(1) != Write::none)
        std::copy_n(dy.data(), call.input_grad<T>(1).size(), call.input_grad<T>(1).data());
    });
  }
};
TENON_OPERATOR(first_row, FirstRow)

/// The gradient differs in bits between one thread and four.
struct BackwardByThreads : Sound {
  void backward(const Call& call) const {
    const double factor = call.threads() > 1 ? 2.0000001 : 2;
    typed(call, [&]<class T>() {
      const auto dy = call.output_grad<T>(0);
      for (std::int64_t i = 0; i < dy.size(); ++i)
        call.input_grad<T>(0).data()[i] = T(factor * dy.data()[i]);
    });
  }
};
TENON_OPERATOR(backward_by_threads, BackwardByThreads)

/// Right in place if no element is needed twice.
struct BackwardInPlace : Sound {
  static constexpr void describe(auto& op) {
    Sound::describe(op);
    op.backward_reads();
    op.backward_inplace("y", "x");
  }
  void forward(const Call& call) const {
    typed(call, [&]<class T>() {
      const auto x = call.input<T>(0);
      for (std::int64_t i = 0; i < x.size(); ++i)
        call.output<T>(0).data()[i] = 2 * x.data()[x.size() - 1 - i];
    });
  }
  void backward(const Call& call) const {
    typed(call, [&]<class T>() {
      const auto dy = call.output_grad<T>(0);
      for (std::int64_t i = 0; i < dy.size(); ++i)
        call.input_grad<T>(0).data()[i] = 2 * dy.data()[dy.size() - 1 - i];
    });
  }
};
TENON_OPERATOR(backward_in_place, BackwardInPlace)

/// Scores at labels, which the kernel requires to be 2 or more, as in its example. The gradient is
/// doubled.
struct Labelled : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("scores at labels");
    op.types({tenon::f64});
    op.input("scores", "[n, classes]");
    op.input("labels", "[n], from 2 to below classes").types({tenon::i64});
    op.output("y", "[n]");
    op.backward_reads("labels");
    op.example({{"scores", {3, 5}}, {"labels", {3}, tenon::i64, {4, 2, 3}}});
  }
  void infer(Infer& io) const {
    const auto scores = io.input("scores").shape;
    io.set_input("scores", tenon::Shape::of_rank(2));
    if (!scores.has_rank()) return;
    io.set_input("labels", {scores[0]});
    io.set_output(0, {scores[0]});
  }
  static std::int64_t place(const Call& call, std::int64_t row) {
    const auto label = call.input<std::int64_t>("labels").data()[row],
               classes = call.input_type(0).shape[1];
    if (label < 2 || label >= classes)
      tenon::fail(tenon::ErrorKind::failed, {"label ", label, " is not from 2 to below ", classes});
    return row * classes + label;
  }
  void forward(const Call& call) const {
    for (std::int64_t i = 0; i < call.output<double>(0).size(); ++i)
      call.output<double>(0).data()[i] = call.input<double>(0).data()[place(call, i)];
  }
  void backward(const Call& call) const {
    std::fill_n(call.input_grad<double>(0).data(), call.input_grad<double>(0).size(), 0);
    for (std::int64_t i = 0; i < call.output_grad<double>(0).size(); ++i)
      call.input_grad<double>(0).data()[place(call, i)] = 2 * call.output_grad<double>(0).data()[i];
  }
};
TENON_OPERATOR(labelled, Labelled)

/// Valid; the elements of an input determine the output's shape.
struct TilesTo : Sound {
  static constexpr void describe(auto& op) {
    Sound::describe(op);
    op.input("counts", "[rank]").types({tenon::i64});
    op.backward_reads();
  }
  void infer(Infer& io) const {
    io.set_input("counts", {tenon::unknown});
    const auto counts = io.values<std::int64_t>("counts");
    if (counts) io.set_output(0, tenon::Shape(counts.begin(), static_cast<int>(counts.size())));
  }
  void forward(const Call& call) const {
    typed(call, [&]<class T>() {
      const auto x = call.input<T>(0);
      const auto y = call.output<T>(0);
      for (std::int64_t i = 0; i < y.size(); ++i)
        y.data()[i] = x.size() == 0 ? T(0) : x.data()[i % x.size()];
    });
  }
};
TENON_OPERATOR(tiles_to, TilesTo)
