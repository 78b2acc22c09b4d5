#include "cli/site/site.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "cli/print/json_text.hpp"
#include "cli/print/page.hpp"
#include "cli/site/operator_site_page.hpp"
#include "cli/site/site_assets.hpp"

namespace tenon::cli {
namespace {

constexpr const char* index_page = "index.html";

// Uses the shortest name, or the full name if the short one would collide with the index page.
std::string page_of(const Catalog& catalog, const CatalogOperator& op) {
  const auto page = catalog.shortest_name(op) + ".html";
  return page == index_page ? op.full_name() + ".html" : page;
}

std::string origin_in_site(const Catalog& catalog, const CatalogOperator& op) {
  return op.file < 0 ? "Built-in operators"
                     : catalog.files()[static_cast<std::size_t>(op.file)].name;
}

std::string whole_page(const std::string& title, const std::string& body) {
  return fmt::format(
      R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="generator" content="{}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{}</title>
<link rel="stylesheet" href="style.css">
<script src="search.js" defer></script>
</head>
<body>
<header>
<a href="index.html">All operators</a>
<form action="index.html" role="search"><input type="search" name="q" placeholder="Search" aria-label="Search operators"></form>
</header>
<main>
{}</main>
<footer>Tenon {}; generated from plugin manifests by tenon docs.</footer>
</body>
</html>
)",
      site_mark, html_text(title), body, TENON_VERSION);
}

std::string index_line(const Catalog& catalog, const CatalogOperator& op) {
  return fmt::format("<li><a href=\"{}\"><code>{}</code></a> {}</li>\n", page_of(catalog, op),
                     html_text(catalog.shortest_name(op)), html_text(op.info.doc));
}

std::string index_body(const Catalog& catalog,
                       const std::vector<const CatalogOperator*>& operators) {
  std::map<std::string, std::string> groups;
  for (const auto* op : operators) groups[origin_in_site(catalog, *op)] += index_line(catalog, *op);
  std::string body =
      "<h1>Operators</h1>\n<ol id=\"results\" aria-live=\"polite\"></ol>\n<div "
      "id=\"everything\">\n";
  for (const auto& [origin, lines] : groups)
    body +=
        fmt::format("<h2>{}</h2>\n<ul class=\"operators\">\n{}</ul>\n", html_text(origin), lines);
  return body + "</div>\n";
}

std::string script(const Catalog& catalog, const std::vector<const CatalogOperator*>& operators) {
  std::vector<JsonItem> entries;
  for (const auto* op : operators) {
    const auto& info = op->info;
    const auto more = fmt::format("{} {} {}", info.full_name(), fmt::join(info.aliases, " "),
                                  origin_in_site(catalog, *op));
    entries.push_back(json_object("name", catalog.shortest_name(*op), "page", page_of(catalog, *op),
                                  "doc", info.doc, "more", more));
  }
  return fmt::format("// {}\n\"use strict\";\nconst operators = {};\n{}", site_mark,
                     json_list(entries).text, site_script);
}

}  // namespace

std::vector<SiteFile> site_files(const Catalog& catalog,
                                 const std::vector<const CatalogOperator*>& operators) {
  std::vector<SiteFile> files{{index_page, whole_page("Operators", index_body(catalog, operators))},
                              {"style.css", fmt::format("/* {} */{}", site_mark, site_style)},
                              {"search.js", script(catalog, operators)}};
  for (const auto* op : operators)
    files.push_back({page_of(catalog, *op),
                     whole_page(catalog.shortest_name(*op), operator_site_page(catalog, *op))});
  return files;
}

}  // namespace tenon::cli
