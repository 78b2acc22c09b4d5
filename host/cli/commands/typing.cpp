// tenon typing: writes operators as typed Python functions, from their manifests.
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

// Loads only this plugin, so other installed plugins affect neither its names nor the file.
std::string file_of_plugin(const Context& context, const fs::path& path, PythonForm form) {
  HostOptions options;
  options.threads = 1;
  options.trust_writable = context.trust_writable();
  options.search_defaults = false;
  Host host(options);
  host.add_plugins(path);
  const auto catalog = host.catalog();
  const auto& file = catalog.files().at(0);
  if (!file.usable())
    throw Failure(FailureKind::plugin, fmt::format("{} {}", path.string(), file.reason),
                  next_step(file));
  std::vector<const CatalogOperator*> operators;
  for (const auto& op : catalog.operators())
    if (op.file == 0) operators.push_back(&op);
  if (operators.empty())
    throw Failure(FailureKind::plugin, fmt::format("{} has no operators", path.string()),
                  "a plugin that has only kernels needs no Python types");
  return python_module(file, operators, form);
}

std::string file_of_catalog(Context& context, const std::string& what) {
  const auto catalog = context.host().catalog();
  std::vector<const CatalogOperator*> operators;
  for (const auto& op : catalog.operators()) {
    const bool is_of =
        op.file >= 0 && is_called(catalog.files()[static_cast<std::size_t>(op.file)], what);
    if (what.empty() || is_of || &op == catalog.find(what)) operators.push_back(&op);
  }
  if (operators.empty())
    throw Failure(
        FailureKind::plugin,
        fmt::format("there is no operator or plugin '{}'{}", what, catalog.not_searched_text()),
        did_you_mean(catalog.near(what), "tenon list shows the operators"));
  return python_type_file(catalog, operators);
}

int run_typing(Context& context, const Arguments& arguments) {
  const auto what = arguments.get("WHAT");
  const fs::path output = arguments.get("output");
  const bool is_plugin = what.ends_with(".so"), is_module = output.extension() == ".py";
  if (arguments.has("output") && !is_module && output.extension() != ".pyi")
    throw Failure(FailureKind::usage,
                  fmt::format("-o is '{}' but must end in .pyi or .py", output.string()),
                  "use .pyi for types, .py for a module that loads the plugin next to it");
  if (is_module && !is_plugin)
    throw Failure(
        FailureKind::usage, "a .py module needs a plugin file, which it loads on import",
        "for example tenon typing my_op.so -o my_op_ops.py; or write types with -o ops.pyi");
  if (is_plugin && arguments.has("output") && output.stem() == fs::path(what).stem())
    throw Failure(
        FailureKind::usage,
        fmt::format("Python cannot import {} next to {}: it would import the plugin instead",
                    output.filename().string(), fs::path(what).filename().string()),
        fmt::format(
            "use another name, for example -o {}",
            (output.parent_path() / (output.stem().string() + "_ops" + output.extension().string()))
                .string()));
  std::error_code ignored;
  if (is_plugin && !fs::exists(what, ignored))
    throw Failure(FailureKind::file, fmt::format("cannot read {}: there is no such file", what),
                  "tenon list shows the available plugins");
  const auto text =
      is_plugin
          ? file_of_plugin(context, what, is_module ? PythonForm::module : PythonForm::type_file)
          : file_of_catalog(context, what);
  if (!arguments.has("output")) {
    write_result(text);
    return 0;
  }
  AtomicFile::write_text(output, text);
  const auto folder_of = [](const fs::path& file) { return final_path(file).parent_path(); };
  if (is_module && folder_of(output) != folder_of(what))
    write_message("note: {} loads the plugin from its own folder: copy {} there\n", output,
                  fs::path(what).filename());
  return 0;
}

const bool added_typing = add_command(
    {.name = "typing",
     .doc = "write operators as typed Python functions: a type stub file, or a module for a plugin",
     .details = "tenon typing -o ops.pyi writes type stubs of tenon.ops for all available "
                "operators. tenon typing my_op.so -o my_op_ops.py "
                "writes a module to ship with the plugin: it loads the plugin from its own folder "
                "and has a typed, documented function for each "
                "operator; -o my_op_ops.pyi writes only the stubs. No plugin code runs; everything "
                "comes from the manifests.",
     .positionals = {{"WHAT", "operator, plugin name or plugin file (default: all operators)",
                      false}},
     .options = {{"output", "FILE", "the .pyi or .py file to write (default: print the stubs)",
                  Text{}, "", 'o'}},
     .run = run_typing});

}  // namespace
}  // namespace tenon::cli
