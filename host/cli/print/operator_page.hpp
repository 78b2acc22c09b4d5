// The parts of a page that say what an operator takes and gives.
#pragma once
#include <string>
#include <tenon/host/catalog.hpp>

#include "cli/print/page.hpp"

namespace tenon::cli {

/// Tables of inputs, outputs, states and parameters; with titles, a heading of the second level above each.
void add_tables(Page& page, const OperatorInfo& info, bool titles = false);
/// Traits, rules and examples, as lists.
void add_lists(Page& page, const OperatorInfo& info);
/// `kernels for cpu, cuda`
std::string kernels_of(const CatalogOperator& op);

}  // namespace tenon::cli
