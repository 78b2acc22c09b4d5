// Names of an operator's inputs, outputs, states and parameters, by their index in describe(). Used
// by calls, inference and gradients to look up names, and by errors to print them.
#pragma once
#include <string>
#include <string_view>

#include "../error.hpp"
#include "../version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::detail {

/// One group of names. One name of a group may stand for several tensors: a variadic input, or an
/// output with a count. These are called name0, name1 ... and take an index each. `total` is always
/// the number of tensors of the call. With the names scale, part, rest, of which part has a count,
/// and total = 4:
///
///     index        0        1        2        3
///     name         scale    part0    part1    rest        find("part") is 1, find("part1") is 2,
///                                                         find("part2") is -1
///
/// Indices follow describe(); a lookup takes one comparison per name, so kernels may use names
/// freely outside of their loops.
struct NameGroup {
  const char* const* names = nullptr;  ///< string literals of describe()
  int count = 0;                       ///< number of names, not tensors
  int repeated = -1;  ///< index of the name that stands for several tensors; -1 if there is none

  /// Returns the index of a name, or -1 if there is no such name. A repeated name without a number
  /// is its first tensor.
  int find(std::string_view name, int total) const {
    for (int i = 0; i < count; ++i)
      if (name == names[i]) return i <= repeated || repeated < 0 ? i : i + repeats(total) - 1;
    return find_numbered(name, total);
  }

  /// Returns the name at an index: "weight", or "data2" of a repeated name.
  [[gnu::cold]] std::string at(int position, int total) const {
    if (position < 0 || position >= total) return join(position);
    const int within = position - repeated;
    if (repeated >= 0 && within >= 0 && within < repeats(total))
      return join(names[repeated], within);
    const int own = repeated < 0 || within < 0 ? position : position - repeats(total) + 1;
    return own < count ? join(names[own]) : join(position);
  }

  /// "left, right"; "none" for an empty group.
  [[gnu::cold]] std::string list() const {
    std::string text;
    if (!count) append_text(text, "none");
    for (int i = 0; i < count; ++i)
      append_text(text, join(i ? ", " : "", names[i], i == repeated ? "..." : ""));
    return text;
  }

 private:
  // The number of tensors of the repeated name: all that the other names leave.
  int repeats(int total) const { return total - (count - 1); }

  // Finds "part1": the repeated name followed by a number.
  [[gnu::cold]] int find_numbered(std::string_view name, int total) const {
    if (repeated < 0 || !name.starts_with(names[repeated])) return -1;
    const std::string_view digits = name.substr(std::string_view(names[repeated]).size());
    int number = 0;
    for (const char digit : digits) {
      if (digit < '0' || digit > '9' || number > 1 << 20) return -1;
      number = number * 10 + (digit - '0');
    }
    return !digits.empty() && number < repeats(total) ? repeated + number : -1;
  }
};

/// The names of one operator.
struct Names {
  NameGroup inputs, outputs, states, params;
};

}  // namespace tenon::TENON_SDK::detail
#pragma GCC visibility pop
