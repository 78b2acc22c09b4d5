#pragma once
#include <algorithm>
#include <numeric>
#include <tenon/operator.hpp>
#include <vector>

#include "../../shared/argument_numbers.hpp"

/// The number of boxes is known only after the kernel has run.
struct NonMaxSuppression : tenon::Operator {
  std::int64_t max_boxes = 0;
  float iou_threshold = 0, score_threshold = -std::numeric_limits<float>::max();
  bool center_point_box = false;

  static constexpr void describe(auto& op) {
    op.doc(
        "non-maximum suppression (NMS): for each class, boxes in descending order of score, "
        "without boxes that overlap a selected box; the first box among equal scores");
    op.types({tenon::f32});
    op.input("boxes",
             "[batch, boxes, 4]; y1, x1, y2, x2 of two opposite corners, or center x, y, width and "
             "height if `center_point_box` is set");
    op.input("scores", "[batch, classes, boxes]");
    describe_argument(op, "limit", "one element; replaces the parameter `max_boxes`");
    op.input("iou", "one element; replaces the parameter `iou_threshold`")
        .types({tenon::f32})
        .optional()
        .on_cpu();
    op.input("min_score", "one element; replaces the parameter `score_threshold`")
        .types({tenon::f32})
        .optional()
        .on_cpu();
    op.output("selected",
              "int64 [count, 3]; batch, class and box index, sorted by batch, class and descending "
              "score")
        .allocated();
    op.param("max_boxes", &NonMaxSuppression::max_boxes,
             "maximum number of selected boxes for each class of each sample; 0: no boxes");
    op.param("iou_threshold", &NonMaxSuppression::iou_threshold,
             "threshold of the intersection over union (IoU), above which two boxes overlap")
        .at_least(0)
        .at_most(1);
    op.param("score_threshold", &NonMaxSuppression::score_threshold,
             "minimum score (exclusive) of a selected box");
    op.param(
        "center_point_box", &NonMaxSuppression::center_point_box,
        "boxes are center and size (x, y, width, height); false: two corners (y1, x1, y2, x2)");
    op.version(2);
    op.renamed(2, "most", "max_boxes");
    op.backward_reads();
    op.example({{"boxes", {1, 2, 4}, tenon::f32, {0, 0, 1, 1, 0, 0.1, 1, 1.1}},
                {"scores", {1, 1, 2}, tenon::f32, {0.9, 0.8}}},
               {{"max_boxes", 3}, {"iou_threshold", 0.5}});
    op.onnx("", "NonMaxSuppression").since(10).attribute("center_point_box", "center_point_box");
  }

  void infer(tenon::Infer& io) const {
    io.set_output(0, {tenon::unknown, 3}, tenon::i64);
    const auto boxes = io.input(0).shape, scores = io.input(1).shape;
    io.set_input(0, {tenon::unknown, tenon::unknown, 4});
    io.set_input(1, tenon::Shape::of_rank(3));
    if (scores.has_rank()) io.set_input(0, {scores[0], scores[2], 4});
    if (boxes.has_rank()) io.set_input(1, {boxes[0], tenon::unknown, boxes[1]});
    for (int i = 2; i < 5; ++i) {
      if (!io.has_input(i)) continue;
      const auto shape = io.input(i).shape;
      io.require(!shape.known() || shape.size() == 1,
                 (i == 2   ? "limit"
                  : i == 3 ? "iou"
                           : "min_score"),
                 " is ", shape, ", but needs one element");
    }
  }

  void forward(const tenon::Call& call) const {
    const auto scores = call.input<float>(1);
    const auto shape = scores.shape();
    const Corner* const boxes = reinterpret_cast<const Corner*>(call.input<float>(0).data());
    std::vector<std::int64_t> found;
    for (std::int64_t row = 0; row < shape[0] * shape[1]; ++row)
      for (const auto box : chosen(call, boxes + row / shape[1] * shape[2],
                                   scores.data() + row * shape[2], shape[2]))
        found.insert(found.end(), {row / shape[1], row % shape[1], box});
    const auto out =
        call.allocate<std::int64_t>(0, {static_cast<std::int64_t>(found.size()) / 3, 3});
    std::copy(found.begin(), found.end(), out.data());
  }

 private:
  struct Corner {
    float values[4];
  };
  struct Area {
    float top, left, bottom, right;

    float size() const { return (bottom - top) * (right - left); }
  };

  Area area(const Corner& box) const {
    const auto* v = box.values;
    if (center_point_box)
      return {v[1] - v[3] / 2, v[0] - v[2] / 2, v[1] + v[3] / 2, v[0] + v[2] / 2};
    return {std::min(v[0], v[2]), std::min(v[1], v[3]), std::max(v[0], v[2]), std::max(v[1], v[3])};
  }

  static bool overlap(const Area& a, const Area& b, float threshold) {
    const auto height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top),
               width = std::min(a.right, b.right) - std::max(a.left, b.left);
    if (!(height > 0 && width > 0) || a.size() <= 0 || b.size() <= 0) return false;
    const auto both = height * width;
    return both / (a.size() + b.size() - both) > threshold;
  }

  std::vector<std::int64_t> chosen(const tenon::Call& call, const Corner* boxes,
                                   const float* scores, std::int64_t count) const {
    const auto limit = argument_number(call, "limit", max_boxes);
    const auto iou = call.has_input("iou") ? *call.input<float>("iou").data() : iou_threshold;
    const bool any =
        !call.has_input("min_score") && score_threshold == -std::numeric_limits<float>::max();
    const auto least =
        call.has_input("min_score") ? *call.input<float>("min_score").data() : score_threshold;
    std::vector<std::int64_t> order, selected;
    for (std::int64_t i = 0; i < count; ++i)
      if (any || scores[i] > least) order.push_back(i);
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t l, std::int64_t r) {
      return scores[l] > scores[r] || (scores[l] == scores[l] && scores[r] != scores[r]);
    });
    for (const auto i : order) {
      if (static_cast<std::int64_t>(selected.size()) >= limit) break;
      const auto own = area(boxes[i]);
      if (std::none_of(selected.begin(), selected.end(),
                       [&](std::int64_t k) { return overlap(area(boxes[k]), own, iou); }))
        selected.push_back(i);
    }
    return selected;
  }
};
