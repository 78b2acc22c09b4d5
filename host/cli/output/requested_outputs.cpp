#include "cli/output/requested_outputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tenon/host/arrays.hpp>

#include "cli/print/json_text.hpp"
#include "cli/streams.hpp"
#include "io/utf8.hpp"

namespace tenon::cli {
namespace {

using OutputCategories = std::map<std::string, Categories>;

/// The categories of outputs, by the name that the user gave.
OutputCategories categories_of(const Graph& graph, const NamedTensors& outputs) {
  std::vector<std::string> names;
  const auto all = graph.outputs();
  for (const auto& output : all) names.push_back(output.name);
  OutputCategories found;
  for (const auto& [name, tensor] : outputs) {
    const auto own = name_in_graph(names, name, graph.changed_names());
    for (const auto& output : all)
      if (output.name == own && !output.categories.empty())
        found.try_emplace(name, output.categories);
  }
  return found;
}

void write_files(const NamedTensors& outputs, const RequestedOutputs& requested,
                 const OutputCategories& categories) {
  for (const auto& [name, file] : requested) {
    if (file.empty()) continue;
    const auto found = categories.find(name);
    if (found != categories.end() && file.ends_with(".npz"))
      throw Failure(FailureKind::usage,
                    fmt::format("output '{}' is text, which is not written to .npz files", name),
                    "write it to a .npy file");
    if (found != categories.end())
      save_npy(file, outputs.at(name), found->second);
    else if (file.ends_with(".npz"))
      save_arrays(file, {{name, outputs.at(name)}});
    else
      save_npy(file, outputs.at(name));
  }
}

// Names in quotes, as many as Tensor::to_string() shows elements.
std::string text_of(const std::string& name, const Tensor& tensor,
                    const OutputCategories& categories) {
  const auto found = categories.find(name);
  if (found == categories.end()) return tensor.to_string();
  constexpr std::size_t max_shown = 16;
  const auto names = found->second.names_of(tensor, fmt::format("output '{}'", name));
  std::string text = fmt::format("text {}", to_string(tensor.shape()));
  for (std::size_t i = 0; i < std::min(names.size(), max_shown); ++i)
    text += fmt::format("{}'{}'", i == 0 ? "  " : " ", printable(names[i]));
  return text + (names.size() > max_shown ? " ..." : "");
}

}  // namespace

Option output_option() {
  return {"output", "NAME[=FILE]",
          "output to compute, written to a .npy or .npz file, or printed if =FILE is missing "
          "(default: print all outputs)",
          Text{true}};
}

RequestedOutputs requested_outputs(const Arguments& arguments) {
  RequestedOutputs requested;
  for (const auto& text : arguments.all("output")) {
    const auto equals = text.find('=');
    const auto name = text.substr(0, equals),
               file = equals == std::string::npos ? "" : text.substr(equals + 1);
    if (name.empty() || (equals != std::string::npos && file.empty()))
      throw Failure(FailureKind::usage,
                    fmt::format("--output is '{}' but must be NAME or NAME=FILE", text),
                    "for example --output scores=scores.npy");
    if (!requested.emplace(name, file).second)
      throw Failure(FailureKind::usage, fmt::format("--output names '{}' twice", name));
  }
  return requested;
}

void add_output_files(std::vector<NamedFile>& files, const RequestedOutputs& requested) {
  for (const auto& [name, file] : requested) files.push_back({"--output " + name, file});
}

bool all_to_npy(const Context& context, const Graph& graph, const RequestedOutputs& requested) {
  const auto outputs = graph.outputs();
  return !context.json() && !requested.empty() &&
         std::all_of(outputs.begin(), outputs.end(),
                     [](const ValueInfo& output) { return output.categories.empty(); }) &&
         std::all_of(requested.begin(), requested.end(), [](const auto& output) {
           return !output.second.empty() && !output.second.ends_with(".npz");
         });
}

void BatchFiles::take(const NamedTensors& outputs, std::int64_t rows) {
  for (const auto& [name, file] : requested_) {
    const auto& tensor = outputs.at(name);
    auto shape = tensor.shape();
    shape.set(0, rows);
    files_.try_emplace(name, file, tensor.dtype(), shape).first->second.write(tensor);
  }
}

void BatchFiles::commit() {
  for (auto& [name, file] : files_) file.commit();
}

void give_outputs(const Context& context, const Graph& graph, const NamedTensors& outputs,
                  const RequestedOutputs& requested) {
  const auto categories = categories_of(graph, outputs);
  write_files(outputs, requested, categories);
  OrderedTensors ordered;
  for (const auto& output : graph.outputs())
    if (const auto found = outputs.find(output.name); found != outputs.end())
      ordered.push_back(*found);
  for (const auto& output : outputs)  // outputs under other names that the user gave
    if (std::none_of(ordered.begin(), ordered.end(),
                     [&](const auto& one) { return one.first == output.first; }))
      ordered.push_back(output);
  if (context.json()) {
    write_result(json_text(ordered, categories) + '\n');
  } else {
    for (const auto& [name, tensor] : ordered)
      if (const auto found = requested.find(name);
          found == requested.end() || found->second.empty())
        write_result("{}  {}\n", name, text_of(name, tensor, categories));
  }
  flush_results();
}

static constexpr const char* prefix = "grad_";

bool has_gradient(DType dtype) {
  return (floating + any_complex).has(dtype);
}

void add_gradient_outputs(Graph& graph, const std::vector<Value>& gradients,
                          const std::vector<std::string>& names,
                          const std::string& differentiated) {
  if (std::all_of(gradients.begin(), gradients.end(),
                  [](const Value& gradient) { return gradient.empty(); }))
    throw Failure(
        FailureKind::usage,
        fmt::format(
            "nothing to differentiate: {} does not depend on any floating-point or complex input",
            differentiated));
  for (std::size_t i = 0; i < gradients.size(); ++i)
    if (!gradients[i].empty()) graph.output(names[i], gradients[i]);
}

void require_requested_gradient(const RequestedOutputs& requested) {
  const auto is_gradient = [](const auto& output) { return output.first.starts_with(prefix); };
  if (!requested.empty() && std::none_of(requested.begin(), requested.end(), is_gradient))
    throw Failure(
        FailureKind::usage, "--gradient has no effect: --output names no gradient",
        "gradients are outputs: add --output grad_NAME with the name of an input or variable");
}

}  // namespace tenon::cli
