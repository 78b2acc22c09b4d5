// tenon docs: writes a page or a site about operators from their manifests.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "cli/command.hpp"
#include "cli/print/page.hpp"
#include "cli/site/site.hpp"
#include "cli/streams.hpp"
#include "io/counted.hpp"

namespace tenon::cli {
namespace {

void add_operator(Page& page, const Catalog& catalog, const CatalogOperator& op) {
  const auto& info = op.info;
  page.heading(2, catalog.shortest_name(op));
  page.paragraph(info.doc);
  std::string more = fmt::format("Version {}, {}", info.version, kernels_of(op));
  if (!info.aliases.empty()) more += fmt::format(", also called {}", fmt::join(info.aliases, ", "));
  page.paragraph(more + ".");
  add_tables(page, info);
  add_lists(page, info);
}

bool is_of_plugin(const Catalog& catalog, const CatalogOperator& op, const std::string& plugin) {
  return op.file >= 0 && is_called(catalog.files()[static_cast<std::size_t>(op.file)], plugin);
}

// Returns all operators, or those that `what` names. Throws Failure (plugin) if there are none.
std::vector<const CatalogOperator*> meant_operators(const Catalog& catalog,
                                                    const std::string& what) {
  std::vector<const CatalogOperator*> operators;
  for (const auto& op : catalog.operators())
    if (what.empty() || is_of_plugin(catalog, op, what) || &op == catalog.find(what))
      operators.push_back(&op);
  if (!operators.empty()) return operators;
  throw Failure(FailureKind::plugin,
                (what.empty() ? "no operators were found"
                              : fmt::format("there is no operator or plugin '{}'", what)) +
                    catalog.not_searched_text(),
                what.empty() ? "tenon doctor shows the folders that are searched"
                             : did_you_mean(catalog.near(what), "tenon list shows the operators"));
}

// Adds the operators of each file under its name, then the built-in ones.
void add_files(Page& page, const Catalog& catalog,
               const std::vector<const CatalogOperator*>& operators) {
  const auto& files = catalog.files();
  for (std::size_t i = 0; i <= files.size(); ++i) {
    bool has_heading = false;
    for (const auto* op : operators) {
      if (op->file != (i < files.size() ? static_cast<int>(i) : -1)) continue;
      if (!has_heading)
        page.heading(1, i == files.size()          ? "Built-in operators"
                        : files[i].version.empty() ? files[i].name
                                                   : files[i].name + " " + files[i].version);
      has_heading = true;
      add_operator(page, catalog, *op);
    }
  }
}

int write_docs_site(const Catalog& catalog, const std::vector<const CatalogOperator*>& operators,
                    const std::filesystem::path& folder) {
  const auto files = site_files(catalog, operators);
  write_site(folder, files);
  write_message("wrote {}: {}; open {}\n", folder, counted(operators.size(), "operator"),
                folder / "index.html");
  return 0;
}

int run_docs(Context& context, const Arguments& arguments) {
  const auto what = arguments.get("WHAT");
  auto& host = context.host();
  if (what.ends_with(".so") && std::filesystem::exists(what)) host.add_plugins(what);
  if (what.find('/') != std::string::npos && !std::filesystem::exists(what))
    throw Failure(FailureKind::file, fmt::format("there is no file '{}'", what));
  const auto catalog = host.catalog();
  const auto operators = meant_operators(catalog, what);
  if (arguments.has("output")) return write_docs_site(catalog, operators, arguments.get("output"));
  Page page(arguments.has("html") ? Page::Format::html : Page::Format::markdown);
  add_files(page, catalog, operators);
  write_result(page.text(what.empty() ? "Operators" : what));
  flush_results();
  return 0;
}

const bool added_docs = add_command(
    {.name = "docs",
     .doc = "generate operator documentation: inputs, outputs, parameters, rules and examples",
     .details = "Prints a page in Markdown, or in HTML with --html. With -o, writes a static site: "
                "an index with a search that "
                "needs no server, and a page for each operator with example calls in Python, C++ "
                "and graph.json. A site replaces "
                "an earlier site, but no other folder. "
                "No plugin code runs; everything comes from the manifests.",
     .positionals = {{"WHAT", "operator, plugin name or plugin file (default: all operators)",
                      false}},
     .options = {{"html", "", "write HTML"},
                 {"output", "FOLDER", "write a site to this folder", Text{}, "", 'o'}},
     .run = run_docs});

}  // namespace
}  // namespace tenon::cli
