// Reads a manifest's keys; manifest_params.cpp reads parameters, and manifest_references.cpp checks
// what must hold between keys.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <tenon/host/failure.hpp>
#include <tenon/host/operator_info.hpp>

#include "io/counted.hpp"
#include "io/utf8.hpp"
#include "plugin/discovery/manifest_readers.hpp"

namespace tenon {
namespace {

constexpr std::size_t manifest_limit = std::size_t{1} << 16;
/// Features of SDK 0.2 and later that older hosts lack, besides those of dtypes.
constexpr std::array known_needs = {"allocate", "communicate", "compose", "parameters", "was"};
constexpr std::array known_functions = {"forward",  "forward_sparse", "backward", "backward_sparse",
                                        "gradient", "infer_storage",  "compose"};

bool is_known_need(const std::string& name) {
  const auto is = [&](const auto& known) { return name == known; };
  return std::any_of(known_needs.begin(), known_needs.end(), is) ||
         std::any_of(std::begin(dtype_features), std::end(dtype_features),
                     [&](const DTypeFeature& feature) { return is(feature.name); });
}

template <class Read>
auto read_list(const JsonField& list, Read read) {
  std::vector<decltype(read(list))> values;
  for (const auto& item : list.list()) values.push_back(read(item));
  return values;
}

DTypeMask read_types(const JsonField& list) {
  if (list.size() == 0) list.refuse("is empty but needs at least one dtype");
  DTypeMask mask = 0;
  for (const auto& item : list.list())
    mask = static_cast<DTypeMask>(mask | 1U << static_cast<unsigned>(read_dtype(item)));
  return mask;
}

double finite_number(const JsonField& field) {
  const double found = not_nan(field);
  if (std::isinf(found)) field.refuse("is infinite");
  return found;
}

std::string read_function(const JsonField& field) {
  std::string name = plain_text(field);
  if (std::find(known_functions.begin(), known_functions.end(), name) == known_functions.end())
    field.refuse("is {}, which is not a function of an operator", in_quotes(name));
  return name;
}

// Reads fields by their types, and by their keys if a type has several meanings.
class FieldReader {
 public:
  explicit FieldReader(const JsonField& from) : from_(from) {}
  void operator()(const char* key, std::string& text) const {
    if (std::string_view(key) == "space" && !from_.find(key)) return;
    const auto field = from_[key];
    if (std::string_view(key) == "doc")
      text = plain_text(field);
    else if (std::string_view(key) != "count" || !field.is_null())
      text = identifier(field);
  }
  void operator()(const char* key, int& version) const { version = read_version(from_[key]); }
  void operator()(const char* key, bool& flag, const char* = "") const {
    static constexpr std::string_view since_0_2[] = {
        "allocated", "derivative", "surrogate_gradient", "prefers_channels_last",
        "on_cpu",    "shape_only", "communicates"};
    if (std::find(std::begin(since_0_2), std::end(since_0_2), key) != std::end(since_0_2) &&
        !from_.find(key))
      return;
    flag = from_[key].boolean();
  }
  void operator()(const char* key, DTypeMask& types) const { types = read_types(from_[key]); }
  void operator()(const char* key, std::optional<DTypeMask>& types) const {
    if (const auto field = from_[key]; !field.is_null()) types = read_types(field);
  }
  // Optional because the first manifests have no numbers.
  void operator()(const char* key, double& number) const {
    if (const auto field = from_.find(key)) number = finite_number(*field);
  }
  void operator()(const char* key, std::optional<double>& number) const {
    if (const auto field = from_.find(key); field && !field->is_null())
      number = finite_number(*field);
  }
  // Optional because SDKs older than 0.2 do not mark weights.
  void operator()(const char* key, std::optional<bool>& flag) const {
    if (const auto field = from_.find(key)) flag = field->boolean();
  }
  void operator()(const char* key, std::vector<std::string>& names) const {
    if (std::string_view(key) == "channels_last" && !from_.find(key)) return;
    names =
        read_list(from_[key], std::string_view(key) == "functions" ? read_function : identifier);
  }
  void operator()(const char* key, std::vector<ParamInfo>& params) const {
    params = read_list(from_[key], read_param);
  }
  // These refer to parameters, so read_references() reads them.
  void operator()(const char*, std::vector<ConditionInfo>&) const {}
  void operator()(const char*, std::vector<RuleInfo>&) const {}
  void operator()(const char*, std::vector<RewriteInfo>&) const {}
  void operator()(const char*, std::vector<OnnxForm>&) const {}
  void operator()(const char*, std::vector<ExampleInfo>&) const {}
  template <class Entry>
  void operator()(const char* key, std::vector<Entry>& entries) const {
    entries = read_list(from_[key], [](const JsonField& field) {
      Entry entry;
      Entry::each_field(entry, FieldReader(field));
      return entry;
    });
  }

 private:
  const JsonField& from_;
};

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
    field.refuse(
        "is {} but must be a name: letters, digits and underscores, no digit first, at most 128",
        in_quotes(found));
  return found;
}

DType read_dtype(const JsonField& field, std::string_view what) {
  const auto& name = field.text(what);
  std::string known;
  for (int i = 0; i < dtype_count; ++i) {
    if (name == name_of(static_cast<DType>(i))) return static_cast<DType>(i);
    known += fmt::format("{}{}", i == 0 ? "" : ", ", name_of(static_cast<DType>(i)));
  }
  field.refuse("{}is {} but must be one of {}", what.empty() ? "" : std::string(what) + ' ',
               in_quotes(printable(name)), known);
}

double not_nan(const JsonField& field) {
  const double found = field.number();
  if (std::isnan(found)) field.refuse("is not a number (NaN)");
  return found;
}

int read_version(const JsonField& field) {
  return static_cast<int>(field.integer({}, 1, std::numeric_limits<std::int32_t>::max()));
}

void require_entries(const JsonField& list, std::size_t count) {
  if (list.size() != count)
    list.refuse("has {} but needs {}", counted(list.size(), "entry", "entries"), count);
}

OperatorInfo read_manifest(std::span<const std::byte> bytes) {
  if (bytes.size() > manifest_limit)
    throw Failure(FailureKind::plugin, fmt::format("it has {}; at most {} are allowed",
                                                   counted(bytes.size(), "byte"), manifest_limit));
  const auto document = parse_cbor(bytes);
  const JsonField root(document);
  root["tenon"].integer({}, 1, 2);
  if (const auto needs = root.find("needs"))
    for (const auto& need : needs->list())
      if (const auto name = plain_text(need); !is_known_need(name))
        need.refuse("is {}, which this version of Tenon does not support: update Tenon",
                    in_quotes(name));
  OperatorInfo info;
  OperatorInfo::each_field(info, FieldReader(root));
  info.own_space = !info.space.empty();
  read_references(root, info);
  info.manifest.assign(bytes.begin(), bytes.end());
  return info;
}

}  // namespace tenon
