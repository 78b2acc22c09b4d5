// Forests of classification trees.
#pragma once
#include "tree_ensemble.hpp"

struct TreeEnsembleClassifier : TreeEnsembleInputs {
  ScoreTransform post_transform = ScoreTransform::none;
  enum { classes = missing + 1, base_values };

  static constexpr void describe(auto& op) {
    op.doc(
        "classes by decision trees: the sums of the weights of the leaves that a row reaches, and "
        "the class of the highest one; with two classes by the rules of ONNX's "
        "TreeEnsembleClassifier in onnxruntime");
    describe_inputs(op);
    op.input("classes", "[classes]; label of each class").types({tenon::i64});
    op.input("base", "[classes], or 1 value for two classes; added to the sums; default: 0")
        .optional();
    op.output("label", "int64 [rows]; label of the row's class");
    op.output("scores", "[rows, classes]");
    describe_transform(op, &TreeEnsembleClassifier::post_transform);
    using Example = tenon::detail::ExampleInput;
    describe_example(op, {0, 2}, Example{"mode", {3}, tenon::u8, {1, 0, 0}},
                     Example{"missing", {3}, tenon::boolean, {1, 0, 0}},
                     Example{"classes", {3}, tenon::i64, {7, 8, 9}});
  }

  void infer(tenon::Infer& io) const {
    infer_inputs(io);
    io.set_input(classes, tenon::Shape::of_rank(1));
    const auto count = io.input(classes).shape[0];
    io.require(count == tenon::unknown || count >= 1, "classes is empty: needs a label per class");
    const auto rows = rows_of(io.input(x).shape);
    io.set_output(0, {rows}, tenon::i64);
    io.set_output(1, {rows, count}, io.input(x).dtype);
    if (!io.has_input(base_values)) return;
    io.set_input(base_values, tenon::Shape::of_rank(1));
    const auto values = io.input(base_values).shape[0];
    io.require(count == tenon::unknown || values == tenon::unknown || values == count ||
                   (count == 2 && values == 1),
               "base has ", values, " values for ", count,
               " classes: needs one for each, or one for two classes");
  }
  void prepare(tenon::Prepare& io) const { prepare_forest(io, io.input(classes).shape[0]); }

  void forward(const tenon::Call& call) const {
    const auto count = call.input_type(classes).shape[0];
    with_forest(call, count, [&]<class T>(const Forest<T>& forest, const T* data) {
      const Finish<T> finish(*this, call, forest);
      const ForestScores<T> sums(forest, data, call.input_type(x).shape, count, Aggregate::sum);
      sums.each_row(call, finish);
    });
  }

 private:
  /// Writes one row.
  template <class T>
  struct Finish {
    Finish(const TreeEnsembleClassifier& op, const tenon::Call& call, const Forest<T>& forest)
        : transform(op.post_transform),
          count(call.input_type(classes).shape[0]),
          labels(call.input<std::int64_t>(classes).data()),
          is_binary(count == 2 && forest.has_one_target()),
          is_positive(forest.is_positive()) {
      if (call.has_input(base_values)) base = call.input<T>(base_values).data();
      if (base) bases = call.input_type(base_values).shape[0];
      if (call.write(0) != tenon::Write::none) label = call.output<std::int64_t>(0).data();
      if (call.write(1) != tenon::Write::none) out = call.output<T>(1).data();
    }

    void operator()(std::int64_t row, T* sums, std::uint8_t* has_score) const {
      float small[16];
      std::vector<float> large(count > 16 ? static_cast<std::size_t>(count) : 0);
      float* const scores = count > 16 ? large.data() : small;
      const auto chosen = count > 2 ? many(sums, has_score, scores) : few(sums, has_score, scores);
      if (label) label[row] = chosen;
      if (out) std::copy(scores, scores + count, out + row * count);
    }

    // Classes that no weight counted for are not chosen.
    std::int64_t many(T* sums, std::uint8_t* has_score, float* scores) const {
      std::int64_t best = -1;
      for (std::int64_t i = 0; i < count; ++i) {
        if (base) sums[i] += base[i], has_score[i] = 1;
        if (has_score[i] && (best < 0 || sums[i] > sums[best])) best = i;
        scores[i] = static_cast<float>(sums[i]);
      }
      scores::transform(transform, scores, count);
      return labels[best < 0 ? 0 : best];
    }

    // One or two classes. If the weights are those of one class only, they are the score of the
    // second class, whatever their class is; positive ones are its probability.
    std::int64_t few(T* sums, std::uint8_t* has_score, float* scores) const {
      bool single = count == 1 || !has_score[1];
      if (count == 1) {
        if (base) sums[0] += base[0];
        has_score[0] = 1;
      } else if (bases == 2 && !single) {
        sums[1] = base[1] + sums[0], sums[0] = -sums[1];
      } else if (bases == 2) {
        sums[0] += base[0], sums[1] += base[1], single = false;
      } else if (bases == 1) {
        sums[0] += base[0];
      }
      const T score = count == 2 && has_score[1] ? sums[1] : has_score[0] ? sums[0] : T(0);
      const bool is_second = score > (is_binary && is_positive ? T(0.5) : T(0));
      if (!single) {
        for (int i = 0; i < 2; ++i) scores[i] = has_score[i] ? static_cast<float>(sums[i]) : 0.f;
        scores::transform(transform, scores, 2);
      } else if (count == 1) {
        scores[0] = static_cast<float>(sums[0]);
        if (transform == ScoreTransform::probit) scores[0] = scores::probit(scores[0]);
      } else if (bases == 1 && !is_binary) {  // onnxruntime leaves the second score undefined
        scores[0] = static_cast<float>(sums[0]), scores[1] = 0;
        if (transform == ScoreTransform::probit) scores[0] = scores::probit(scores[0]);
      } else {
        const auto pair =
            is_binary && is_positive ? scores::Pair::complement : scores::Pair::opposite;
        scores::write_pair(transform, pair, has_score[0] ? static_cast<float>(sums[0]) : 0.f,
                           scores);
      }
      return is_binary ? labels[is_second] : is_second;
    }

    ScoreTransform transform;
    std::int64_t count;
    const std::int64_t* labels;
    bool is_binary, is_positive;
    std::int64_t bases = 0;
    const T* base = nullptr;
    std::int64_t* label = nullptr;
    T* out = nullptr;
  };
};
