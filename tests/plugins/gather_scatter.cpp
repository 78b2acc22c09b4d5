// The expected numbers were computed with onnx.reference and numpy.
#include "numbers.hpp"

using namespace plugin_tests;

namespace {

Tensor integers(const Shape& shape, const Doubles& values) {
  return tensor(tenon::i64, shape, values);
}

Tensor floats(const Shape& shape, const Doubles& values) {
  return tensor(tenon::f32, shape, values);
}

const Doubles nine = {0, 1, 2, 3, 4, 5, 6, 7, 8};

}  // namespace

TEST_CASE("gather operators select slices and elements by indices that may be negative") {
  for (const DType dtype : {tenon::u8, tenon::f16, tenon::f32, tenon::i64}) {
    const auto x = tensor(dtype, {3, 3}, nine);
    check_near(host().call("gather", {x, integers({2}, {-1, 0})}), dtype, {2, 3},
               {6, 7, 8, 0, 1, 2}, 0);
    check_near(host().call("gather", {x, integers({1, 2}, {2, -3})}, {{"axis", -1}}), dtype,
               {3, 1, 2}, {2, 0, 5, 3, 8, 6}, 0);
    check_near(host().call("gather", {x, integers(Shape::scalar(), {1})}), dtype, {3}, {3, 4, 5},
               0);
    check_near(host().call("gather_along", {x, integers({2, 3}, {0, -1, 1, 2, 0, 0})}), dtype,
               {2, 3}, {0, 7, 5, 6, 1, 2}, 0);
    check_near(host().call("gather_along", {x, integers({2, 2}, {0, -1, 1, 2})}, {{"axis", 1}}),
               dtype, {2, 2}, {0, 2, 4, 5}, 0);
    check_near(host().call("gather_nd", {x, integers({2, 2}, {0, 1, -1, 2})}), dtype, {2}, {1, 8},
               0);
    check_near(host().call("gather_nd", {x, integers({3, 1}, {0, 1, -1})}, {{"batch_dims", 1}}),
               dtype, {3}, {0, 4, 8}, 0);
  }
  check_near(host().call("gather", {floats({2, 0}, {}), integers({3}, {0, 1, 1})}), tenon::f32,
             {3, 0}, {}, 0);
  check_says(failure("gather", {floats({3}, {1, 2, 3}), integers({2}, {0, 3})}),
             {"element 1", "3", "-3 to 2"});
}

TEST_CASE("scatter operators update the indexed elements with each reduction") {
  const auto x = floats({3, 3}, nine), updates = floats({2, 2}, {10, 20, -30, 0.5});
  const auto indices = integers({2, 2}, {0, 1, -3, 1});
  struct Row {
    std::string reduction;
    Doubles first_two;  // elements 0 and 4
  };
  for (const auto& row : {Row{"add", {-20, 24.5}},
                          {"mul", {0, 40}},
                          {"max", {10, 20}},
                          {"min", {-30, 0.5}},
                          {"none", {-30, 0.5}}}) {
    INFO(row.reduction);
    auto expected = nine;
    expected[0] = row.first_two[0];
    expected[4] = row.first_two[1];
    check_near(host().call("scatter_along", {x, indices, updates}, {{"reduction", row.reduction}}),
               tenon::f32, {3, 3}, expected, 0);
  }
  check_near(
      host().call("scatter_nd", {x, integers({2, 1}, {-1, 0}), floats({2, 3}, {9, 9, 9, 8, 8, 8})}),
      tenon::f32, {3, 3}, {8, 8, 8, 3, 4, 5, 9, 9, 9}, 0);
  check_near(host().call("scatter_nd", {x, integers({2, 2}, {1, 1, 1, 1}), floats({2}, {1, 2})},
                         {{"reduction", "add"}}),
             tenon::f32, {3, 3}, {0, 1, 2, 3, 7, 5, 6, 7, 8}, 0);
}

TEST_CASE("sums in half precision are rounded once") {
  const auto x = tensor(tenon::f16, {1}, {2048});
  check_near(
      host().call("scatter_along", {x, integers({2}, {0, 0}), tensor(tenon::f16, {2}, {1, 1})},
                  {{"reduction", "add"}}),
      tenon::f16, {1}, {2050}, 0);
  check_near(host().call("cumsum", {tensor(tenon::f16, {3}, {2048, 1, 1})}), tenon::f16, {3},
             {2048, 2048, 2050}, 0);
}

