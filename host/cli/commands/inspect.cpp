// tenon inspect: everything about one operator, plugin file or graph.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "cli/command.hpp"
#include "cli/print/json_text.hpp"
#include "cli/print/show_graph.hpp"
#include "cli/streams.hpp"

namespace tenon::cli {
namespace {

std::string range_of(const ParamInfo& param) {
  std::vector<std::string> bounds;
  if (param.min) bounds.push_back(fmt::format(" >= {}", *param.min));
  if (param.above) bounds.push_back(fmt::format(" > {}", *param.above));
  if (param.max) bounds.push_back(fmt::format(" <= {}", *param.max));
  if (param.below) bounds.push_back(fmt::format(" < {}", *param.below));
  const auto choices = param.choices.empty() ? "" : fmt::format(" one of {}", fmt::join(param.choices, ", "));
  return fmt::format("{}{}", fmt::join(bounds, " and"), choices);
}

// A kernel of another file is known only when it is loaded, and nothing is loaded to be looked at.
const char* gradient_of(const OperatorInfo& info) {
  if (info.has("backward") || info.has("gradient")) return "has a gradient";
  return info.kernels_elsewhere ? "has a gradient where its kernels have one" : "has no gradient";
}

// float32 defaults are exact doubles; as the float they were written as, they read 0.1 and not 0.10000000149.
std::string default_of(const ParamInfo& param) {
  if (param.required) return "required";
  const auto* real = std::get_if<double>(&param.default_value.variant());
  if (real != nullptr && param.kind == ParamKind::float32) return fmt::format("default {}", static_cast<float>(*real));
  return "default " + to_string(param.default_value);
}

void print_arguments(const OperatorInfo& info) {
  write_result("\nInputs\n");
  for (const auto& input : info.inputs)
    write_result("  {:<16} {}{}{}{}{}\n  {:<16} {}\n", input.name, fmt::join(names_of(input.types.value_or(info.types)), " "),
                 input.optional ? ", optional" : "", input.variadic ? ", any number" : "", input.weight.value_or(false) ? ", a weight" : "",
                 input.initial ? fmt::format(", at first {}", *input.initial) : "", "", input.doc);
  if (info.inputs.empty()) write_result("  none\n");
  write_result("\nOutputs\n");
  for (const auto& output : info.outputs)
    write_result("  {:<16} {}{}{}\n", output.name, output.doc, output.hidden ? " (hidden: for the gradient)" : "",
                 output.count.empty() ? "" : fmt::format(" (as many as parameter {} says)", output.count));
  if (!info.states.empty()) write_result("\nStates\n");
  for (const auto& state : info.states) write_result("  {:<16} at first {}\n  {:<16} {}\n", state.name, state.initial, "", state.doc);
  if (!info.params.empty()) write_result("\nParameters\n");
  for (const auto& param : info.params)
    write_result("  {:<16} {}{}, {}\n  {:<16} {}\n", param.name, name_of(param.kind), range_of(param), default_of(param), "", param.doc);
}

void print_traits(const OperatorInfo& info) {
  std::vector<std::string> traits;
  OperatorInfo::each_field(info, [&](const char*, const auto& has, const auto&... phrase) {
    if constexpr (sizeof...(phrase) == 1)
      if (const std::string text(phrase...); has && !text.empty()) traits.push_back(text);
  });
  for (const auto& [input, output] : info.inplace)
    traits.push_back(fmt::format("{} may use the memory of {}", info.outputs[static_cast<std::size_t>(output)].name,
                                 info.inputs[static_cast<std::size_t>(input)].name));
  write_result("\nTraits\n");
  for (const auto& trait : traits) write_result("  {}\n", trait);
  write_result("  {}\n", gradient_of(info));
}

void print_operator(const Catalog& catalog, const CatalogOperator& op) {
  write_result("Operator\n  {:<16} {}\n  {:<16} {}\n  {:<16} {}\n", "name", op.info.name, "what it does", op.info.doc, "version",
               op.info.version);
  if (!op.info.aliases.empty()) write_result("  {:<16} {}\n", "also called", fmt::join(op.info.aliases, ", "));
  if (op.file >= 0) {
    const auto& file = catalog.files()[static_cast<std::size_t>(op.file)];
    write_result("  {:<16} {}{}{}\n  {:<16} {}\n", "plugin", file.name, file.version.empty() ? "" : " ", file.version, "file",
                 file.path.string());
  }
  for (const auto& file : catalog.files())
    for (const auto& kernel : file.kernels)
      if (kernel.op == op.info.name) write_result("  {:<16} {} (plugin {})\n", "kernel", kernel.device, file.name);
  print_arguments(op.info);
  print_traits(op.info);
}

void print_plugin(const PluginFile& file) {
  write_result("Plugin\n  {:<16} {}\n  {:<16} {}\n  {:<16} {}\n", "file", file.path.string(), "status", name_of(file.status), "name",
               file.name);
  if (!file.reason.empty()) write_result("  {:<16} {}\n", "because", file.reason);
  if (!file.version.empty()) write_result("  {:<16} {}\n", "version", file.version);
  if (!file.compiler.empty()) write_result("  {:<16} {}\n", "compiler", file.compiler);
  if (file.cuda_version != 0) write_result("  {:<16} {}.{}\n", "CUDA", file.cuda_version / 1000, file.cuda_version % 1000 / 10);
  write_result("  {:<16} {}\n", "operators", fmt::join(file.operators, ", "));
  for (const auto& kernel : file.kernels) write_result("  {:<16} {} on {}\n", "kernel", kernel.op, kernel.device);
}

int inspect_file(Context& context, const std::filesystem::path& path) {
  if (std::filesystem::is_directory(path))
    throw Failure(FailureKind::usage,
                  fmt::format("'{}' is a folder, and inspect takes an operator, a plugin file or a graph", path.string()),
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
  if (is_graph_name(what)) return show_graph(context, what, {.verify = context.json()});
  if (std::filesystem::exists(what) && what.find_first_of("./") != std::string::npos) return inspect_file(context, what);
  if (what.ends_with(".so"))
    throw Failure(FailureKind::file, fmt::format("cannot read {}: there is no such file", what),
                  "tenon list shows the plugins that are found");
  const auto catalog = context.host().catalog();
  const auto* op = catalog.find(what);
  if (op == nullptr)
    throw Failure(FailureKind::plugin, fmt::format("there is no operator, plugin file or graph '{}'", what),
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
                 .details = "An operator is named as tenon list shows it; a plugin by its path; a graph by a .tenon or .json file.",
                 .positionals = {{"WHAT", "operator, plugin file or graph"}},
                 .options = {},
                 .run = run_inspect});

}  // namespace
}  // namespace tenon::cli
