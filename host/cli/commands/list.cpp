// tenon list: every operator and every file that was looked at.
#include <fmt/format.h>

#include <algorithm>

#include "cli/command.hpp"
#include "cli/print/json_text.hpp"
#include "cli/streams.hpp"
#include "io/counted.hpp"

namespace tenon::cli {
namespace {

std::string origin_of(const Catalog& catalog, const CatalogOperator& op) {
  return op.file < 0 ? "application" : catalog.files()[static_cast<std::size_t>(op.file)].name;
}

void print_operators(const Catalog& catalog) {
  std::size_t name_width = 8, origin_width = 6;
  for (const auto& op : catalog.operators()) {
    name_width = std::max(name_width, op.info.name.size());
    origin_width = std::max(origin_width, origin_of(catalog, op).size());
  }
  for (const auto& op : catalog.operators())
    write_result("{:<{}}  {:<{}}  {}\n", op.info.name, name_width, origin_of(catalog, op), origin_width, op.info.doc);
}

// Files that bring nothing are never passed over in silence.
void print_errors(const Catalog& catalog) {
  for (const auto& file : catalog.files())
    if (!file.usable()) tell("{}: {}: {}\n", file.path.string(), name_of(file.status), file.reason);
  for (const auto& note : catalog.notes()) tell("note: {}\n", note);
  if (!catalog.operators().empty()) return;
  tell("no operators were found; searched {}\n", counted(catalog.searched().size(), "folder"));
  for (const auto& folder : catalog.searched()) tell("  {}\n", folder.string());
}

int run_list(Context& context, const Arguments&) {
  const auto catalog = context.host().catalog();
  if (context.json()) {
    write_result(json_text(catalog) + '\n');
    return 0;
  }
  print_operators(catalog);
  print_errors(catalog);
  return 0;
}

const bool added_list = add_command({.name = "list",
                                     .doc = "list the operators that were found, and the files that could not be used",
                                     .details = "Files are read, not loaded: nothing of a plugin runs.",
                                     .positionals = {},
                                     .options = {},
                                     .run = run_list});

}  // namespace
}  // namespace tenon::cli
