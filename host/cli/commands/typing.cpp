// tenon typing: operators as typed Python functions, from their manifests.
#include <fmt/format.h>

#include <filesystem>

#include "cli/command.hpp"
#include "cli/output/output_paths.hpp"
#include "cli/streams.hpp"
#include "cli/typing/type_file.hpp"
#include "io/atomic_file.hpp"

namespace tenon::cli {
namespace {

namespace fs = std::filesystem;

// The plugin alone: what else is installed changes neither its names nor the file.
std::string file_of_plugin(const Context& context, const fs::path& path, PythonForm form) {
  HostOptions options;
  options.threads = 1;
  options.trust_writable = context.trust_writable();
  options.search_defaults = false;
  Host host(options);
  host.add_plugins(path);
  const auto catalog = host.catalog();
  const auto& file = catalog.files().at(0);
  if (!file.usable()) throw Failure(FailureKind::plugin, fmt::format("{} {}", path.string(), file.reason), next_step(file));
  std::vector<const CatalogOperator*> operators;
  for (const auto& op : catalog.operators())
    if (op.file == 0) operators.push_back(&op);
  if (operators.empty())
    throw Failure(FailureKind::plugin, fmt::format("{} has no operators", path.string()), "a plugin of kernels alone needs no Python");
  return python_module(file, operators, form);
}

std::string file_of_catalog(Context& context, const std::string& what) {
  const auto catalog = context.host().catalog();
  std::vector<const CatalogOperator*> operators;
  for (const auto& op : catalog.operators()) {
    const bool is_of = op.file >= 0 && is_called(catalog.files()[static_cast<std::size_t>(op.file)], what);
    if (what.empty() || is_of || &op == catalog.find(what)) operators.push_back(&op);
  }
  if (operators.empty())
    throw Failure(FailureKind::plugin, fmt::format("there is no operator or plugin '{}'{}", what, catalog.not_searched_text()),
                  did_you_mean(catalog.near(what), "tenon list shows the operators"));
  return python_type_file(catalog, operators);
}

int run_typing(Context& context, const Arguments& arguments) {
  const auto what = arguments.get("WHAT");
  const fs::path output = arguments.get("output");
  const bool is_plugin = what.ends_with(".so"), is_module = output.extension() == ".py";
  if (arguments.has("output") && !is_module && output.extension() != ".pyi")
    throw Failure(FailureKind::usage, fmt::format("-o is '{}' but must end with .pyi or .py", output.string()),
                  "a .pyi file has types; a .py file is a module that adds the plugin beside it");
  if (is_module && !is_plugin)
    throw Failure(FailureKind::usage, "a module is made of a plugin's file, which it adds when it is imported",
                  "name the file: tenon typing my_op.so -o my_op_ops.py; or write types with -o ops.pyi");
  if (is_plugin && arguments.has("output") && output.stem() == fs::path(what).stem())
    throw Failure(FailureKind::usage,
                  fmt::format("Python cannot import {} beside {}: it takes the plugin for a module of its own", output.filename().string(),
                              fs::path(what).filename().string()),
                  fmt::format("give the module another name: -o {}",
                              (output.parent_path() / (output.stem().string() + "_ops" + output.extension().string())).string()));
  std::error_code ignored;
  if (is_plugin && !fs::exists(what, ignored))
    throw Failure(FailureKind::file, fmt::format("cannot read {}: there is no such file", what),
                  "tenon list shows the plugins that are found");
  const auto text =
      is_plugin ? file_of_plugin(context, what, is_module ? PythonForm::module : PythonForm::type_file) : file_of_catalog(context, what);
  if (!arguments.has("output")) {
    write_result(text);
    return 0;
  }
  AtomicFile::write_text(output, text);
  const auto beside = [](const fs::path& file) { return final_path(file).parent_path(); };
  if (is_module && beside(output) != beside(what))
    tell("note: {} adds the plugin that lies beside it: put {} there, too\n", output, fs::path(what).filename());
  return 0;
}

const bool added_typing = add_command(
    {.name = "typing",
     .doc = "write operators as typed Python functions: a type file, or a module that goes with a plugin",
     .details =
         "tenon typing -o ops.pyi writes the types of tenon.ops, for all operators that are found. tenon typing my_op.so -o my_op_ops.py "
         "writes a module to ship with the plugin: it adds the plugin that lies beside it, and has a typed and documented function for "
         "each "
         "operator; with -o my_op_ops.pyi its types alone. Nothing of a plugin runs: all of it is in its manifests.",
     .positionals = {{"WHAT", "an operator, a plugin, or a plugin's file (default: all operators)", false}},
     .options = {{"output", "FILE", "the file to write, .pyi or .py (default: types on stdout)", Text{}, "", 'o'}},
     .run = run_typing});

}  // namespace
}  // namespace tenon::cli
