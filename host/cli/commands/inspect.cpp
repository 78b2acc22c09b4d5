// tenon inspect: shows everything about one operator, plugin file or graph.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "cli/command.hpp"
#include "cli/input/graph_file.hpp"
#include "cli/print/json_text.hpp"
#include "cli/print/operator_text.hpp"
#include "cli/print/show_graph.hpp"
#include "cli/streams.hpp"

namespace tenon::cli {
namespace {

/// The column after the names, at least that of the other lines.
std::size_t width_of_names(const OperatorInfo& info) {
  std::size_t width = 16;
  const auto widen = [&](const auto& entries) {
    for (const auto& entry : entries) width = std::max(width, entry.name.size());
  };
  widen(info.inputs), widen(info.outputs), widen(info.states), widen(info.params);
  return width;
}

void print_arguments(const OperatorInfo& info) {
  const auto width = width_of_names(info);
  const auto entry = [&](const std::string& name, const std::string& type, const std::string& doc) {
    write_result("  {:<{}} {}\n  {:<{}} {}\n", name, width, type, "", width, doc);
  };
  write_result("\nInputs\n");
  for (const auto& input : info.inputs) entry(input.name, input_text(info, input), input.doc);
  if (info.inputs.empty()) write_result("  none\n");
  write_result("\nOutputs\n");
  for (const auto& output : info.outputs)
    write_result("  {:<{}} {}\n", output.name, width, output_text(output));
  if (!info.states.empty()) write_result("\nStates\n");
  for (const auto& state : info.states)
    entry(state.name, fmt::format("initially {}", state.initial), state.doc);
  if (!info.params.empty()) write_result("\nParameters\n");
  for (const auto& param : info.params) entry(param.name, type_and_default(param), param.doc);
}

void print_traits(const OperatorInfo& info) {
  write_result("\nTraits\n");
  for (const auto& trait : traits_of(info)) write_result("  {}\n", trait);
}

void print_rules(const OperatorInfo& info) {
  if (!info.rules.empty()) write_result("\nRules\n");
  for (const auto& rule : info.rules) write_result("  {}\n", rule_text(rule));
  if (!info.rewrites.empty()) write_result("\nRewrite rules\n");
  for (const auto& rule : info.rewrites) write_result("  {}\n", rewrite_text(rule));
  if (!info.onnx.empty()) write_result("\nONNX\n");
  for (const auto& form : info.onnx) write_result("  {}\n", onnx_text(info, form));
  if (!info.examples.empty()) write_result("\nExamples\n");
  for (const auto& example : info.examples) write_result("  {}\n", example_text(example));
}

void print_operator(const Catalog& catalog, const CatalogOperator& op) {
  write_result("Operator\n  {:<16} {}\n  {:<16} {}\n  {:<16} {}\n", "name", op.full_name(),
               "description", op.info.doc, "version", op.info.version);
  if (!op.info.aliases.empty())
    write_result("  {:<16} {}\n", "also called", fmt::join(op.info.aliases, ", "));
  if (op.file >= 0) {
    const auto& file = catalog.files()[static_cast<std::size_t>(op.file)];
    write_result("  {:<16} {}{}{}\n  {:<16} {}\n", "plugin", file.name,
                 file.version.empty() ? "" : " ", file.version, "file", file.path.string());
  }
  const auto plugin = [&](int file) {
    return catalog.files()[static_cast<std::size_t>(file)].name;
  };
  for (std::size_t i = 0; i < op.devices.size(); ++i)
    if (const int file = op.kernel_files[i]; file >= 0 && file != op.file)
      write_result("  {:<16} {} (plugin {})\n", "kernel", op.devices[i], plugin(file));
    else if (file != op.file)
      continue;  // only variants
    else if (op.devices[i] != "cpu" || op.info.has("forward"))
      write_result("  {:<16} {}\n", "kernel", op.devices[i]);
  for (const auto& variant : op.variants)
    write_result("  {:<16} {} (plugin {}), for the types that {} supports\n", "kernel",
                 variant.device, plugin(variant.file), variant.name);
  print_arguments(op.info);
  print_traits(op.info);
  print_rules(op.info);
}

void print_plugin(const PluginFile& file) {
  write_result("Plugin\n  {:<16} {}\n  {:<16} {}\n  {:<16} {}\n", "file", file.path.string(),
               "status", name_of(file.status), "name", file.name);
  if (!file.reason.empty()) write_result("  {:<16} {}\n", "because", file.reason);
  if (!file.version.empty()) write_result("  {:<16} {}\n", "version", file.version);
  if (!file.compiler.empty()) write_result("  {:<16} {}\n", "compiler", file.compiler);
  if (file.cuda_version != 0)
    write_result("  {:<16} {}.{}\n", "CUDA", file.cuda_version / 1000,
                 file.cuda_version % 1000 / 10);
  write_result("  {:<16} {}\n", "operators", fmt::join(file.operators, ", "));
  for (const auto& kernel : file.kernels)
    write_result("  {:<16} {} on {}{}\n", "kernel", kernel.op, kernel.device,
                 kernel.variant.empty() ? "" : " (" + kernel.variant + ")");
}

int inspect_file(Context& context, const std::filesystem::path& path) {
  if (std::filesystem::is_directory(path))
    throw Failure(
        FailureKind::usage,
        fmt::format("'{}' is a folder, but inspect needs an operator, a plugin file or a graph",
                    path.string()),
        fmt::format("tenon --plugins {} list shows the plugins in it", path.string()));
  HostOptions options;
  options.threads = 1;
  options.trust_writable = context.trust_writable();
  options.search_defaults = false;
  Host host(options);
  host.add_plugins(path);
  const auto file = host.catalog().files().at(0);
  if (context.json())
    write_result(json_text(file) + '\n');
  else
    print_plugin(file);
  return file.usable() ? 0 : static_cast<int>(FailureKind::plugin);
}

int run_inspect(Context& context, const Arguments& arguments) {
  const auto what = arguments.get("WHAT");
  if (is_graph_name(what))
    return show_graph(context, load_graph(context, what, {.verify = context.json()}));
  if (std::filesystem::exists(what) && what.find_first_of("./") != std::string::npos)
    return inspect_file(context, what);
  if (what.ends_with(".so"))
    throw Failure(FailureKind::file, fmt::format("cannot read {}: there is no such file", what),
                  "tenon list shows the available plugins");
  const auto catalog = context.host().catalog();
  const auto* op = catalog.find(what);
  if (const auto why = catalog.why_missing(what); !why.empty())
    throw Failure(FailureKind::plugin, fmt::format("operator '{}' cannot be used: {}", what, why),
                  catalog.next_step(what));
  if (op == nullptr)
    throw Failure(FailureKind::plugin,
                  fmt::format("there is no operator, plugin file or graph '{}'{}", what,
                              catalog.not_searched_text()),
                  did_you_mean(catalog.near(what), "tenon list shows the operators"));
  if (context.json())
    write_result(json_text(op->info) + '\n');
  else
    print_operator(catalog, *op);
  return 0;
}

const bool added_inspect =
    add_command({.name = "inspect",
                 .doc = "show everything about an operator, a plugin file or a graph",
                 .details = "WHAT is an operator name as shown by tenon list, the path of a "
                            "plugin, or a .tenon or .json file.",
                 .positionals = {{"WHAT", "operator, plugin file or graph"}},
                 .options = {},
                 .run = run_inspect});

}  // namespace
}  // namespace tenon::cli
