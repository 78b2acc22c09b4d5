// Reads a manifest: the values of every key here, parameters in manifest_params.cpp, and what must hold between them in
// manifest_references.cpp.
#include <algorithm>
#include <array>
#include <limits>
#include <tenon/failure.hpp>
#include <tenon/operator_info.hpp>

#include "plugin/discovery/manifest_field.hpp"
#include "plugin/discovery/manifest_parts.hpp"

namespace tenon {
namespace {

constexpr std::size_t manifest_limit = std::size_t{1} << 16;
constexpr std::array known_functions = {"forward", "forward_sparse", "backward", "backward_sparse", "gradient", "infer_storage"};

template <class Read>
auto read_list(const ManifestField& list, Read read) {
  std::vector<decltype(read(list))> values;
  values.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) values.push_back(read(list.at(i)));
  return values;
}

std::string identifier(const ManifestField& field) {
  return field.identifier();
}

DTypeMask dtype_bit(const ManifestField& field) {
  const std::string name = field.text();
  std::string known;
  for (int i = 0; i < dtype_count; ++i) {
    const char* candidate = name_of(static_cast<DType>(i));
    if (name == candidate) return static_cast<DTypeMask>(1U << static_cast<unsigned>(i));
    known += (i == 0 ? "" : ", ") + std::string(candidate);
  }
  field.fail("is " + in_quotes(name) + "; needed is one of " + known);
}

DTypeMask read_types(const ManifestField& list) {
  if (list.size() == 0) list.fail("is empty; needed is at least one dtype");
  DTypeMask mask = 0;
  for (std::size_t i = 0; i < list.size(); ++i) mask = static_cast<DTypeMask>(mask | dtype_bit(list.at(i)));
  return mask;
}

InputInfo read_input(const ManifestField& field) {
  InputInfo input;
  input.name = field["name"].identifier();
  input.doc = field["doc"].text();
  input.optional = field["optional"].boolean();
  input.variadic = field["variadic"].boolean();
  if (const auto types = field["types"]; !types.is_null()) input.types = read_types(types);
  if (field.has("initial") && !field["initial"].is_null()) input.initial = field["initial"].finite_number();
  return input;
}

OutputInfo read_output(const ManifestField& field) {
  OutputInfo output;
  output.name = field["name"].identifier();
  output.doc = field["doc"].text();
  output.hidden = field["hidden"].boolean();
  if (const auto count = field["count"]; !count.is_null()) output.count = count.identifier();
  return output;
}

StateInfo read_state(const ManifestField& field) {
  StateInfo state{field["name"].identifier(), field["doc"].text()};
  if (field.has("initial")) state.initial = field["initial"].finite_number();  // the first manifests have none
  return state;
}

std::string read_function(const ManifestField& field) {
  std::string name = field.text();
  if (std::find(known_functions.begin(), known_functions.end(), name) == known_functions.end()) {
    field.fail("is " + in_quotes(name) + ", which is no function of an operator");
  }
  return name;
}

int read_version(const ManifestField& field) {
  return static_cast<int>(field.integer(1, std::numeric_limits<std::int32_t>::max()));
}

void require_entries(const ManifestField& list, std::size_t count) {
  if (list.size() != count) list.fail("has " + std::to_string(list.size()) + " entries; needed are " + std::to_string(count));
}

OperatorInfo::Renamed read_renamed(const ManifestField& entry) {
  require_entries(entry, 3);
  return {read_version(entry.at(0)), entry.at(1).identifier(), entry.at(2).identifier()};
}

std::pair<int, std::string> read_added(const ManifestField& entry) {
  require_entries(entry, 2);
  return {read_version(entry.at(0)), entry.at(1).identifier()};
}

void read_flags(const ManifestField& root, OperatorInfo& info) {
  info.accumulates = root["accumulates"].boolean();
  info.strides = root["strides"].boolean();
  info.random = root["random"].boolean();
  info.elementwise = root["elementwise"].boolean();
  info.kernels_elsewhere = root["kernels_elsewhere"].boolean();
}

}  // namespace

OperatorInfo read_manifest(std::span<const std::byte> bytes) {
  if (bytes.size() > manifest_limit) {
    throw Failure(FailureKind::plugin,
                  "it has " + std::to_string(bytes.size()) + " bytes; at most " + std::to_string(manifest_limit) + " are read");
  }
  const CborValue tree = read_cbor(bytes);
  const ManifestField root(tree);
  root["tenon"].integer(1, 1);
  OperatorInfo info;
  info.name = root["name"].identifier();
  info.doc = root["doc"].text();
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
