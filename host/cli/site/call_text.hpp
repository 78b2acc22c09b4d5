// Operator calls as source code: C++, Python and graph.json.
#pragma once
#include <string>
#include <tenon/host/catalog.hpp>

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
std::string cpp_program(const CalledOperator& of, const ExampleCall& call);
std::string python_program(const CalledOperator& of, const ExampleCall& call);
std::string graph_text(const CalledOperator& of, const ExampleCall& call);

/// The call's form, with `...` for what the manifest does not specify.
std::string cpp_form(const CalledOperator& of);
std::string python_form(const CalledOperator& of);
std::string graph_form(const CalledOperator& of);

}  // namespace tenon::cli