TEST_CASE("cumulative sums and products, products, and the top k of an axis") {
  const auto x = floats({2, 3}, {1, 2, 3, 4, 0, 6});
  check_near(host().call("cumsum", {x}, {{"axis", 1}}), tenon::f32, {2, 3}, {1, 3, 6, 4, 4, 10}, 0);
  check_near(host().call("cumsum", {x}, {{"axis", -1}, {"exclusive", true}, {"reverse", true}}),
             tenon::f32, {2, 3}, {5, 3, 0, 6, 6, 0}, 0);
  check_near(host().call("cumprod", {x}, {{"axis", 0}}), tenon::f32, {2, 3}, {1, 2, 3, 4, 0, 18},
             0);
  check_near(host().call("prod", {x}, {{"axis", Integers{1}}}), tenon::f32, {2}, {6, 0}, 0);
  check_near(host().call("prod", {tensor(tenon::i32, {2, 2}, {3, 4, 5, -6})}), tenon::i64,
             Shape::scalar(), {-360}, 0);
  check_near(host().call("prod", {Tensor::empty(tenon::f32, {0})}), tenon::f32, Shape::scalar(),
             {1}, 0);

  const auto ties = floats({2, 4}, {3, 1, 3, 1, nan_value, 5, nan_value, 5});
  check_near(host().call("argmin", {ties}, {{"axis", Integers{1}}}), tenon::i64, {2}, {1, 0}, 0);
  check_near(host().call("argmin", {ties}, {{"axis", Integers{1}}, {"last", true}}), tenon::i64,
             {2}, {3, 2}, 0);
  check_near(host().call("argmax", {ties}, {{"axis", Integers{1}}, {"last", true}}), tenon::i64,
             {2}, {2, 2}, 0);
  check_near(host().call("argmax", {ties}, {{"axis", Integers{0}}, {"last", true}}), tenon::i64,
             {4}, {1, 1, 1, 1}, 0);
  const auto best = host().call_all("top_k", {ties}, {{"k", 3}});
  check_near(best.at(0), tenon::f32, {2, 3}, {3, 3, 1, nan_value, nan_value, 5}, 0);
  check_near(best.at(1), tenon::i64, {2, 3}, {0, 2, 1, 0, 2, 1}, 0);
  const auto least = host().call_all("top_k", {tensor(tenon::u8, {3, 2}, {200, 1, 5, 1, 7, 0})},
                                     {{"k", 2}, {"axis", 0}, {"smallest", true}});
  check_near(least.at(0), tenon::u8, {2, 2}, {5, 0, 7, 1}, 0);
  check_near(least.at(1), tenon::i64, {2, 2}, {1, 2, 2, 0}, 0);
}

TEST_CASE("output sizes follow from the data: compress, unique and non_max_suppression") {
  const auto x = floats({3, 2}, {1, 2, 3, 4, 5, 6});
  const auto which = [](const Doubles& values) {
    return tensor(tenon::boolean, {static_cast<std::int64_t>(values.size())}, values);
  };
  check_near(host().call("compress", {x, which({0, 1, 1})}, {{"axis", Integers{0}}}), tenon::f32,
             {2, 2}, {3, 4, 5, 6}, 0);
  check_near(host().call("compress", {x, which({0, 1})}, {{"axis", Integers{-1}}}), tenon::f32,
             {3, 1}, {2, 4, 6}, 0);
  check_near(host().call("compress", {x, which({0, 1, 0, 0, 1})}), tenon::f32, {2}, {2, 5}, 0);

  const auto numbers = floats({6}, {2, 1, 1, 3, 4, 3});
  const auto sorted = host().call_all("unique", {numbers}),
             found = host().call_all("unique", {numbers}, {{"sorted", false}});
  check_near(sorted.at(0), tenon::f32, {4}, {1, 2, 3, 4}, 0);
  check_near(sorted.at(1), tenon::i64, {4}, {1, 0, 3, 4}, 0);
  check_near(sorted.at(2), tenon::i64, {6}, {1, 0, 0, 2, 3, 2}, 0);
  check_near(sorted.at(3), tenon::i64, {4}, {2, 1, 2, 1}, 0);
  check_near(found.at(0), tenon::f32, {4}, {2, 1, 3, 4}, 0);
  check_near(found.at(2), tenon::i64, {6}, {0, 1, 1, 2, 3, 2}, 0);
  const auto rows =
      host().call_all("unique", {floats({3, 2}, {1, 0, 1, 0, 0, 3})}, {{"axis", Integers{0}}});
  check_near(rows.at(0), tenon::f32, {2, 2}, {0, 3, 1, 0}, 0);
  check_near(rows.at(1), tenon::i64, {2}, {2, 0}, 0);

  const auto boxes = floats({1, 6, 4}, {0, 0,  1, 1,  0, 0.1,  1, 1.1,  0, -0.1, 1, 0.9,
                                        0, 10, 1, 11, 0, 10.1, 1, 11.1, 0, 100,  1, 101});
  const auto scores = floats({1, 1, 6}, {0.9, 0.75, 0.6, 0.95, 0.5, 0.3});
  const auto one = [](double value) { return floats({1}, {value}); };
  check_near(
      host().call("non_max_suppression", {boxes, scores, integers({1}, {3}), one(0.5), one(0)}),
      tenon::i64, {3, 3}, {0, 0, 3, 0, 0, 0, 0, 0, 5}, 0);
  for (const char* name : {"max_boxes", "most"})  // version 1 has `most`
    check_near(
        host().call("non_max_suppression", {boxes, scores}, {{name, 2}, {"iou_threshold", 0.5}}),
        tenon::i64, {2, 3}, {0, 0, 3, 0, 0, 0}, 0);
  check_near(host().call("non_max_suppression", {boxes, scores}), tenon::i64, {0, 3}, {}, 0);
}

TEST_CASE("one_hot takes its depth and its values as inputs, and inserts the new axis anywhere") {
  const auto indices = integers({2}, {1, -2}), values = tensor(tenon::i32, {2}, {5, 7});
  check_near(host().call("one_hot", {indices, integers(Shape::scalar(), {3}), values},
                         {{"negative", true}}),
             tenon::i32, {2, 3}, {5, 7, 5, 5, 7, 5}, 0);
  check_near(host().call("one_hot", {indices, integers({1}, {3}), values}, {{"axis", 0}}),
             tenon::i32, {3, 2}, {5, 5, 7, 5, 5, 5}, 0);
}
