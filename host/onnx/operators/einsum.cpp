// Einsum: contracts two operands at a time, with matmul if possible, else by elementwise products
// and sums.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "onnx/operators/matrix.hpp"

namespace tenon::onnx {
namespace {

// letters; -1, -2 and so on are the axes of the ellipsis, counted from the last
using Labels = std::vector<int>;

bool has(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}
std::int64_t position(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) - labels.begin();
}

struct Term {
  Operand x{};
  Labels labels{};
};

class Equation {
 public:
  explicit Equation(NodeImport& node) : node_(node) {
    auto text = node.text("equation", "");
    std::erase(text, ' ');
    const auto arrow = text.find("->");
    const auto left = text.substr(0, arrow);
    std::size_t begin = 0,
                count = 1 + static_cast<std::size_t>(std::count(left.begin(), left.end(), ','));
    node.require(
        count == node.inputs(),
        fmt::format("its equation has {} terms, but the node has {} inputs", count, node.inputs()));
    for (std::size_t i = 0; i < count; ++i) {
      const auto end = std::min(left.find(',', begin), left.size());
      add_term(node.input(i), left.substr(begin, end - begin));
      begin = end + 1;
    }
    if (arrow == std::string::npos)
      output_ = implied();
    else
      output_ = read(text.substr(arrow + 2), max_dots_);
    for (std::size_t i = 0; i < output_.size(); ++i)
      node.require(position(output_, output_[i]) == static_cast<std::int64_t>(i) &&
                       std::any_of(terms_.begin(), terms_.end(),
                                   [&](const Term& term) { return has(term.labels, output_[i]); }),
                   "the result of its equation repeats a letter, or has one that is in no term");
  }

  Operand result() {
    auto total = terms_[0];
    for (std::size_t i = 1; i < terms_.size(); ++i) total = product(total, terms_[i], i + 1);
    for (const auto label : Labels(total.labels))
      if (!has(output_, label)) total = summed(total, {label});
    return ordered(total, output_);
  }

