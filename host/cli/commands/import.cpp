// tenon import: converts an ONNX model to a .tenon file.
#include <fmt/format.h>

#include <tenon/host/arrays.hpp>
#include <tenon/host/onnx.hpp>

#include "cli/command.hpp"
#include "cli/print/parameter_text.hpp"
#include "cli/print/show_graph.hpp"
#include "cli/streams.hpp"
#include "io/counted.hpp"

namespace tenon::cli {
namespace {

// Parses a number, comma-separated numbers, or the name of an array file; the importer converts
// them to the input's dtype.
Tensor fixed_value(const std::string& text) {
  std::vector<double> numbers;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const auto end = std::min(text.find(',', begin), text.size());
    const auto item = text.substr(begin, end - begin);
    char* rest = nullptr;
    numbers.push_back(item == "true" ? 1 : item == "false" ? 0 : std::strtod(item.c_str(), &rest));
    if (item.empty() || (rest != nullptr && *rest != 0)) return load_array(text);
    begin = end + 1;
  }
  if (numbers.size() == 1) return Tensor::from({numbers[0]}, Shape::scalar());
  return Tensor::from(numbers, {static_cast<std::int64_t>(numbers.size())});
}

std::int64_t parse_length(const std::string& name, const std::string& text) {
  const auto length = parse_number<std::int64_t>(text);
  if (!length)
    throw Failure(FailureKind::usage,
                  fmt::format("--length {}={}: '{}' is not an integer", name, text, text));
  return *length;
}

onnx::ImportOptions read_options(const Context& context, const Arguments& arguments) {
  onnx::ImportOptions options;
  options.trust_links = context.global().has("trust-links");
  for (const auto& [name, dims] : arguments.named("shape"))
    options.shapes.emplace(name, parse_shape(dims));
  for (const auto& [name, value] : arguments.named("fix"))
    options.fixed.emplace(name, fixed_value(value));
  for (const auto& [name, length] : arguments.named("length"))
    options.lengths.emplace(name, parse_length(name, length));
  options.map = arguments.named("map");
  options.keep_unknown = arguments.has("keep-unknown");
  options.prefer_functions = arguments.get("functions") == "body";
  options.note = [](const std::string& text) { write_message("note: {}\n", text); };
  return options;
}

int run_import(Context& context, const Arguments& arguments) {
  const auto to = arguments.get("output");
  if (to.empty())
    throw Failure(FailureKind::usage, "--output is required",
                  "tenon import model.onnx -o model.tenon");
  if (!to.ends_with(".tenon"))
    throw Failure(FailureKind::usage, fmt::format("--output is '{}' but must end in .tenon", to));
  auto graph = onnx::load(context.host(), arguments.get("MODEL"), read_options(context, arguments));
  graph.save(to);
  write_message("wrote {}: {}, {}\n", to, counted(graph.nodes().size(), "node"),
                counted(graph.operators().size(), "operator"));
  return 0;
}

const bool added_import = add_command(
    {.name = "import",
     .doc = "convert an ONNX model to a .tenon file",
     .details =
         "Every node is computed as ONNX specifies; otherwise the import fails and lists all "
         "missing operators. Weights become "
         "variables, so the graph can be trained. Other commands also read ONNX models directly.",
     .positionals = {{"MODEL", "an .onnx file with IR version 3 to 14 and opset 7 to 28"}},
     .options = {{"output", "FILE", "the .tenon file to write", Text{}, "", 'o'},
                 {"shape", "NAME=DIMS",
                  "shape of an input with dimensions that are unknown in the model",
                  Named{"image=1x3x224x224"}},
                 {"length", "NAME=N", "length of an input that is a sequence of tensors",
                  Named{"images=3"}},
                 {"fix", "NAME=VALUE",
                  "replace an input by a constant: a number, comma-separated numbers, or a file",
                  Named{"k=5"}},
                 {"map", "DOMAIN::TYPE=OPERATOR", "operator that computes nodes of this type",
                  Named{"my.ops::Foo=foo"}},
                 {"functions", "WHICH",
                  "what computes a model function's nodes if a plugin supports them, too",
                  Choice{{"plugin", "body"}}, "plugin"},
                 {"keep-unknown", "",
                  "keep nodes without an operator; the graph can be shown, edited and saved, but "
                  "not run"}},
     .run = run_import,
     .plugins = Plugins::runs});

}  // namespace
}  // namespace tenon::cli
