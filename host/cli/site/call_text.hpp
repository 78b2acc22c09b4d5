// Operator calls as source code: C++, Python and graph.json, and the names of variables in them.
#pragma once
#include <set>
#include <string>
#include <tenon/host/catalog.hpp>
#include <tenon/host/operator_info.hpp>
#include <vector>

#include "cli/site/example_call.hpp"

namespace tenon::cli {

struct CalledOperator {
  const Catalog& catalog;
  const CatalogOperator& op;
  /// Returns the plugin file that a program must add before the call; empty for bundled operators.
  std::string plugin() const;
  std::string name() const { return catalog.shortest_name(op); }
};

/// Complete programs, and a complete graph.
std::string cpp_program(const CalledOperator& called, const ExampleCall& call);
std::string python_program(const CalledOperator& called, const ExampleCall& call);
std::string graph_text(const CalledOperator& called, const ExampleCall& call);

/// The call's form, with `...` for what the manifest does not specify.
std::string cpp_form(const CalledOperator& called);
std::string python_form(const CalledOperator& called);
std::string graph_form(const CalledOperator& called);

struct ExampleNames {
  std::vector<std::string> inputs;  ///< in the order of `tensors`
  std::string result;
};
ExampleNames names_in_cpp(const OperatorInfo& info, const std::vector<std::string>& tensors);
ExampleNames names_in_python(const OperatorInfo& info, const std::vector<std::string>& tensors);

}  // namespace tenon::cli
