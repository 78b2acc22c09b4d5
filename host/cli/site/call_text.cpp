#include "cli/site/call_text.hpp"

#include "cli/typing/python_text.hpp"

namespace tenon::cli {
namespace {

const std::set<std::string> cpp_taken = {
    "alignas",      "alignof",      "and",           "and_eq",
    "asm",          "auto",         "bitand",        "bitor",
    "bool",         "break",        "case",          "catch",
    "char",         "char8_t",      "char16_t",      "char32_t",
    "class",        "compl",        "concept",       "const",
    "consteval",    "constexpr",    "constinit",     "const_cast",
    "continue",     "co_await",     "co_return",     "co_yield",
    "decltype",     "default",      "delete",        "do",
    "double",       "dynamic_cast", "else",          "enum",
    "explicit",     "export",       "extern",        "false",
    "float",        "for",          "friend",        "goto",
    "if",           "inline",       "int",           "long",
    "main",         "mutable",      "namespace",     "new",
    "noexcept",     "not",          "not_eq",        "nullptr",
    "operator",     "or",           "or_eq",         "private",
    "protected",    "public",       "register",      "reinterpret_cast",
    "requires",     "return",       "short",         "signed",
    "sizeof",       "static",       "static_assert", "static_cast",
    "struct",       "switch",       "template",      "this",
    "thread_local", "throw",        "true",          "try",
    "typedef",      "typeid",       "typename",      "union",
    "unsigned",     "using",        "virtual",       "void",
    "volatile",     "wchar_t",      "while",         "xor",
    "xor_eq",       "host",         "std",           "tenon",
    "NULL"};
const std::set<std::string> python_taken = {"np", "ops", "tenon", "random", "print"};

// Returns the output's name, or "results" for several outputs.
std::string name_of_result(const OperatorInfo& info) {
  std::string name;
  for (const auto& output : info.outputs) {
    if (output.hidden) continue;
    if (!name.empty() || !output.count.empty()) return "results";
    name = output.name;
  }
  return name;
}

ExampleNames unique_names(const OperatorInfo& info, const std::vector<std::string>& tensors,
                          std::set<std::string> taken) {
  const auto add = [&](std::string name) {
    name = python_name(name);
    while (!taken.insert(name).second) name += '_';
    return name;
  };
  ExampleNames names;
  for (const auto& tensor : tensors) names.inputs.push_back(add(tensor));
  names.result = add(name_of_result(info));
  return names;
}

}  // namespace

ExampleNames names_in_cpp(const OperatorInfo& info, const std::vector<std::string>& tensors) {
  return unique_names(info, tensors, cpp_taken);
}

ExampleNames names_in_python(const OperatorInfo& info, const std::vector<std::string>& tensors) {
  return unique_names(info, tensors, python_taken);
}

}  // namespace tenon::cli
