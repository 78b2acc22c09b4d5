#include "cli/typing/type_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "cli/typing/python_text.hpp"
#include "io/utf8.hpp"

namespace tenon::cli {
namespace {

// Content of a file, sorted by Python names.
struct Content {
  std::map<std::string, const CatalogOperator*> functions;
  std::map<std::string, std::string> aliases;  // name -> function
  std::map<std::string, std::map<std::string, const CatalogOperator*>> spaces;

  // If an operator and a namespace have the same name, the operator wins.
  void drop_taken_spaces() {
    std::erase_if(spaces, [&](const auto& space) {
      return functions.contains(space.first) || aliases.contains(space.first);
    });
  }
  std::set<std::string> names() const {
    std::set<std::string> all;
    for (const auto& [name, op] : functions) all.insert(name);
    for (const auto& [name, function] : aliases) all.insert(name);
    for (const auto& [name, operators] : spaces) {
      all.insert(name);
      for (const auto& [inner, op] : operators) all.insert(inner);
    }
    return all;
  }
};

class File {
 public:
  File(const Content& content, PythonForm form)
      : content_(content), form_(form), imports_(content.names()) {}

  std::string text(const std::vector<std::string>& lines, const std::string& plugin) {
    auto body = functions();  // must come first: it records the names to import
    const auto is_module = form_ == PythonForm::module;
    auto text = python_docstring(lines, 0) + '\n';
    if (is_module) text += "from __future__ import annotations\n\n";
    text += imports(is_module) + '\n';
    if (is_module) text += module_start(plugin);
    return text + body;
  }

 private:
  std::string functions() {
    const bool is_module = form_ == PythonForm::module;
    const std::string gap = is_module ? "\n\n" : "";  // as black formats it
    std::string text;
    for (const auto& [name, op] : content_.functions)
      text += gap + python_function({&op->info, name}, form_, imports_);
    if (!content_.aliases.empty()) text += is_module ? gap : "\n";
    for (const auto& [name, function] : content_.aliases)
      text += fmt::format("{} = {}\n", name, function);
    for (const auto& [space, operators] : content_.spaces) {
      text += fmt::format("{}class {}:\n    \"\"\"Operators of the namespace {}.\"\"\"\n\n",
                          is_module ? gap : "\n", space, space);
      for (const auto& [name, op] : operators)
        text += python_function({&op->info, name, true}, form_, imports_);
    }
    text.erase(text.find_last_not_of('\n') + 2);
    return text;
  }

  // Returns `from MODULE import ...` for the names that the file uses, or an empty text.
  std::string import(const char* module, const std::vector<std::string>& imports,
                     std::size_t indent = 0) const {
    PythonExpression expression{fmt::format("from {} import ", module)};
    for (const auto& name : imports)
      if (auto text = imports_.import_of(name); !text.empty())
        expression.items.push_back({std::move(text)});
    if (expression.items.empty()) return {};
    auto lines = python_lines(expression, indent);
    if (lines.find('\n') == std::string::npos) return lines + '\n';
    expression.head += '(', expression.tail = ")";
    return python_lines(expression, indent) + '\n';
  }

  std::string imports(bool is_module) {
    if (is_module)
      for (const char* name : {"Any", "Path"}) imports_(name);
    std::string builtins;
    for (const char* name : {"bool", "float", "int", "staticmethod", "str", "tuple"})
      if (imports_.is_taken(name) && !imports_.import_of(name).empty())
        builtins += (builtins.empty() ? "from builtins import " : ", ") + imports_.import_of(name);
    auto text = builtins.empty() ? "" : builtins + '\n';
    text += import("collections.abc", {"Sequence"});
    if (is_module) text += import("pathlib", {"Path"});
    if (is_module) imports_("TYPE_CHECKING");
    text += import("typing", {"TYPE_CHECKING", "Any", "Literal", "overload"}) + '\n';
    const std::vector<std::string> types = {"ArrayLike", "ArrayT", "Numpy", "NumpyLike", "Value"};
    if (!is_module) return text + import("tenon.typing", types);
    const auto guarded = import("tenon.typing", types, 4);
    return text + "import tenon as _tenon\n" +
           (guarded.empty() ? "" : fmt::format("\nif {}:\n{}", imports_("TYPE_CHECKING"), guarded));
  }

  std::string module_start(const std::string& plugin) {
    PythonExpression all{"__all__ = [", {}, "]"};
    for (const auto& name : content_.names()) all.items.push_back({python_string(name)});
    return python_lines(all, 0) + "\n\n" +
           fmt::format(
               "_tenon.add_plugins({}(__file__).with_name({}))\n_operators: {} = _tenon.ops\n",
               imports_("Path"), python_string(plugin), imports_("Any"));
  }

  const Content& content_;
  PythonForm form_;
  PythonImports imports_;
};

}  // namespace

std::string python_type_file(const Catalog& catalog,
                             const std::vector<const CatalogOperator*>& operators) {
  Content content;
  for (const auto* op : operators) {
    const auto name = python_name(op->info.name);
    const bool is_short = catalog.find(op->info.name) == op;
    if (is_short) content.functions.emplace(name, op);
    if (op->info.space != "tenon" || !is_short)
      content.spaces[python_name(op->info.space)].emplace(name, op);
  }
  for (const auto* op : operators)
    for (const auto& alias : op->info.aliases)
      if (catalog.find(alias) == op && catalog.find(op->info.name) == op &&
          !content.functions.contains(python_name(alias)))
        content.aliases.emplace(python_name(alias), python_name(op->info.name));
  content.drop_taken_spaces();
  return File(content, PythonForm::type_file)
      .text({"Operators of tenon.ops as functions.", "",
             "Generated by `tenon typing` from plugin manifests."},
            "");
}

std::string python_module(const PluginFile& file,
                          const std::vector<const CatalogOperator*>& operators, PythonForm form) {
  Content content;
  for (const auto* op : operators) {
    const auto name = python_name(op->info.name);
    if (!content.functions.emplace(name, op).second)
      content.spaces[python_name(op->info.space)].emplace(name, op);
  }
  for (const auto* op : operators)
    for (const auto& alias : op->info.aliases)
      if (const auto name = python_name(alias);
          content.functions.at(python_name(op->info.name)) == op &&
          !content.functions.contains(name))
        content.aliases.emplace(name, python_name(op->info.name));
  content.drop_taken_spaces();
  const auto plugin = file.path.filename().string();
  return File(content, form)
      .text({fmt::format("Operators of the plugin {}{}.", file.name,
                         file.version.empty() ? "" : " " + printable(file.version)),
             "",
             fmt::format("Generated by `tenon typing`. The plugin {} must be in the same folder as "
                         "this file.",
                         printable(plugin))},
            plugin);
}

}  // namespace tenon::cli
