// Sections of a documentation page about an operator.
#pragma once
#include <string>
#include <tenon/host/catalog.hpp>

#include "cli/print/page.hpp"

namespace tenon::cli {

/// Adds tables of inputs, outputs, states and parameters, with a level-2 heading above each if
/// `titles` is set.
void add_tables(Page& page, const OperatorInfo& info, bool titles = false);
/// Adds traits, rules and examples as lists.
void add_lists(Page& page, const OperatorInfo& info);
/// Example: `kernels for cpu, cuda`.
std::string kernels_of(const CatalogOperator& op);

}  // namespace tenon::cli
