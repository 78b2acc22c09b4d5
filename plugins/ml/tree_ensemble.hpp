// Forests of regression trees, and what classifiers have in common with them.
#pragma once
#include <memory>

#include "forest_scores.hpp"
#include "scores.hpp"

struct TreeEnsembleInputs : tenon::Operator {
  enum Input {
    x,
    feature,
    split,
    true_child,
    false_child,
    root,
    weight_node,
    weight_target,
    weight,
    mode,
    missing,
    base
  };

  static constexpr void describe_inputs(auto& op) {
    op.types({tenon::f32, tenon::f64});
    op.input("x", "[rows, features]");
    op.input("feature", "[nodes]; feature that each node tests").types({tenon::i32});
    op.input("split", "[nodes]; what the feature is compared with");
    op.input("true_child", "[nodes]; node that follows if the comparison holds; -1: a leaf")
        .types({tenon::i32});
    op.input("false_child", "[nodes]; node that follows if it does not; -1: a leaf")
        .types({tenon::i32});
    op.input("root", "[trees]; first node of each tree").types({tenon::i32});
    op.input("weight_node", "[weights]; leaf that each weight belongs to").types({tenon::i32});
    op.input("weight_target", "[weights]; target (class) that each weight counts for")
        .types({tenon::i32});
    op.input("weight", "[weights]; with a single target, only the first one of a leaf counts");
    op.input("mode", "[nodes]; 0: <=, 1: <, 2: >=, 3: >, 4: ==, 5: !=; default: 0")
        .types({tenon::u8})
        .optional();
    op.input("missing",
             "[nodes]; whether NaN makes the node continue with true_child, whatever "
             "its comparison says; default: false")
        .types({tenon::boolean})
        .optional();
  }

  /// A branch with two leaves, whose weights count for `targets`, and the operator's other inputs.
  static constexpr void describe_example(auto& op, std::initializer_list<double> targets,
                                         const auto&... others) {
    op.example({{"x", {2, 2}},
                {"feature", {3}, tenon::i32, {1, 0, 0}},
                {"split", {3}},
                {"true_child", {3}, tenon::i32, {1, -1, -1}},
                {"false_child", {3}, tenon::i32, {2, -1, -1}},
                {"root", {1}, tenon::i32, {0}},
                {"weight_node", {2}, tenon::i32, {1, 2}},
                {"weight_target", {2}, tenon::i32, targets},
                {"weight", {2}},
                others...},
               {});
  }

 protected:
  static std::int64_t rows_of(const tenon::Shape& x) {
    return x.has_rank() ? x[0] : tenon::unknown;
  }

  static void infer_inputs(tenon::Infer& io) {
    const auto x_shape = io.input(x).shape;
    if (x_shape.has_rank())
      io.require(x_shape.rank() == 2, "x is ", x_shape, ", but needs to be [rows, features]");
    const auto same_length = [&](std::initializer_list<int> inputs) {
      std::int64_t length = tenon::unknown;
      for (const int i : inputs) {
        if (!io.has_input(i)) continue;
        io.set_input(i, {length});
        length = io.input(i).shape[0];
      }
    };
    same_length({feature, split, true_child, false_child, mode, missing});
    same_length({root});
    same_length({weight_node, weight_target, weight});
    for (const int i : {feature, root, weight_node}) {
      const auto shape = io.input(i).shape;
      io.require(!shape.known() || shape[0] < std::numeric_limits<std::int32_t>::max(),
                 "there are ", shape, " nodes or weights: at most 2^31 - 2 are supported");
    }
  }

  /// Builds the forest once, if everything that it depends on is constant.
  static void prepare_forest(tenon::Prepare& io, std::int64_t targets) {
    if (io.backward()) return;
    for (int i = feature; i <= missing; ++i)
      if (io.has_input(i) && !io.is_constant(i)) return;
    io.input(split).dtype == tenon::f64 ? prepare_as<double>(io, targets)
                                        : prepare_as<float>(io, targets);
  }

  /// Calls body(forest, x) with the types of x.
  template <class Body>
  static void with_forest(const tenon::Call& call, std::int64_t targets, const Body& body) {
    call.input_type(x).dtype == tenon::f64 ? with_forest_of<double>(call, targets, body)
                                           : with_forest_of<float>(call, targets, body);
  }

 private:
  // The address of each array is part of the key: forests that share some arrays differ.
  template <class T>
  static void prepare_as(tenon::Prepare& io, std::int64_t targets) {
    const auto arrays = arrays_of<T>(
        [&](int i) { return io.input(i).shape[0]; },
        [&]<class U>(int i) { return io.has_input(i) ? io.constant<U>(i).data() : nullptr; });
    std::string key = tenon::join("forest of ", targets, " targets");
    for (const void* array :
         {static_cast<const void*>(arrays.feature), static_cast<const void*>(arrays.split),
          static_cast<const void*>(arrays.true_child), static_cast<const void*>(arrays.false_child),
          static_cast<const void*>(arrays.root), static_cast<const void*>(arrays.weight_node),
          static_cast<const void*>(arrays.weight_target), static_cast<const void*>(arrays.weight),
          static_cast<const void*>(arrays.mode), static_cast<const void*>(arrays.missing_is_true)})
      key += tenon::join(" ", reinterpret_cast<std::uintptr_t>(array));
    io.prepack(0, split, key, Forest<T>::bytes(arrays.nodes, arrays.trees, arrays.weights),
               [&](void* memory) { Forest<T>::build(arrays, targets, memory); });
  }

