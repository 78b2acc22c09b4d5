// Tables of algorithms. The first row whose condition holds is chosen, and the last one always holds. Conditions are in the tables only:
// kernels compute what was chosen for them.
#pragma once
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>

namespace choice {

template <class Algorithm, class Case>
struct Row {
  Algorithm algorithm;
  const char* name;    ///< as the literature has it
  const char* reason;  ///< the condition in a few words
  bool (*holds)(const Case&);
  const char* gain;  ///< measured, and on which processor
  const char* bits;  ///< of the results, compared with those of the last row
};

/// The rows are a template's argument, so that their conditions are called directly.
template <const auto& rows, class Case>
constexpr const auto& first_of(const Case& of) {
  return [&of]<std::size_t... i>(std::index_sequence<i...>)->const auto& {
    std::size_t chosen = sizeof...(i) - 1;
    static_cast<void>(((rows[i].holds(of) && (chosen = i, true)) || ...));
    return rows[chosen];
  }
  (std::make_index_sequence<std::size(rows)>{});
}

/// `Winograd F(4x4, 3x3): 3x3 filters, at least 32 tiles`
template <class Row>
std::string text_of(const Row& row) {
  return std::string(row.name) + ": " + row.reason;
}

}  // namespace choice
