#include "cli/input/graph_inputs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <tenon/host/arrays.hpp>
#include <tenon/host/tensor_functions.hpp>
#include <unordered_map>

#include "cli/print/show_graph.hpp"
#include "cli/streams.hpp"
#include "io/counted.hpp"

namespace tenon::cli {
namespace {

Shape fill_unknown(const ValueInfo& input, const std::map<std::string, std::string>& shapes) {
  if (const auto shape = shapes.find(input.name); shape != shapes.end())
    return parse_shape(shape->second);
  if (!input.shape.has_rank())
    throw Failure(FailureKind::usage,
                  fmt::format("the shape of input '{}' is not known", input.name),
                  fmt::format("add --shape {}=DIMS", input.name));
  auto shape = input.shape;
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (shape[axis] == unknown) shape.set(axis, 1);
  return shape;
}

std::vector<std::string> value_names(const std::vector<ValueInfo>& values) {
  std::vector<std::string> names;
  names.reserve(values.size());
  for (const auto& value : values) names.push_back(value.name);
  return names;
}

/// Maps the graph's input names to their texts. Throws Failure (usage) for a name that is not
/// an input of the graph, with similar names in the hint.
std::map<std::string, std::string> by_graph_names(
    const Graph& graph, const std::map<std::string, std::string>& requested) {
  const auto names = value_names(graph.inputs());
  const auto changed = graph.changed_names();
  std::map<std::string, std::string> renamed;
  for (const auto& [name, text] : requested) {
    const auto found = name_in_graph(names, name, changed);
    if (!found.empty() && !renamed.emplace(found, text).second)
      throw Failure(FailureKind::usage, fmt::format("input '{}' is named twice", found));
    if (!found.empty()) continue;
    throw Failure(
        FailureKind::usage, fmt::format("the graph has no input '{}'", name),
        did_you_mean(similar_names(name, names), fmt::format("its inputs are {}", listed(names))));
  }
  return renamed;
}

// Refuses `random:...`, which only tenon call supports.
void refuse_random(const std::string& input, const std::string& text) {
  std::error_code ignored;
  if (!text.starts_with("random:") || std::filesystem::exists(text, ignored)) return;
  const auto shape = text.substr(7, text.find(':', 7) - 7);
  throw Failure(FailureKind::file, fmt::format("cannot read {}: there is no such file", text),
                fmt::format("inputs without --input are random: --shape {}={}", input, shape));
}

// Returns the files of an option. All svmlight files of a command share one feature numbering.
std::map<std::string, std::string> files_of(const Arguments& arguments, const std::string& option) {
  std::vector<std::string> sources;
  std::vector<std::string*> found;
  auto files = arguments.named(option);
  for (auto& [name, file] : files) found.push_back(&file), sources.push_back(file);
  for (const char* other : {"input", "data", "validate"})
    for (const auto& [name, file] : arguments.named(other)) sources.push_back(file);
  sources = with_common_features(std::move(sources));
  for (std::size_t i = 0; i < found.size(); ++i) *found[i] = sources[i];
  return files;
}

}  // namespace

std::vector<Option> input_options() {
  return {{"input", "NAME=FILE",
           fmt::format("values of an input, from a {} file; FILE[BEGIN:END] selects rows; "
                       "TABLE.csv without a name: the inputs are its columns (default: random)",
                       array_suffixes()),
           Named{.example = "image=image.npy", .allows_table = true}},
          {"shape", "NAME=DIMS", "shape of a random input", Named{"image=8x64"}},
          density_option(),
          {"seed", "N", "seed for random inputs and random operators", Integer{}, "0"}};
}

Option density_option() {
  return {"density", "FRACTION",
          "fraction of stored elements in random csr and row_sparse inputs, from 0 to 1", Real{0},
          "0.1"};
}

Tensor random_input(const Arguments& arguments, DType dtype, const Shape& shape, Storage storage,
                    std::uint64_t number, std::size_t categories) {
  RandomOptions options{.storage = storage, .seed = arguments.count("seed"), .stream = number};
  if (categories > 0) options.low = 0, options.high = static_cast<double>(categories);
  if (storage != Storage::dense) options.density = arguments.real("density");
  if (options.density > 1)
    throw Failure(FailureKind::usage,
                  fmt::format("--density is {} but must be at most 1", options.density),
                  "1 stores every element");
  return random_tensor(dtype, shape, options);
}

// The columns of --input TABLE.csv, for inputs without a file of their own.
static NamedTensors read_tables(const Arguments& arguments, std::vector<ValueInfo> inputs,
                                const std::map<std::string, std::string>& files,
                                const std::map<std::string, std::string>& shapes) {
  const auto tables = arguments.tables("input");
  if (tables.empty()) return {};
  if (tables.size() > 1)
    throw Failure(FailureKind::usage, "--input names two tables, but the inputs come from one",
                  "name the input: --input NAME=TABLE.csv");
  std::erase_if(inputs, [&](const ValueInfo& input) {
    return files.contains(input.name) || shapes.contains(input.name);
  });
  NamedTensors tensors;
  for (auto& [name, tensor] : load_table(tables[0], inputs))
    tensors.emplace(name, std::move(tensor));
  return tensors;
}

NamedTensors read_inputs(const Graph& graph, const Arguments& arguments) {
  return read_inputs(graph, arguments, graph.inputs());
}

NamedTensors read_inputs(const Graph& graph, const Arguments& arguments,
                         const std::vector<ValueInfo>& inputs, bool widen) {
  const auto names = value_names(graph.inputs());
  const auto files = by_graph_names(graph, files_of(arguments, "input")),
             shapes = by_graph_names(graph, arguments.named("shape"));
  std::unordered_map<std::string_view, std::uint64_t> numbers;
  for (const auto& name : names) numbers.emplace(name, numbers.size());
  auto tensors = read_tables(arguments, inputs, files, shapes);
  for (auto input : inputs) {
    if (tensors.contains(input.name)) continue;
    const auto dtype = input.dtype.value_or(DType::f32);
    input.dtype = dtype;
    if (const auto file = files.find(input.name); file != files.end()) {
      refuse_random(input.name, file->second);
      tensors.emplace(input.name, widen ? load_input(file->second, input)
                                        : load_input_unwidened(file->second, input));
      continue;
    }
    const auto shape = fill_unknown(input, shapes);
    write_message("input {} is random, {} {}\n", input.name, name_of(dtype), to_string(shape));
    tensors.emplace(input.name, random_input(arguments, dtype, shape, input.storage,
                                             numbers.at(input.name), input.categories.size()));
  }
  return tensors;
}

NamedTensors read_dataset(const Graph& graph, const Arguments& arguments,
                          const std::string& option) {
  return read_dataset(graph, arguments, option, value_names(graph.inputs()));
}

NamedTensors read_dataset(const Graph& graph, const Arguments& arguments, const std::string& option,
                          const std::vector<std::string>& inputs) {
  const auto all = graph.inputs();
  const auto files = by_graph_names(graph, files_of(arguments, option));
  std::unordered_map<std::string_view, const ValueInfo*> known;
  for (const auto& input : all) known.emplace(input.name, &input);
  NamedTensors examples;
  for (const auto& name : inputs) {
    const auto found = files.find(name);
    if (found == files.end())
      throw Failure(FailureKind::usage, fmt::format("no data for input '{}'", name),
                    fmt::format("add --{} {}=FILE.npy", option, name));
    examples.emplace(name, load_input(found->second, *known.at(name)));
  }
  return examples;
}

namespace {

std::vector<std::string> split_at_colons(const std::string& text) {
  std::vector<std::string> fields(1);
  for (const char c : text) c == ':' ? void(fields.emplace_back()) : fields.back().push_back(c);
  return fields;
}

// Accepts abbreviations of numpy's names: f32 for float32.
std::string short_name(std::string name) {
  for (const auto& [word, letter] : {std::pair("bfloat", "bf"), std::pair("float", "f"),
                                     std::pair("uint", "u"), std::pair("int", "i")})
    if (name.starts_with(word)) return letter + name.substr(std::string_view(word).size());
  return name;
}

DType dtype_called(const std::string& text) {
  std::vector<std::string> names;
  for (int i = 0; i < TENON_DTYPE_COUNT; ++i) {
    names.emplace_back(name_of(static_cast<DType>(i)));
    if (text == names.back() || text == short_name(names.back())) return static_cast<DType>(i);
  }
  throw Failure(FailureKind::usage, fmt::format("there is no dtype '{}'", text),
                did_you_mean(similar_names(text, names),
                             fmt::format("available dtypes: {}", fmt::join(names, ", "))));
}

Storage storage_called(const std::string& text) {
  for (const auto storage : {Storage::dense, Storage::csr, Storage::row_sparse})
    if (text == name_of(storage)) return storage;
  throw Failure(FailureKind::usage, fmt::format("there is no storage '{}'", text),
                "available storages: dense, csr, row_sparse");
}

}  // namespace

Option call_input_option() {
  return {"input", "NAME=FILE",
          fmt::format("operator input: a {} file, FILE[BEGIN:END] for a range of its rows, or "
                      "random:SHAPE[:DTYPE[:STORAGE]]",
                      array_suffixes()),
          Named{"x=x.npy or x=random:2x3:float64"}};
}

NamedTensors read_call_inputs(const Arguments& arguments) {
  NamedTensors tensors;
  std::uint64_t number = 0;
  for (const auto& [name, text] : arguments.named("input")) {
    const auto fields = split_at_colons(text);
    if (fields[0] != "random") {
      tensors.emplace(name, load_array(text));
      continue;
    }
    if (fields.size() < 2 || fields.size() > 4)
      throw Failure(
          FailureKind::usage,
          fmt::format("--input {} is '{}', which is not a valid random input", name, text),
          "for example random:2x3, random:2x3:float64 or random:20x30:float32:csr");
    const auto dtype = fields.size() > 2 ? dtype_called(fields[2]) : DType::f32;
    const auto storage = fields.size() > 3 ? storage_called(fields[3]) : Storage::dense;
    tensors.emplace(name,
                    random_input(arguments, dtype, parse_shape(fields[1]), storage, number++));
  }
  return tensors;
}

}  // namespace tenon::cli
