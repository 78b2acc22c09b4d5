// One operator's page of the site.
#pragma once
#include <string>
#include <tenon/host/catalog.hpp>

namespace tenon::cli {

/// What the page's body says: everything in the manifest, and the call in C++, Python and graph.json.
std::string operator_site_page(const Catalog& catalog, const CatalogOperator& op);

}  // namespace tenon::cli
