// An operator's page of the documentation site.
#pragma once
#include <string>
#include <tenon/host/catalog.hpp>

namespace tenon::cli {

/// Returns the page's body: everything in the manifest, and example calls in C++, Python and
/// graph.json.
std::string operator_site_page(const Catalog& catalog, const CatalogOperator& op);

}  // namespace tenon::cli
