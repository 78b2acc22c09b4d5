// An operator as a function in Python: its overloads, its docstring and, for modules, its body.
#pragma once
#include <set>
#include <string>
#include <tenon/host/operator_info.hpp>

namespace tenon::cli {

/// The names of other modules that a file uses. Where a function of the file has such a name, the file imports it as `_name`.
class PythonWords {
 public:
  explicit PythonWords(std::set<std::string> functions) : functions_(std::move(functions)) {}
  /// The name as the file writes it; from here on it is among those used.
  std::string operator()(const std::string& word);
  /// `Sequence` or `Sequence as _Sequence`; empty where the file does not use the word.
  std::string import_of(const std::string& word) const;
  bool is_taken(const std::string& word) const { return functions_.contains(word); }

 private:
  std::set<std::string> functions_, used_;
};

enum class PythonForm {
  type_file,  ///< overloads alone; the first has the docstring
  module      ///< and a function that calls the operator
};

struct PythonFunction {
  const OperatorInfo* info;
  std::string name;  ///< in Python
  bool in_class = false;
};

/// The lines of the function, each overload of which says what comes out for what goes in: a graph's value wherever an input is one, a
/// numpy array of numpy arrays, numbers and lists, or else what the first input is.
std::string python_function(const PythonFunction& function, PythonForm form, PythonWords& words);

}  // namespace tenon::cli
