// Operators on the columns of a table: label_encoder and normalizer.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <tenon/operator.hpp>
#include <vector>

struct LabelEncoder : tenon::Operator {
  enum { x, keys, values, otherwise };
  static constexpr tenon::Types value_types = {tenon::f32, tenon::f64, tenon::i32, tenon::i64};
  bool match_nan = true;

  static constexpr void describe(auto& op) {
    op.doc("looks up each element of x: output = values[i], where keys[i] == x");
    op.types(value_types);
    op.input("x", "any shape");
    op.input("keys", "[n]; if a key occurs several times, its first position counts");
    op.input("values", "[n]; dtype of output").types(value_types);
    op.input("otherwise",
             "one element, output for x that is not a key; default: such x are an error")
        .types(value_types)
        .optional();
    op.output("output", "same shape as x; dtype of values");
    op.param("match_nan", &LabelEncoder::match_nan, "whether the key NaN is found; false: never");
    op.example({{"x", {2}, tenon::i64, {3, 5}},
                {"keys", {2}, tenon::i64, {5, 3}},
                {"values", {2}, tenon::f32, {0.5, 2}},
                {"otherwise", {}, tenon::f32, {-1}}},
               {});
  }

  void infer(tenon::Infer& io) const {
    io.set_input(keys, tenon::Shape::of_rank(1));
    io.set_input(values, io.input(keys).shape);
    io.set_input(keys, io.input(values).shape);
    const auto count = io.input(keys).shape[0];
    io.require(count <= std::numeric_limits<std::int32_t>::max(), "there are ", count,
               " keys: at most 2^31 - 1 are supported");
    const auto dtype = io.input(values).dtype;
    io.set_output(0, io.input(x).shape, dtype);
    if (!io.has_input(otherwise)) return;
    const auto type = io.input(otherwise);
    io.require(!type.shape.known() || type.shape.size() == 1, "otherwise is ", type.shape,
               ", but needs to be one element");
    io.require(type.dtype == dtype, "otherwise is ", type.dtype, " and values ", dtype,
               ": needs the same dtype");
  }

  void prepare(tenon::Prepare& io) const {
    if (io.backward() || !io.is_constant(keys)) return;
    const auto type = io.input(keys);
    if (type.shape[0] == 0) return;
    tenon::visit<value_types>(type.dtype, [&]<class K>() {
      io.prepack(0, keys, "sorted keys", static_cast<std::size_t>(type.shape[0]) * sizeof(Key<K>),
                 [&](void* memory) {
                   sort(io.constant<K>(keys).data(), type.shape[0], static_cast<Key<K>*>(memory));
                 });
    });
  }

  void forward(const tenon::Call& call) const {
    tenon::visit<value_types>(call.input_type(x).dtype, [&]<class K>() {
      const auto count = call.input_type(keys).shape[0];
      const auto* sorted = static_cast<const Key<K>*>(call.prepacked(0));
      std::vector<Key<K>> own;
      if (sorted == nullptr) {
        own.resize(static_cast<std::size_t>(count));
        sort(call.input<K>(keys).data(), count, own.data());
        sorted = own.data();
      }
      tenon::visit<value_types>(call.input_type(values).dtype,
                                [&]<class V>() { look_up<K, V>(call, sorted, count); });
    });
  }

 private:
  template <class K>
  struct Key {
    K key;
    std::int32_t position;
  };

  // NaN follows all numbers.
  template <class K>
  static bool is_less(K left, K right) {
    return left < right || (left == left && right != right);
  }
  template <class K>
  static void sort(const K* keys, std::int64_t count, Key<K>* to) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = {keys[i], static_cast<std::int32_t>(i)};
    std::sort(to, to + count, [](const Key<K>& left, const Key<K>& right) {
      if (is_less(left.key, right.key)) return true;
      return !is_less(right.key, left.key) && left.position < right.position;
    });
  }

  template <class K, class V>
  void look_up(const tenon::Call& call, const Key<K>* sorted, std::int64_t count) const {
    const K* const from = call.input<K>(x).data();
    const V* const all = call.input<V>(values).data();
    const V* const rest = call.has_input(otherwise) ? call.input<V>(otherwise).data() : nullptr;
    V* const to = call.output<V>(0).data();
    call.parallel_for(call.input_type(x).shape.size(), 1024, [=, this](auto begin, auto end) {
      for (auto i = begin; i < end; ++i) {
        const K key = from[i];
        const auto* const found =
            std::lower_bound(sorted, sorted + count, key,
                             [](const Key<K>& one, K other) { return is_less(one.key, other); });
        const bool is_known =
            found < sorted + count && !is_less(key, found->key) && (key == key || match_nan);
        if (!is_known && rest == nullptr)
          throw tenon::Error("x has the element ", +key,
                             ", which is not a key: add it to keys, or "
                             "give the input 'otherwise'");
        to[i] = is_known ? all[found->position] : *rest;
      }
    });
  }
};

enum class RowNormKind { max, l1, l2 };

struct Normalizer : tenon::Operator {
  RowNormKind norm = RowNormKind::max;

  static constexpr void describe(auto& op) {
    op.doc("divides each row by its norm; a row whose norm is 0 stays as it is");
    op.types({tenon::f32, tenon::f64});
    op.input("x", "[rows, features], or [features]");
    op.output("output", "same shape as x");
    op.param("norm", &Normalizer::norm,
             "max: the largest element; l1: sum of absolute values; l2: root of the sum of squares")
        .one_of({{"max", RowNormKind::max}, {"l1", RowNormKind::l1}, {"l2", RowNormKind::l2}});
    op.inplace("x", "output");
    op.example({{"x", {2, 3}}}, {{"norm", "l2"}});
  }
  void infer(tenon::Infer& io) const {
    const auto x = io.input(0).shape;
    io.set_output(0, x, io.input(0).dtype);
    if (x.has_rank())
      io.require(x.rank() == 1 || x.rank() == 2, "x is ", x,
                 ", but needs to be [rows, features] or [features]");
  }
  void forward(const tenon::Call& call) const {
    call.input_type(0).dtype == tenon::f64 ? run<double>(call) : run<float>(call);
  }

 private:
  template <class T>
  void run(const tenon::Call& call) const {
    const auto shape = call.input_type(0).shape;
    const auto size = shape[-1], rows = shape.rank() == 1 ? 1 : shape[0];
    const T* const from = call.input<T>(0).data();
    T* const to = call.output<T>(0).data();
    call.parallel_for(rows, 16384 / (size + 8) + 1, [=, this](std::int64_t begin, auto end) {
      for (auto row = begin; row < end; ++row) norm_row(from + row * size, to + row * size, size);
    });
  }
  template <class T>
  void norm_row(const T* from, T* to, std::int64_t size) const {
    T sum = norm == RowNormKind::max ? std::numeric_limits<T>::lowest() : T(0);
    for (std::int64_t i = 0; i < size; ++i)
      sum = norm == RowNormKind::max  ? std::max(sum, from[i])
            : norm == RowNormKind::l1 ? sum + std::abs(from[i])
                                      : sum + from[i] * from[i];
    const bool squares = norm == RowNormKind::l2;
    for (std::int64_t i = 0; i < size; ++i) {
      const T x = from[i];
      // the ratio of squares keeps onnxruntime's infinities and zeros
      to[i] = sum == 0 ? x : squares ? std::copysign(std::sqrt(x * x / sum), x) : x / sum;
    }
  }
};
