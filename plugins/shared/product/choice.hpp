// Tables that choose an algorithm for a problem: the sizes of a call, its dtypes and the CPU. The
// first row whose condition holds is chosen; the last row always holds. Conditions exist only in
// the tables: kernels run what was chosen for them.
#pragma once
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>

namespace choice {

template <class Algorithm, class Problem>
struct Row {
  Algorithm algorithm;
  const char* name;    ///< as in the literature
  const char* reason;  ///< short form of the condition
  bool (*holds)(const Problem&);
  const char* gain;  ///< measured time divided by that without the row, and on which CPU
  const char* bits;  ///< bits of the results compared with those of the last row
};

/// `rows` is a template argument, so that conditions are called directly.
template <const auto& rows, class Problem>
constexpr const auto& first_of(const Problem& problem) {
  return [&problem]<std::size_t... i>(std::index_sequence<i...>)->const auto& {
    std::size_t chosen = sizeof...(i) - 1;
    static_cast<void>(((rows[i].holds(problem) && (chosen = i, true)) || ...));
    return rows[chosen];
  }
  (std::make_index_sequence<std::size(rows)>{});
}

/// Returns, for example, `Winograd F(4x4, 3x3): 3x3 filters, at least 32 tiles`.
template <class Row>
std::string text_of(const Row& row) {
  return std::string(row.name) + ": " + row.reason;
}

}  // namespace choice
