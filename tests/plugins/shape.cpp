// The oracle moves one element at a time by its position, following numpy's documentation of each
// function.
#include <algorithm>
#include <functional>
#include <numeric>

#include "numbers.hpp"

using namespace plugin_tests;

namespace {
const DType every_dtype[] = {tenon::boolean, tenon::u8,   tenon::i8,  tenon::i32, tenon::i64,
                             tenon::f16,     tenon::bf16, tenon::f32, tenon::f64};

/// 0, 1, 2 ... as far as the dtype can represent them.
Tensor counting(DType dtype, const Shape& shape) {
  Doubles values(static_cast<std::size_t>(shape.size()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<double>(dtype == tenon::boolean ? i * 7 % 3 % 2 : i % 127);
  return tensor(dtype, shape, values);
}

/// Each element of the result is x's element at the position from `source`; an empty position means
/// `fill`.
Doubles gathered(const Tensor& x, const Shape& result,
                 const std::function<Integers(const Integers&)>& source, double fill = 0) {
  Doubles expected;
  const auto values = doubles(x);
  for (const auto& at : positions(result)) {
    const auto from = source(at);
    expected.push_back(from.empty() && x.shape().rank() > 0 ? fill
                                                            : values[offset(x.shape(), from)]);
  }
  return expected;
}

std::size_t index(int a) {
  return static_cast<std::size_t>(a);
}
}  // namespace

TEST_CASE("reshape, expand_dims and squeeze keep the order of elements") {
  struct Row {
    std::string op;
    Shape x;
    Attributes attributes;
    Shape y;
  };
  const Row rows[] = {
      {"reshape", {2, 6}, {{"shape", Integers{3, 4}}}, {3, 4}},
      {"reshape", {2, 6}, {{"shape", Integers{-1}}}, {12}},
      {"reshape", {2, 6}, {{"shape", Integers{2, -1, 3}}}, {2, 2, 3}},
      {"reshape", {1}, {{"shape", Integers{}}}, Shape::scalar()},
      {"reshape", Shape::scalar(), {{"shape", Integers{1, 1}}}, {1, 1}},
      {"reshape", {0, 3}, {{"shape", Integers{5, 0}}}, {5, 0}},
      {"reshape", {0, 3}, {{"shape", Integers{-1, 3}}}, {0, 3}},
      {"expand_dims", {2, 3}, {{"axis", Integers{0}}}, {1, 2, 3}},
      {"expand_dims", {2, 3}, {{"axis", Integers{-1, 1}}}, {2, 1, 3, 1}},
      {"expand_dims", Shape::scalar(), {{"axis", Integers{0}}}, {1}},
      {"expand_dims", {0}, {{"axis", Integers{1}}}, {0, 1}},
      {"squeeze", {1, 2, 1, 3}, {}, {2, 3}},
      {"squeeze", {1, 2, 1, 3}, {{"axis", Integers{-2}}}, {1, 2, 3}},
      {"squeeze", {1, 1}, {}, Shape::scalar()},
      {"squeeze", {2, 3}, {}, {2, 3}},
      {"squeeze", {1, 0}, {{"axis", Integers{0}}}, {0}},
  };
  for (const auto& row : rows)
    for (const DType dtype : every_dtype) {
      INFO(row.op, " of ", name(dtype), " ", tenon::to_string(row.x), " to ",
           tenon::to_string(row.y));
      const auto x = counting(dtype, row.x);
      check_near(host().call(row.op, {x}, row.attributes), dtype, row.y, doubles(x), 0);
    }
}

TEST_CASE("transpose permutes axes, for all sizes of axes and elements") {
  struct Row {
    Shape x;
    Integers axes;
  };
  const Row rows[] = {
      {Shape::scalar(), {}},
      {{5}, {}},
      {{3, 4}, {}},
      {{3, 4}, {0, 1}},
      {{0, 4}, {}},
      {{33, 65}, {1, 0}},
      {{100, 3}, {}},
      {{2, 3, 4}, {1, 2, 0}},
      {{2, 3, 4}, {0, -1, 1}},
      {{2, 3, 4}, {1, 0, 2}},
      {{5, 40, 70}, {2, 0, 1}},
      {{1, 6, 1, 5}, {3, 1, 0, 2}},
      {{2, 3, 2, 3, 2, 3, 2, 2}, {7, 5, 3, 1, 6, 4, 2, 0}},
  };
  for (const auto& row : rows)
    for (const DType dtype : every_dtype) {
      INFO(name(dtype), " ", tenon::to_string(row.x));
      const int rank = row.x.rank();
      Integers axes = row.axes;
      for (int a = 0; row.axes.empty() && a < rank; ++a) axes.push_back(rank - 1 - a);
      for (auto& axis : axes) axis += axis < 0 ? rank : 0;
      auto y = Shape::of_rank(rank);
      for (int a = 0; a < rank; ++a) y.set(a, row.x[static_cast<int>(axes[index(a)])]);
      const auto x = counting(dtype, row.x);
      const auto expected = gathered(x, y, [&](const Integers& at) {
        Integers from(at.size());
        for (std::size_t a = 0; a < at.size(); ++a) from[static_cast<std::size_t>(axes[a])] = at[a];
        return from;
      });
      check_near(host().call("transpose", {x}, {{"axes", row.axes}}), dtype, y, expected, 0);
    }
}

TEST_CASE("concat joins tensors along an axis, and split separates them again") {
  struct Row {
    Shape whole;
    std::int64_t axis;
    Integers sizes;
  };
  const Row rows[] = {{{7}, 0, {3, 4}},           {{5, 6}, 1, {1, 2, 3}},  {{5, 6}, -2, {4, 1}},
                      {{4, 9, 3}, 1, {0, 9}},     {{2, 3}, 0, {2}},        {{0, 4}, 1, {2, 2}},
                      {{3, 8, 2, 2}, -1, {1, 1}}, {{300, 40}, 1, {17, 23}}};
  for (const auto& row : rows)
    for (const DType dtype : every_dtype) {
      INFO(name(dtype), " ", tenon::to_string(row.whole), " along ", row.axis);
      const int along = static_cast<int>(row.axis < 0 ? row.axis + row.whole.rank() : row.axis);
      const auto whole = counting(dtype, row.whole);
      const auto parts = host().call_all("split", {whole},
                                         {{"sections", static_cast<std::int64_t>(row.sizes.size())},
                                          {"axis", row.axis},
                                          {"sizes", row.sizes}});
      REQUIRE(parts.size() == row.sizes.size());
      std::int64_t start = 0;
      for (std::size_t i = 0; i < parts.size(); ++i) {
        auto shape = row.whole;
        shape.set(along, row.sizes[i]);
        const auto expected = gathered(whole, shape, [&](Integers at) {
          at[index(along)] += start;
          return at;
        });
        check_near(parts[i], dtype, shape, expected, 0);
        start += row.sizes[i];
      }
      check_near(host().call("concat", parts, {{"axis", row.axis}}), dtype, row.whole,
                 doubles(whole), 0);
    }
  const auto thirds =
      host().call_all("split", {counting(tenon::f32, {2, 6})}, {{"sections", 3}, {"axis", 1}});
  REQUIRE(thirds.size() == 3);
  check_near(thirds[1], tenon::f32, {2, 2}, {2, 3, 8, 9}, 0);
}

TEST_CASE("slice follows Python's rules for each axis") {
  constexpr auto beyond = INT64_MAX, before = INT64_MIN;
  struct Row {
    std::int64_t begin, end, step;
  };
  const Row rows[] = {{0, 5, 1},          {1, 4, 1},
                      {-3, -1, 1},        {0, beyond, 2},
                      {4, before, -1},    {beyond, before, -2},
                      {3, 3, 1},          {4, 1, 1},
                      {1, 4, -1},         {-100, 100, 3},
                      {5, 6, 1},          {2, beyond, 100},
                      {-1, -6, -1},       {beyond, before, before},
                      {0, beyond, beyond}};
  for (const auto& row : rows)
    for (const std::int64_t size : {0, 1, 5, 8}) {
      INFO("x[", row.begin, ":", row.end, ":", row.step, "] of ", size);
      // one by one, following Python's definition of a slice
      const auto bounded = [&](std::int64_t at) {
        if (at < 0) at += size;
        return row.step > 0 ? std::clamp<std::int64_t>(at, 0, size)
                            : std::clamp<std::int64_t>(at, -1, size - 1);
      };
      Doubles expected;
      const auto end = bounded(row.end);
      for (auto i = bounded(row.begin); row.step > 0 ? i < end : i > end;) {
        expected.push_back(static_cast<double>(i));
        if (row.step > size || row.step < -size) break;
        i += row.step;
      }
      for (const DType dtype : {tenon::u8, tenon::f16, tenon::i32, tenon::f64}) {
        const Attributes range = {{"begin", Integers{row.begin}},
                                  {"end", Integers{row.end}},
                                  {"step", Integers{row.step}}};
        check_near(host().call("slice", {counting(dtype, {size})}, range), dtype,
                   {static_cast<std::int64_t>(expected.size())}, expected, 0);
      }
    }

  const auto x = counting(tenon::i32, {4, 5, 6});
  const Attributes inner = {{"begin", Integers{1, 4}},
                            {"end", Integers{6, 0}},
                            {"step", Integers{2, -2}},
                            {"axes", Integers{-1, 1}}};
  check_near(host().call("slice", {x}, inner), tenon::i32, {4, 2, 3},
             gathered(x, {4, 2, 3},
                      [](const Integers& at) {
                        return Integers{at[0], 4 - 2 * at[1], 1 + 2 * at[2]};
                      }),
             0);
  check_near(host().call("slice", {x}, {{"begin", Integers{2}}, {"end", Integers{3}}}), tenon::i32,
             {1, 5, 6},
             gathered(x, {1, 5, 6},
                      [](const Integers& at) {
                        return Integers{2, at[1], at[2]};
                      }),
             0);
  check_near(host().call("slice", {x}, {{"begin", Integers{}}, {"end", Integers{}}}), tenon::i32,
             {4, 5, 6}, doubles(x), 0);
}

TEST_CASE("pad extends every axis by a constant, the edge or a reflection") {
  const auto mirrored = [](std::int64_t i,
                           std::int64_t size) {  // walks and turns around at the ends
    std::int64_t at = 0, step = i < 0 ? -1 : 1;
    if (size == 1) return at;
    for (std::int64_t n = 0; n < std::abs(i); ++n) {
      if (at + step < 0 || at + step >= size) step = -step;
      at += step;
    }
    return at;
  };
  struct Row {
    Shape x;
    Integers before, after;
  };
  const Row rows[] = {{{4}, {2}, {3}},          {{1}, {2}, {2}},
                      {{3, 4}, {1, 0}, {0, 5}}, {{2, 3, 2}, {1, 2, 0}, {2, 4, 1}},
                      {{5}, {0}, {0}},          {{3}, {7}, {11}}};
  for (const auto& row : rows)
    for (const std::string mode : {"constant", "edge", "reflect"})
      for (const DType dtype : every_dtype) {
        INFO(mode, " of ", name(dtype), " ", tenon::to_string(row.x));
        const auto x = counting(dtype, row.x);
        auto y = row.x;
        for (int a = 0; a < y.rank(); ++a)
          y.set(a, y[a] + row.before[index(a)] + row.after[index(a)]);
        const auto source = [&](const Integers& at) {
          Integers from;
          for (int a = 0; a < y.rank(); ++a) {
            const auto size = row.x[a], i = at[index(a)] - row.before[index(a)];
            if (mode == "constant" && (i < 0 || i >= size)) return Integers();
            from.push_back(mode == "edge" ? std::clamp<std::int64_t>(i, 0, size - 1)
                                          : mirrored(i, size));
          }
          return from;
        };
        const Attributes attributes = {
            {"before", row.before}, {"after", row.after}, {"mode", mode}, {"value", 1}};
        check_near(host().call("pad", {x}, attributes), dtype, y, gathered(x, y, source, 1), 0);
      }
  check_near(host().call("pad", {Tensor::empty(tenon::f32, {0})},
                         {{"before", Integers{2}}, {"after", Integers{0}}, {"value", 0.5}}),
             tenon::f32, {2}, {0.5, 0.5}, 0);
  check_near(host().call("pad", {counting(tenon::f32, Shape::scalar())},
                         {{"before", Integers{}}, {"after", Integers{}}}),
             tenon::f32, Shape::scalar(), {0}, 0);
}

TEST_CASE("broadcast_to repeats axes of size 1 and new leading axes") {
  struct Row {
    Shape x;
    Integers shape;
  };
  const Row rows[] = {{Shape::scalar(), {}}, {Shape::scalar(), {2, 3}}, {{3}, {4, 3}},
                      {{3, 1}, {3, 5}},      {{1, 4, 1}, {2, 3, 4, 5}}, {{1}, {0}},
                      {{2, 3}, {2, 3}},      {{1, 70}, {90, 70}},       {{3, 1}, {2, 3, 0}}};
  for (const auto& row : rows)
    for (const DType dtype : every_dtype) {
      INFO(name(dtype), " ", tenon::to_string(row.x));
      const auto x = counting(dtype, row.x);
      const Shape y(row.shape.data(), static_cast<int>(row.shape.size()));
      Doubles expected;
      const auto values = doubles(x);
      for (const auto& at : positions(y)) expected.push_back(values[offset(row.x, at)]);
      check_near(host().call("broadcast_to", {x}, {{"shape", row.shape}}), dtype, y, expected, 0);
    }
}

TEST_CASE("one_hot marks the position of each index, and nothing for those out of range") {
  for (const auto index : integer_dtypes)
    for (const auto dtype : floating_dtypes) {
      const auto rows = host().call("one_hot", {tensor(index, {2, 2}, {1, 0, 3, 2})},
                                    {{"depth", 3}, {"dtype", name(dtype)}});
      check_near(rows, dtype, {2, 2, 3}, {0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1}, 0);
    }
  check_near(host().call("one_hot", {tensor(tenon::i32, {1}, {-1})}, {{"depth", 2}}), tenon::f32,
             {1, 2}, {0, 0}, 0);
  check_near(host().call("one_hot", {tensor(tenon::i32, {0}, {})}, {{"depth", 2}}), tenon::f32,
             {0, 2}, {}, 0);
}

TEST_CASE("shaping operators refuse invalid arguments with the reason") {
  const auto x = counting(tenon::f32, {2, 3}), whole = counting(tenon::u8, {2, 3});
  struct Row {
    std::string op;
    std::vector<Tensor> inputs;
    Attributes attributes;
    std::vector<std::string> words;
  };
  const Row rows[] = {
      {"reshape", {x}, {{"shape", Integers{4}}}, {"reshape", "[2, 3]", "[4]"}},
      {"reshape", {x}, {{"shape", Integers{-1, 4}}}, {"[2, 3]", "[?, 4]"}},
      {"reshape", {x}, {{"shape", Integers{-1, -1}}}, {"shape", "-1", "once"}},
      {"reshape", {x}, {{"shape", Integers{-2, 3}}}, {"shape", "-2"}},
      {"reshape", {x}, {{"shape", Integers{INT64_MAX, INT64_MAX}}}, {"shape", "elements"}},
      {"reshape", {x}, {{"shape", Integers(9, 1)}}, {"shape", "9", "8"}},
      {"reshape",
       {Tensor::empty(tenon::f32, {0})},
       {{"shape", Integers{-1, 0}}},
       {"[0]", "[?, 0]"}},
      {"reshape", {x}, {}, {"shape"}},
      {"transpose", {x}, {{"axes", Integers{0}}}, {"[2, 3]", "1"}},
      {"transpose", {x}, {{"axes", Integers{0, 2}}}, {"axes", "2", "out of range"}},
      {"transpose", {x}, {{"axes", Integers{1, -1}}}, {"axes", "twice"}},
      {"concat", {x, counting(tenon::f32, {2, 4})}, {}, {"[2, 4]", "axis 1"}},
      {"concat", {x, counting(tenon::f32, {3})}, {}, {"[3]", "rank 2"}},
      {"concat", {x, whole}, {}, {"float32", "uint8"}},
      {"concat", {x, x}, {{"axis", 2}}, {"axis", "2", "out of range"}},
      {"split", {x}, {{"sections", 2}, {"axis", 1}}, {"[2, 3]", "2 equal sections"}},
      {"split", {x}, {{"sections", 0}}, {"sections", "0"}},
      {"split", {x}, {{"sections", 2}, {"sizes", Integers{1}}}, {"sizes", "1", "sections", "2"}},
      {"split", {x}, {{"sections", 2}, {"sizes", Integers{1, 2}}}, {"[2, 3]", "3"}},
      {"split", {x}, {{"sections", 2}, {"sizes", Integers{3, -1}}}, {"sizes", "-1"}},
      {"slice", {x}, {{"begin", Integers{0}}, {"end", Integers{1, 2}}}, {"begin", "end", "2"}},
      {"slice",
       {x},
       {{"begin", Integers{0}}, {"end", Integers{1}}, {"step", Integers{0}}},
       {"step", "0"}},
      {"slice",
       {x},
       {{"begin", Integers{0, 0, 0}}, {"end", Integers{1, 1, 1}}},
       {"begin", "3", "rank 2"}},
      {"slice",
       {x},
       {{"begin", Integers{0}}, {"end", Integers{1}}, {"axes", Integers{2}}},
       {"axes", "2", "out of range"}},
      {"pad", {x}, {{"before", Integers{1, 1}}, {"after", Integers{1}}}, {"before", "after"}},
      {"pad", {x}, {{"before", Integers{1}}, {"after", Integers{1}}}, {"[2, 3]", "1"}},
      {"pad",
       {x},
       {{"before", Integers{-3, 0}}, {"after", Integers{0, 0}}},
       {"[2, 3]", "-3", "remove more elements"}},
      {"pad",
       {x},
       {{"before", Integers{0, 0}}, {"after", Integers{INT64_MAX, 0}}},
       {"after", "64 bits"}},
      {"pad",
       {x},
       {{"before", Integers{0, 0}}, {"after", Integers{0, 0}}, {"mode", "mirror"}},
       {"mode", "mirror", "reflect", "wrap"}},
      {"pad",
       {whole},
       {{"before", Integers{0, 0}}, {"after", Integers{1, 0}}, {"value", 256}},
       {"value", "256", "uint8"}},
      {"pad",
       {whole},
       {{"before", Integers{0, 0}}, {"after", Integers{1, 0}}, {"value", 0.5}},
       {"value", "0.5", "uint8"}},
      {"pad",
       {Tensor::empty(tenon::f32, {0})},
       {{"before", Integers{1}}, {"after", Integers{0}}, {"mode", "edge"}},
       {"[0]", "no element"}},
      {"expand_dims", {x}, {{"axis", Integers{3}}}, {"axis", "3", "out of range"}},
      {"expand_dims", {x}, {{"axis", Integers{0, 0}}}, {"axis", "twice"}},
      {"expand_dims", {x}, {{"axis", Integers{0, 1, 2, 3, 4, 5, 6}}}, {"axis", "[2, 3]", "8"}},
      {"squeeze", {x}, {{"axis", Integers{0}}}, {"[2, 3]", "axis 0"}},
      {"broadcast_to", {x}, {{"shape", Integers{2, 4}}}, {"[2, 3]", "[2, 4]"}},
      {"broadcast_to", {x}, {{"shape", Integers{3}}}, {"[2, 3]", "[3]"}},
      {"broadcast_to", {x}, {{"shape", Integers{-1, 3}}}, {"shape", "[?, 3]"}},
  };
  for (const auto& row : rows) {
    INFO(row.op);
    check_says(failure(row.op, row.inputs, row.attributes), row.words);
  }
}
