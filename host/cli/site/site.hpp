// The site written by `tenon docs -o`: a page per operator, an index, and a search that needs no
// server.
#pragma once
#include <string>
#include <tenon/host/catalog.hpp>
#include <vector>

#include "cli/site/site_folder.hpp"

namespace tenon::cli {

/// Returns all files of the site. The same catalog gives the same bytes.
std::vector<SiteFile> site_files(const Catalog& catalog,
                                 const std::vector<const CatalogOperator*>& operators);

/// Returns the page's body: everything in the manifest, and example calls in C++, Python and
/// graph.json.
std::string operator_site_page(const Catalog& catalog, const CatalogOperator& op);

}  // namespace tenon::cli
