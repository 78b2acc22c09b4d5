#include "cli/input/call_inputs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <tenon/host/arrays.hpp>

#include "cli/input/graph_inputs.hpp"
#include "cli/print/show_graph.hpp"

namespace tenon::cli {
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
                did_you_mean(near_names(text, names),
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
