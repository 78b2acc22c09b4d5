// The call of an operator as source: C++, Python and graph.json.
#pragma once
#include <string>
#include <tenon/host/catalog.hpp>

#include "cli/site/example_call.hpp"

namespace tenon::cli {

struct CalledOperator {
  const Catalog& catalog;
  const CatalogOperator& op;
  /// The plugin's file, which a program must add before the call; empty for what comes with Tenon.
  std::string plugin() const;
  std::string name() const { return catalog.shortest_name(op); }
};

/// Whole programs, and a whole graph.
std::string cpp_program(const CalledOperator& of, const ExampleCall& call);
std::string python_program(const CalledOperator& of, const ExampleCall& call);
std::string graph_text(const CalledOperator& of, const ExampleCall& call);

/// The forms of the call, with `...` for what its manifest does not tell.
std::string cpp_form(const CalledOperator& of);
std::string python_form(const CalledOperator& of);
std::string graph_form(const CalledOperator& of);

}  // namespace tenon::cli
