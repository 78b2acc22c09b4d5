// Counts of n-grams: the operator tfidf_vectorizer.
#pragma once
#include <algorithm>
#include <cstdint>
#include <tenon/operator.hpp>
#include <vector>

enum class NgramWeighting { tf, idf, tfidf };

struct TfidfVectorizer : tenon::Operator {
  enum { x, pool, starts, columns, weights };
  static constexpr tenon::Types index = {tenon::i64};
  NgramWeighting mode = NgramWeighting::tf;
  std::int64_t min_length = 1, max_length = 1, max_skip = 0, outputs = 1;

  static constexpr void describe(auto& op) {
    op.doc("counts the n-grams of a pool in each row of x");
    op.types({tenon::i32, tenon::i64});
    op.input("x", "[rows, elements], or [elements]");
    op.input("pool", "[p]; the n-grams, those of length 1 first, then those of length 2 and so on")
        .types(index);
    op.input("starts", "[lengths]; where the n-grams of length 1, 2 and so on start in pool")
        .types(index);
    op.input("columns", "[n-grams]; column of each n-gram in output").types(index);
    op.input("weights", "[n-grams]; for `idf` and `tfidf`; default: 1")
        .types({tenon::f32})
        .optional();
    op.output("output", "float32 [rows, outputs], or [outputs]");
    op.param("mode", &TfidfVectorizer::mode,
             "tf: the count; idf: the n-gram's weight if it occurs; tfidf: count times weight")
        .one_of({{"tf", NgramWeighting::tf},
                 {"idf", NgramWeighting::idf},
                 {"tfidf", NgramWeighting::tfidf}});
    op.param("min_length", &TfidfVectorizer::min_length, "shortest n-gram that is counted")
        .at_least(1);
    op.param("max_length", &TfidfVectorizer::max_length, "longest n-gram that is counted")
        .at_least(1);
    op.param("max_skip", &TfidfVectorizer::max_skip,
             "the elements of an n-gram may have up to this many others between neighbors, the "
             "same number between all of them")
        .at_least(0);
    op.param("outputs", &TfidfVectorizer::outputs, "number of columns").at_least(1);
    op.example({{"x", {5}, tenon::i64, {7, 8, 7, 7, 8}},
                {"pool", {4}, tenon::i64, {7, 8, 7, 8}},
                {"starts", {2}, tenon::i64, {0, 2}},
                {"columns", {3}, tenon::i64, {0, 1, 2}}},
               {{"max_length", 2}, {"outputs", 3}});
  }

  void configure() {
    if (min_length > max_length)
      throw tenon::Error("min_length is ", min_length, " and max_length ", max_length,
                         ": min_length must not be greater");
  }

  void infer(tenon::Infer& io) const {
    for (const int i : {pool, starts, columns}) io.set_input(i, tenon::Shape::of_rank(1));
    if (io.has_input(weights)) {
      io.set_input(weights, io.input(columns).shape);
      io.set_input(columns, io.input(weights).shape);
    }
    const auto shape = io.input(x).shape;
    if (!shape.has_rank()) return io.set_output(0, tenon::Shape(), tenon::f32);
    io.require(shape.rank() == 1 || shape.rank() == 2, "x is ", shape,
               ", but needs to be [rows, elements] or [elements]");
    io.set_output(0, shape.rank() == 1 ? tenon::Shape{outputs} : tenon::Shape{shape[0], outputs},
                  tenon::f32);
  }

  void forward(const tenon::Call& call) const {
    const auto table = sorted_pool(call);
    call.input_type(x).dtype == tenon::i64 ? count<std::int64_t>(call, table)
                                           : count<std::int32_t>(call, table);
  }

 private:
  struct Ngram {
    const std::int64_t* elements;
    std::int64_t length, position;  // in columns and weights
  };

  // Shorter n-grams first, those of one length in the order of their elements.
  static bool is_less(const Ngram& left, const Ngram& right) {
    if (left.length != right.length) return left.length < right.length;
    return std::lexicographical_compare(left.elements, left.elements + left.length, right.elements,
                                        right.elements + right.length);
  }

  std::vector<Ngram> sorted_pool(const tenon::Call& call) const {
    const auto all = call.input<std::int64_t>(pool), at = call.input<std::int64_t>(starts),
               to = call.input<std::int64_t>(columns);
    std::vector<Ngram> table;
    for (std::int64_t i = 0; i < at.size(); ++i) {
      const auto begin = at.data()[i], end = i + 1 < at.size() ? at.data()[i + 1] : all.size();
      if (begin < 0 || begin > end || end > all.size() || (end - begin) % (i + 1) != 0)
        throw tenon::Error("the n-grams of length ", i + 1, " are the elements ", begin, " to ",
                           end, " of pool, which has ", all.size(),
                           ": starts must divide it into whole n-grams");
      for (auto from = begin; from < end; from += i + 1)
        table.push_back({all.data() + from, i + 1, static_cast<std::int64_t>(table.size())});
    }
    if (static_cast<std::int64_t>(table.size()) != to.size())
      throw tenon::Error("pool has ", table.size(), " n-grams, but columns has ", to.size(),
                         " elements: there must be one for each n-gram");
    for (const auto& one : table)
      if (const auto column = to.data()[one.position]; column < 0 || column >= outputs)
        throw tenon::Error("columns has ", column, ", but the output has ", outputs, " columns");
    std::sort(table.begin(), table.end(), is_less);
    return table;
  }

  template <class T>
  void count(const tenon::Call& call, const std::vector<Ngram>& table) const {
    const auto shape = call.input_type(x).shape;
    const auto size = shape[-1], rows = shape.rank() == 1 ? 1 : shape[0];
    const T* const from = call.input<T>(x).data();
    float* const to = call.output<float>(0).data();
    call.parallel_for(rows, 4096 / (size + outputs) + 1, [&](std::int64_t begin, auto end) {
      std::vector<std::int64_t> row(static_cast<std::size_t>(size));
      for (auto i = begin; i < end; ++i) {
        std::copy_n(from + i * size, size, row.begin());
        std::fill_n(to + i * outputs, outputs, 0.0F);
        count_row(call, table, row, to + i * outputs);
      }
    });
  }

  void count_row(const tenon::Call& call, const std::vector<Ngram>& table,
                 const std::vector<std::int64_t>& row, float* to) const {
    const auto* const column = call.input<std::int64_t>(columns).data();
    const float* const weight =
        call.has_input(weights) ? call.input<float>(weights).data() : nullptr;
    const auto size = static_cast<std::int64_t>(row.size());
    const auto longest = std::min(max_length, table.empty() ? 0 : table.back().length);
    std::vector<std::int64_t> ngram;
    for (std::int64_t step = 1; step - 1 <= std::min(max_skip, size); ++step)
      for (std::int64_t begin = 0; begin < size; ++begin) {
        ngram.clear();
        for (auto i = begin; i < size; i += step) {
          ngram.push_back(row[static_cast<std::size_t>(i)]);
          const auto length = static_cast<std::int64_t>(ngram.size());
          if (length > longest) break;
          // a single element has no neighbors to skip to
          if (length < min_length || (length == 1 && step > 1)) continue;
          const Ngram key{ngram.data(), length, 0};
          const auto found = std::lower_bound(table.begin(), table.end(), key, is_less);
          if (found == table.end() || is_less(key, *found)) continue;
          const auto one = weight == nullptr ? 1.0F : weight[found->position];
          auto& sum = to[column[found->position]];
          sum = mode == NgramWeighting::tf    ? sum + 1
                : mode == NgramWeighting::idf ? one
                                              : sum + one;
        }
      }
  }
};
