// tenon docs: a page about operators, from their manifests.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "cli/command.hpp"
#include "cli/print/operator_text.hpp"
#include "cli/print/page.hpp"
#include "cli/streams.hpp"

namespace tenon::cli {
namespace {

void add_tables(Page& page, const OperatorInfo& info) {
  std::vector<std::vector<std::string>> inputs, outputs, states, params;
  for (const auto& input : info.inputs) inputs.push_back({input.name, input_text(info, input), input.doc});
  for (const auto& output : info.outputs) outputs.push_back({output.name, output_text(output)});
  for (const auto& state : info.states) states.push_back({state.name, fmt::format("at first {}", state.initial), state.doc});
  for (const auto& param : info.params)
    params.push_back({param.name, fmt::format("{}{}", kind_text(param), range_of(param)), default_value_of(param), param.doc});
  page.table({"input", "dtypes", "meaning"}, inputs);
  page.table({"output", "meaning"}, outputs);
  page.table({"state", "value", "meaning"}, states);
  page.table({"parameter", "value", "default", "meaning"}, params);
}

std::string kernels_of(const CatalogOperator& op) {
  if (!op.devices.empty()) return fmt::format("kernels for {}", fmt::join(op.devices, ", "));
  return op.info.has("compose") ? "a graph of other operators" : "kernels in other plugins";
}

void add_operator(Page& page, const Catalog& catalog, const CatalogOperator& op) {
  const auto& info = op.info;
  page.heading(2, catalog.shortest_name(op));
  page.paragraph(info.doc);
  std::string more = fmt::format("Version {}, {}", info.version, kernels_of(op));
  if (!info.aliases.empty()) more += fmt::format(", also called {}", fmt::join(info.aliases, ", "));
  page.paragraph(more + ".");
  add_tables(page, info);
  page.list("Traits", traits_of(info));
  std::vector<std::string> rules, examples;
  for (const auto& rule : info.rules) rules.push_back(rule_text(rule));
  for (const auto& example : info.examples) examples.push_back(example_text(example));
  page.list("Rules", rules);
  page.list("Examples", examples);
}

// The operators of each file that has some of these, under its name.
bool add_files(Page& page, const Catalog& catalog, const std::string& what) {
  bool found = false;
  for (std::size_t i = 0; i < catalog.files().size(); ++i) {
    const auto& file = catalog.files()[i];
    std::vector<const CatalogOperator*> operators;
    for (const auto& op : catalog.operators())
      if (op.file == static_cast<int>(i) && (what.empty() || is_called(file, what) || &op == catalog.find(what))) operators.push_back(&op);
    if (operators.empty()) continue;
    found = true;
    page.heading(1, file.version.empty() ? file.name : file.name + " " + file.version);
    for (const auto* op : operators) add_operator(page, catalog, *op);
  }
  return found;
}

int run_docs(Context& context, const Arguments& arguments) {
  const auto what = arguments.get("WHAT");
  auto& host = context.host();
  if (what.ends_with(".so") && std::filesystem::exists(what)) host.add_plugins(what);
  if (what.find('/') != std::string::npos && !std::filesystem::exists(what))
    throw Failure(FailureKind::file, fmt::format("there is no file '{}'", what));
  const auto catalog = host.catalog();
  Page page(arguments.has("html") ? Page::Format::html : Page::Format::markdown);
  if (!add_files(page, catalog, what))
    throw Failure(FailureKind::plugin, what.empty() ? "no operators were found" : fmt::format("there is no operator or plugin '{}'", what),
                  what.empty() ? "tenon doctor shows the folders that are searched"
                               : did_you_mean(catalog.near(what), "tenon list shows the operators"));
  write_result(page.text(what.empty() ? "Operators" : what));
  flush_results();
  return 0;
}

const bool added_docs = add_command(
    {.name = "docs",
     .doc = "write a page about operators: inputs, outputs, parameters, rules and examples",
     .details = "The page is Markdown, or HTML with --html, on stdout. Nothing of a plugin runs: all of it is in its manifests.",
     .positionals = {{"WHAT", "an operator, a plugin, or a plugin's file (default: all operators)", false}},
     .options = {{"html", "", "write HTML"}},
     .run = run_docs});

}  // namespace
}  // namespace tenon::cli
