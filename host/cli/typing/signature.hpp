// Operators as Python functions: overloads, docstring and, for modules, the body.
#pragma once
#include <set>
#include <string>
#include <tenon/host/operator_info.hpp>

namespace tenon::cli {

/// Imported names that a file uses. If a function of the file has the same name, it is imported as
/// `_name`.
class PythonImports {
 public:
  explicit PythonImports(std::set<std::string> functions) : functions_(std::move(functions)) {}
  /// Returns the name as written in the file, and marks it as used.
  std::string operator()(const std::string& name);
  /// Returns `Sequence` or `Sequence as _Sequence`; empty if the file does not use the name.
  std::string import_of(const std::string& name) const;
  bool is_taken(const std::string& name) const { return functions_.contains(name); }

 private:
  std::set<std::string> functions_, used_;
};

enum class PythonForm {
  type_file,  ///< only overloads; the first has the docstring
  module      ///< also a function that calls the operator
};

struct PythonFunction {
  const OperatorInfo* info;
  std::string name;  ///< the Python name
  bool in_class = false;
};

/// Returns the function's source. Overloads map argument types to the result type: a graph Value if
/// any input is one, numpy arrays for numpy arrays, numbers and lists, else the type of the first
/// input.
std::string python_function(const PythonFunction& function, PythonForm form,
                            PythonImports& imports);

}  // namespace tenon::cli
