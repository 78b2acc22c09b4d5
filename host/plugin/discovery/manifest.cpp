// Reads a manifest: the values of every key here, parameters in manifest_params.cpp, and what must hold between them in
// manifest_references.cpp.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <tenon/failure.hpp>
#include <tenon/operator_info.hpp>

#include "io/utf8.hpp"
#include "plugin/discovery/manifest_parts.hpp"

namespace tenon {
namespace {

constexpr std::size_t manifest_limit = std::size_t{1} << 16;
constexpr std::array known_functions = {"forward", "forward_sparse", "backward", "backward_sparse", "gradient", "infer_storage"};

template <class Read>
auto read_list(const JsonField& list, Read read) {
  std::vector<decltype(read(list))> values;
  for (const auto& item : list.list()) values.push_back(read(item));
  return values;
}

DTypeMask read_types(const JsonField& list) {
  if (list.size() == 0) list.refuse("is empty but needs at least one dtype");
  DTypeMask mask = 0;
  for (const auto& item : list.list()) mask = static_cast<DTypeMask>(mask | 1U << static_cast<unsigned>(read_dtype(item)));
  return mask;
}

double finite_number(const JsonField& field) {
  const double found = not_nan(field);
  if (std::isinf(found)) field.refuse("is infinite");
  return found;
}

InputInfo read_input(const JsonField& field) {
  InputInfo input;
  input.name = identifier(field["name"]);
  input.doc = plain_text(field["doc"]);
  input.optional = field["optional"].boolean();
  input.variadic = field["variadic"].boolean();
  if (const auto types = field["types"]; !types.is_null()) input.types = read_types(types);
  if (const auto initial = field.find("initial"); initial && !initial->is_null()) input.initial = finite_number(*initial);
  return input;
}

OutputInfo read_output(const JsonField& field) {
  OutputInfo output;
  output.name = identifier(field["name"]);
  output.doc = plain_text(field["doc"]);
  output.hidden = field["hidden"].boolean();
  if (const auto count = field["count"]; !count.is_null()) output.count = identifier(count);
  return output;
}

StateInfo read_state(const JsonField& field) {
  StateInfo state{identifier(field["name"]), plain_text(field["doc"])};
  if (const auto initial = field.find("initial")) state.initial = finite_number(*initial);  // the first manifests have none
  return state;
}

std::string read_function(const JsonField& field) {
  std::string name = plain_text(field);
  if (std::find(known_functions.begin(), known_functions.end(), name) == known_functions.end())
    field.refuse("is {}, which is no function of an operator", in_quotes(name));
  return name;
}

int read_version(const JsonField& field) {
  return static_cast<int>(field.integer({}, 1, std::numeric_limits<std::int32_t>::max()));
}

OperatorInfo::Renamed read_renamed(const JsonField& entry) {
  require_entries(entry, 3);
  return {read_version(entry.at(0)), identifier(entry.at(1)), identifier(entry.at(2))};
}

std::pair<int, std::string> read_added(const JsonField& entry) {
  require_entries(entry, 2);
  return {read_version(entry.at(0)), identifier(entry.at(1))};
}

void read_flags(const JsonField& root, OperatorInfo& info) {
  info.accumulates = root["accumulates"].boolean();
  info.strides = root["strides"].boolean();
  info.random = root["random"].boolean();
  info.elementwise = root["elementwise"].boolean();
  info.kernels_elsewhere = root["kernels_elsewhere"].boolean();
}

}  // namespace

std::string in_quotes(const std::string& text) {
  return text.size() <= 60 ? "'" + text + "'" : fmt::format("a string of {} bytes", text.size());
}

std::string plain_text(const JsonField& field) {
  const auto& found = field.text();
  if (!is_plain_text(found)) field.refuse("is not plain UTF-8 text");
  return found;
}

std::string identifier(const JsonField& field) {
  auto found = plain_text(field);
  if (!is_identifier(found))
    field.refuse("is {} but must be a name: letters, digits and underscores, no digit first, at most 128", in_quotes(found));
  return found;
}

DType read_dtype(const JsonField& field, std::string_view what) {
  const auto& name = field.text(what);
  std::string known;
  for (int i = 0; i < dtype_count; ++i) {
    if (name == name_of(static_cast<DType>(i))) return static_cast<DType>(i);
    known += fmt::format("{}{}", i == 0 ? "" : ", ", name_of(static_cast<DType>(i)));
  }
  field.refuse("{}is {} but must be one of {}", what.empty() ? "" : std::string(what) + ' ', in_quotes(printable(name)), known);
}

double not_nan(const JsonField& field) {
  const double found = field.number();
  if (std::isnan(found)) field.refuse("is not a number (NaN)");
  return found;
}

void require_entries(const JsonField& list, std::size_t count) {
  if (list.size() != count) list.refuse("has {} entries but needs {}", list.size(), count);
}

OperatorInfo read_manifest(std::span<const std::byte> bytes) {
  if (bytes.size() > manifest_limit)
    throw Failure(FailureKind::plugin, fmt::format("it has {} bytes; at most {} are read", bytes.size(), manifest_limit));
  const auto document = parse_cbor(bytes);
  const JsonField root(document);
  root["tenon"].integer({}, 1, 1);
  OperatorInfo info;
  info.name = identifier(root["name"]);
  info.doc = plain_text(root["doc"]);
  info.version = read_version(root["version"]);
  info.aliases = read_list(root["aliases"], identifier);
  info.types = read_types(root["types"]);
  info.inputs = read_list(root["inputs"], read_input);
  info.outputs = read_list(root["outputs"], read_output);
  info.states = read_list(root["states"], read_state);
  info.params = read_list(root["params"], read_param);
  info.functions = read_list(root["functions"], read_function);
  info.renamed = read_list(root["renamed"], read_renamed);
  info.added = read_list(root["added"], read_added);
  read_flags(root, info);
  read_references(root, info);
  info.manifest.assign(bytes.begin(), bytes.end());
  return info;
}

}  // namespace tenon