  template <class T, class Size, class Get>
  static ForestArrays<T> arrays_of(const Size& size, const Get& get) {
    const auto index = [&](int i) { return get.template operator()<std::int32_t>(i); };
    return {size(feature),
            size(root),
            size(weight),
            index(feature),
            index(true_child),
            index(false_child),
            index(root),
            index(weight_node),
            index(weight_target),
            get.template operator()<T>(split),
            get.template operator()<T>(weight),
            get.template operator()<std::uint8_t>(mode),
            get.template operator()<bool>(missing)};
  }

  template <class T, class Body>
  static void with_forest_of(const tenon::Call& call, std::int64_t targets, const Body& body) {
    std::unique_ptr<std::byte[]> built;
    const void* memory = call.prepacked(0);
    if (memory == nullptr) {
      const auto arrays = arrays_of<T>(
          [&](int i) { return call.input_type(i).shape[0]; },
          [&]<class U>(int i) { return call.has_input(i) ? call.input<U>(i).data() : nullptr; });
      built.reset(new std::byte[Forest<T>::bytes(arrays.nodes, arrays.trees, arrays.weights)]);
      Forest<T>::build(arrays, targets, built.get());
      memory = built.get();
    }
    const Forest<T> forest(memory);
    const auto shape = call.input_type(x).shape;
    if (shape[1] < forest.min_features())
      throw tenon::Error(tenon::ErrorKind::type, "x is ", shape, ", but the trees need ",
                         forest.min_features(), " features");
    body(forest, call.input<T>(x).data());
  }
};

struct TreeEnsemble : TreeEnsembleInputs {
  std::int64_t targets = 1;
  Aggregate aggregate = Aggregate::sum;
  ScoreTransform post_transform = ScoreTransform::none;

  static constexpr void describe(auto& op) {
    op.doc(
        "decision trees: each row follows every tree from its root to a leaf, and the weights of "
        "the leaves that it reaches are aggregated for each target");
    describe_inputs(op);
    op.input("base", "[targets]; added to the aggregated weights; default: 0").optional();
    op.output("scores", "[rows, targets]");
    op.param("targets", &TreeEnsemble::targets, "number of targets").at_least(1).at_most(65536);
    op.param("aggregate", &TreeEnsemble::aggregate,
             "of the weights of one target; average divides their sum by the number of trees")
        .one_of({{"sum", Aggregate::sum},
                 {"average", Aggregate::average},
                 {"min", Aggregate::min},
                 {"max", Aggregate::max}});
    describe_transform(op, &TreeEnsemble::post_transform);
    describe_example(op, {0, 0});
  }

  void infer(tenon::Infer& io) const {
    infer_inputs(io);
    if (io.has_input(base)) io.set_input(base, {targets});
    io.set_output(0, {rows_of(io.input(x).shape), targets}, io.input(x).dtype);
  }
  void prepare(tenon::Prepare& io) const { prepare_forest(io, targets); }

  void forward(const tenon::Call& call) const {
    with_forest(call, targets, [&]<class T>(const Forest<T>& forest, const T* data) {
      auto* const out = call.output<T>(0).data();
      const T* const start = call.has_input(base) ? call.input<T>(base).data() : nullptr;
      const ForestScores<T> sums(forest, data, call.input_type(x).shape, targets, aggregate);
      const auto divisor = static_cast<T>(forest.trees());
      // onnxruntime leaves a target at 0 that no weight counted for, if there are several
      const auto each = [=, this](std::int64_t row, const T* scores,
                                  const std::uint8_t* has_score) {
        T* const to = out + row * targets;
        for (std::int64_t i = 0; i < targets; ++i) {
          to[i] = aggregate == Aggregate::average ? scores[i] / divisor : scores[i];
          if (start && (targets == 1 || has_score[i])) to[i] += start[i];
        }
        transform_row(to);
      };
      sums.each_row(call, each);
    });
  }

 private:
  /// In float32, as in onnxruntime, which transforms a single target by probit only.
  template <class T>
  void transform_row(T* to) const {
    if (post_transform == ScoreTransform::none ||
        (targets == 1 && post_transform != ScoreTransform::probit))
      return;
    std::vector<float> row(to, to + targets);
    scores::transform(post_transform, row.data(), targets);
    std::copy(row.begin(), row.end(), to);
  }
};
