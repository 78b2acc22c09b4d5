// tenon list: lists every operator, and every file that was examined.
#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>

#include "cli/command.hpp"
#include "cli/print/json_text.hpp"
#include "cli/streams.hpp"
#include "io/counted.hpp"

namespace tenon::cli {
namespace {

std::string origin_of(const Catalog& catalog, const CatalogOperator& op) {
  if (op.file < 0) return op.info.space == "tenon" ? "tenon" : "application";
  return catalog.files()[static_cast<std::size_t>(op.file)].name;
}

bool matches(const std::string& name, const std::string& pattern) {
  if (pattern.find_first_of("*?[") == std::string::npos)
    return name.find(pattern) != std::string::npos;
  return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

bool is_requested(const Catalog& catalog, const CatalogOperator& op, const Arguments& arguments) {
  const auto plugin = arguments.get("plugin"), pattern = arguments.get("PATTERN");
  if (!plugin.empty() &&
      (op.file < 0 || !is_called(catalog.files()[static_cast<std::size_t>(op.file)], plugin)))
    return false;
  return pattern.empty() || matches(op.info.name, pattern) ||
         matches(op.info.full_name(), pattern) ||
         std::any_of(op.info.aliases.begin(), op.info.aliases.end(),
                     [&](const auto& alias) { return matches(alias, pattern); });
}

std::vector<const CatalogOperator*> requested_operators(const Catalog& catalog,
                                                        const Arguments& arguments) {
  std::vector<const CatalogOperator*> requested;
  for (const auto& op : catalog.operators())
    if (is_requested(catalog, op, arguments)) requested.push_back(&op);
  if (!requested.empty()) return requested;
  if (const auto plugin = arguments.get("plugin"); !plugin.empty()) {
    std::vector<std::string> names;
    for (const auto& file : catalog.files()) names.push_back(file.name);
    if (std::none_of(catalog.files().begin(), catalog.files().end(),
                     [&](const auto& file) { return is_called(file, plugin); }))
      throw Failure(FailureKind::plugin,
                    fmt::format("there is no plugin '{}'{}", plugin, catalog.not_searched_text()),
                    did_you_mean(similar_names(plugin, names),
                                 "tenon doctor shows the folders that are searched"));
  }
  if (const auto pattern = arguments.get("PATTERN"); !pattern.empty())
    throw Failure(FailureKind::plugin,
                  fmt::format("no operator matches '{}'{}", pattern, catalog.not_searched_text()),
                  did_you_mean(catalog.near(pattern), "tenon list shows all operators"));
  return requested;
}

void print_operators(const Catalog& catalog, const std::vector<const CatalogOperator*>& requested) {
  std::size_t name_width = 8, origin_width = 6;
  for (const auto* op : requested) {
    name_width = std::max(name_width, catalog.shortest_name(*op).size());
    origin_width = std::max(origin_width, origin_of(catalog, *op).size());
  }
  for (const auto* op : requested)
    write_result("{:<{}}  {:<{}}  {}\n", catalog.shortest_name(*op), name_width,
                 origin_of(catalog, *op), origin_width, op->info.doc);
}

// Reports files without usable operators, so that they do not vanish silently.
void print_errors(const Catalog& catalog) {
  for (const auto& file : catalog.files())
    if (!file.usable())
      write_message("{}: {}: {}\n", file.path.string(), name_of(file.status), file.reason);
  for (const auto& note : catalog.notes()) write_message("note: {}\n", note);
  if (!catalog.operators().empty()) return;
  write_message("no operators found; searched {}\n", counted(catalog.searched().size(), "folder"));
  for (const auto& folder : catalog.searched()) write_message("  {}\n", folder.string());
}

int run_list(Context& context, const Arguments& arguments) {
  const auto catalog = context.host().catalog();
  const auto requested = requested_operators(catalog, arguments);
  if (context.json()) {
    write_result(json_text(catalog, requested) + '\n');
    return 0;
  }
  print_operators(catalog, requested);
  print_errors(catalog);
  return 0;
}

const bool added_list = add_command(
    {.name = "list",
     .doc = "list available operators, and plugin files that could not be used",
     .details = "Plugin files are read but not loaded; no plugin code runs.",
     .positionals = {{"PATTERN", "substring of the names to list, or a pattern with *, ? or [...]",
                      false}},
     .options = {{"plugin", "NAME", "list only operators of this plugin"}},
     .run = run_list});

}  // namespace
}  // namespace tenon::cli