 private:
  // `dots`: number of axes that an ellipsis stands for; -1 allows any and reports it.
  Labels read(const std::string& text, int dots) {
    Labels labels;
    bool ellipsis = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text.compare(i, 3, "...") == 0) {
        node_.require(!std::exchange(ellipsis, true),
                      fmt::format("its equation has two ellipses in term '{}'", text));
        for (int axis = dots; axis > 0; --axis) labels.push_back(-axis);
        i += 2;
        continue;
      }
      const bool letter = (text[i] >= 'a' && text[i] <= 'z') || (text[i] >= 'A' && text[i] <= 'Z');
      node_.require(letter,
                    fmt::format("its equation has '{}' in place of a letter", text.substr(i, 1)));
      labels.push_back(text[i]);
    }
    return labels;
  }

  void add_term(const Operand& x, const std::string& text) {
    const int rank = node_.rank(x), letters = static_cast<int>(read(text, 0).size());
    const bool ellipsis = text.find("...") != std::string::npos;
    node_.require(ellipsis ? rank >= letters : rank == letters,
                  fmt::format("term '{}' of its equation does not match {}", text,
                              to_string(node_.importer().type_of(x))));
    if (ellipsis) max_dots_ = std::max(max_dots_, rank - letters);
    Term term{node_.widened(x), read(text, rank - letters)};
    for (std::size_t i = 0; i < term.labels.size(); ++i)
      while (
          has(Labels(term.labels.begin() + static_cast<std::ptrdiff_t>(i) + 1, term.labels.end()),
              term.labels[i]))
        term = diagonal(term, i);
    terms_.push_back(std::move(term));
  }

  // Removes the later of two axes with the same letter: elements off the diagonal become 0, and the
  // axis is summed.
  Term diagonal(const Term& term, std::size_t first) {
    repeated_.insert(term.labels[first]);
    auto second = first + 1;
    while (term.labels[second] != term.labels[first]) ++second;
    const auto shape = node_.shape(term.x);
    const auto size = shape[static_cast<int>(first)], other = shape[static_cast<int>(second)];
    node_.require(size == unknown || other == unknown || size == other,
                  fmt::format("its equation takes a diagonal of {} over axes of different sizes",
                              to_string(node_.importer().type_of(term.x))));
    const auto masked = node_.add("tenon.where", std::vector{on_diagonal(term, first, second),
                                                             term.x, node_.scalar(0, term.x)});
    auto labels = term.labels;
    labels.erase(labels.begin() + static_cast<std::ptrdiff_t>(second));
    return {sum(masked, {static_cast<std::int64_t>(second)}), labels};
  }

  // A bool mask that broadcasts to the term. If the sizes differ at run time, the reshape fails.
  Operand on_diagonal(const Term& term, std::size_t first, std::size_t second) {
    const auto size_at = [&](std::size_t axis) {
      return sizes_along(node_, term.x, static_cast<std::int64_t>(axis),
                         static_cast<std::int64_t>(axis) + 1);
    };
    const auto size = size_at(first);
    const auto rows =
        node_.add("tenon.expand_dims", std::vector{arange(node_, size)}, {{"axis", {1}}});
    const auto mask = node_.add("tenon.equal", std::vector{rows, arange(node_, size_at(second))});
    std::vector<Operand> shown(term.labels.size(), node_.constant(std::vector<std::int64_t>{1}));
    shown[first] = shown[second] = size;
    return reshaped(node_, mask, node_.add("tenon.concat", shown, {{"axis", 0}}));
  }

  Labels implied() const {
    Labels letters, result;
    for (const auto& term : terms_)
      letters.insert(letters.end(), term.labels.begin(), term.labels.end());
    for (const auto label : letters)
      if (label > 0 && std::count(letters.begin(), letters.end(), label) == 1 &&
          !repeated_.contains(label))
        result.push_back(label);
    std::sort(result.begin(), result.end());
    Labels all;
    for (int axis = max_dots_; axis > 0; --axis) all.push_back(-axis);
    all.insert(all.end(), result.begin(), result.end());
    return all;
  }

  // Keeps x's dtype, because sums of narrow integers are int64.
  Operand sum(const Operand& x, const std::vector<std::int64_t>& axes) {
    return node_.cast(node_.add("tenon.sum", std::vector{x}, {{"axis", axes}}), node_.dtype(x));
  }

  Term summed(const Term& term, const Labels& reduced) {
    std::vector<std::int64_t> axes;
    Labels left;
    for (std::size_t i = 0; i < term.labels.size(); ++i)
      if (has(reduced, term.labels[i]))
        axes.push_back(static_cast<std::int64_t>(i));
      else
        left.push_back(term.labels[i]);
    if (axes.empty()) return term;
    return {sum(term.x, axes), left};
  }

  // Transposes the term to this order of axes; missing axes get size 1.
  Operand ordered(const Term& term, const Labels& order) {
    std::vector<std::int64_t> axes, missing;
    bool moves = false;
    for (std::size_t i = 0; i < order.size(); ++i)
      if (has(term.labels, order[i])) {
        axes.push_back(position(term.labels, order[i]));
        moves = moves || axes.back() + 1 != static_cast<std::int64_t>(axes.size());
      } else {
        missing.push_back(static_cast<std::int64_t>(i));
      }
    auto x = moves ? node_.add("tenon.transpose", std::vector{term.x}, {{"axes", axes}}) : term.x;
    return missing.empty() ? x
                           : node_.add("tenon.expand_dims", std::vector{x}, {{"axis", missing}});
  }

  // The product of the sizes of the letters in `group`, which are known.
  std::int64_t merged(const Term& term, const Labels& group) const {
    std::int64_t size = 1;
    const auto shape = node_.shape(term.x);
    for (const auto label : group) {
      const auto along = shape[static_cast<int>(position(term.labels, label))];
      if (along == unknown || __builtin_mul_overflow(size, along, &size)) return unknown;
    }
    return size;
  }

  Term product(Term left, Term right, std::size_t next) {
    const auto is_needed = [&](int label) {
      return has(output_, label) ||
             std::any_of(terms_.begin() + static_cast<std::ptrdiff_t>(next), terms_.end(),
                         [&](const Term& term) { return has(term.labels, label); });
    };
    const auto unshared = [&](const Term& term, const Term& other) {
      Labels reduced;
      for (const auto label : term.labels)
        if (!is_needed(label) && !has(other.labels, label)) reduced.push_back(label);
      return reduced;
    };
    left = summed(left, unshared(left, right));
    right = summed(right, unshared(right, left));
    Labels batch, inner, rows, columns;
    for (const auto label : left.labels)
      (!has(right.labels, label) ? rows : is_needed(label) ? batch : inner).push_back(label);
    for (const auto label : right.labels)
      if (!has(left.labels, label)) columns.push_back(label);
    auto all = batch;
    all.insert(all.end(), rows.begin(), rows.end());
    all.insert(all.end(), columns.begin(), columns.end());
    if (is_matrix_product(left, right, batch, inner, rows, columns))
      return {matmul(left, right, batch, inner, rows, columns), all};
    auto wide = all;
    wide.insert(wide.end(), inner.begin(), inner.end());
    node_.require(wide.size() <= max_rank, "its equation needs more than 8 axes at once");
    return summed(
        {node_.add("tenon.mul", std::vector{ordered(left, wide), ordered(right, wide)}), wide},
        inner);
  }

  bool is_matrix_product(const Term& left, const Term& right, const Labels& batch,
                         const Labels& inner, const Labels& rows, const Labels& columns) const {
    if (inner.empty() || batch.size() + 2 > max_rank || !allows(floating.mask, node_.dtype(left.x)))
      return false;
    // they may broadcast
    if (std::any_of(inner.begin(), inner.end(), [](int label) { return label < 0; })) return false;
    const auto size = merged(left, inner);
    const bool known = merged(left, batch) != unknown && merged(right, batch) != unknown;
    return size != unknown && size == merged(right, inner) && known &&
           merged(left, rows) != unknown && merged(right, columns) != unknown;
  }

  Operand matmul(const Term& left, const Term& right, const Labels& batch, const Labels& inner,
                 const Labels& rows, const Labels& columns) {
    std::vector<std::int64_t> result;
    const auto matrices = [&](const Term& term, const Labels& first, const Labels& second) {
      auto order = batch;
      order.insert(order.end(), first.begin(), first.end());
      order.insert(order.end(), second.begin(), second.end());
      std::vector<std::int64_t> shape;
      for (const auto label : batch) shape.push_back(merged(term, {label}));
      shape.push_back(merged(term, first));
      shape.push_back(merged(term, second));
      return node_.add("tenon.reshape", std::vector{ordered(term, order)}, {{"shape", shape}});
    };
    for (const auto label : batch)
      result.push_back(std::max(merged(left, {label}), merged(right, {label})));
    for (const auto label : rows) result.push_back(merged(left, {label}));
    for (const auto label : columns) result.push_back(merged(right, {label}));
    for (const auto label : batch)
      if (merged(left, {label}) == 0 || merged(right, {label}) == 0)
        result[static_cast<std::size_t>(position(batch, label))] = 0;
    const auto made = node_.add(
        "tenon.matmul", std::vector{matrices(left, rows, inner), matrices(right, inner, columns)});
    return node_.add("tenon.reshape", std::vector{made}, {{"shape", result}});
  }

  NodeImport& node_;
  std::vector<Term> terms_;
  Labels output_;
  std::set<int> repeated_;  // letters that are repeated within a term
  int max_dots_ = 0;
};

void einsum(NodeImport& node) {
  node.require(node.inputs() > 0, "it has no inputs");
  const auto type = node.dtype(node.input(0));
  Equation equation(node);
  node.output(node.cast(equation.result(), type));
}

const Composition einsum_read[] = {{"Einsum", einsum, 12}};

}  // namespace
}  // namespace tenon::onnx
