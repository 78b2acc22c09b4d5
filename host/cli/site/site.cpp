#include "cli/site/site.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "cli/print/json_text.hpp"
#include "cli/print/operator_text.hpp"
#include "cli/print/page.hpp"
#include "cli/site/call_text.hpp"
#include "cli/site/site_assets.hpp"

namespace tenon::cli {
namespace {

std::string plugin_of(const Catalog& catalog, const CatalogOperator& op) {
  if (op.file < 0) return "none (built in)";
  const auto& file = catalog.files()[static_cast<std::size_t>(op.file)];
  return file.version.empty() ? file.name : file.name + ' ' + file.version;
}

// A manifest lists the functions, but not which sparse storages they accept.
std::string storage_of(const OperatorInfo& info) {
  if (info.has("compose")) return "as for the operators it is composed of";
  if (info.kernels_elsewhere && info.functions.empty())
    return "depends on its kernels in other plugins";
  std::vector<std::string> sentences;
  if (!info.has("forward_sparse"))
    sentences.emplace_back("dense; sparse inputs are converted to dense with a warning");
  if (info.has("forward_sparse"))
    sentences.emplace_back("dense, and csr or row_sparse if its sparse kernel supports them");
  if (info.has("backward_sparse")) sentences.emplace_back("gradients may be sparse");
  if (info.has("infer_storage")) sentences.emplace_back("output storage chosen by the operator");
  return fmt::format("{}", fmt::join(sentences, "; "));
}

std::string gradient_kind(const OperatorInfo& info) {
  const std::string purpose =
      info.surrogate_gradient ? "; intentionally not the derivative of forward" : "";
  if (info.has("backward")) {
    const auto reads = info.read_by_backward();
    return fmt::format("{}{}{}",
                       info.elementwise && info.derivative ? "derived from forward, elementwise"
                                                           : "its own kernel",
                       reads.empty() ? "; it reads only the outputs' gradients"
                                     : fmt::format("; it reads {}", fmt::join(reads, ", ")),
                       purpose);
  }
  if (info.has("gradient")) return "a composite of other operators" + purpose;
  if (info.has("compose")) return "those of the operators it is composed of";
  return info.kernels_elsewhere ? "depends on its kernels in other plugins" : "none";
}

std::string devices_of(const CatalogOperator& op) {
  return op.devices.empty() ? kernels_of(op) : fmt::format("{}", fmt::join(op.devices, ", "));
}

void add_facts(Page& page, const Catalog& catalog, const CatalogOperator& op) {
  const auto& info = op.info;
  std::vector<std::pair<std::string, std::string>> rows{{"Full name", info.full_name()},
                                                        {"Plugin", plugin_of(catalog, op)},
                                                        {"Version", fmt::to_string(info.version)}};
  if (!info.aliases.empty())
    rows.emplace_back("Also called", fmt::format("{}", fmt::join(info.aliases, ", ")));
  rows.insert(rows.end(), {{"Devices", devices_of(op)},
                           {"Dtypes", fmt::format("{}", fmt::join(names_of(info.types), ", "))},
                           {"Storage", storage_of(info)},
                           {"Gradient", gradient_kind(info)}});
  page.facts(rows);
}

void add_calls(Page& page, const Catalog& catalog, const CatalogOperator& op) {
  const CalledOperator called{catalog, op};
  const auto call = example_call(op.info);
  page.heading(2, "Calls");
  if (!call)
    page.paragraph(
        "The manifest has no complete example. These are templates of calls; replace each ... with "
        "a value.");
  page.heading(3, "Python");
  page.source(call ? python_program(called, *call) : python_form(called));
  page.heading(3, "C++");
  page.source(call ? cpp_program(called, *call) : cpp_form(called));
  page.heading(3, "graph.json");
  page.source(call ? graph_text(called, *call) : graph_form(called));
  if (!call) return;
  const auto plugin = called.plugin().empty() ? "" : fmt::format("--plugins {} ", called.plugin());
  page.paragraph(fmt::format("To run it, save it as graph.json: tenon {}run graph.json", plugin));
}

}  // namespace

std::string operator_site_page(const Catalog& catalog, const CatalogOperator& op) {
  Page page(Page::Format::html);
  page.heading(1, catalog.shortest_name(op));
  page.paragraph(op.info.doc);
  add_facts(page, catalog, op);
  add_tables(page, op.info, true);
  add_calls(page, catalog, op);
  page.heading(2, "Notes");
  add_lists(page, op.info);
  return page.body();
}

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
<form action="index.html" role="search">
<svg viewBox="0 0 24 24" aria-hidden="true">
<circle cx="9.5" cy="9.5" r="5.5"/><path d="m14 14 6 6"/>
</svg>
<input type="search" name="q" placeholder="Search" aria-label="Search operators">
</form>
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
