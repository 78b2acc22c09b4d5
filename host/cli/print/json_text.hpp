// Output of --json.
#pragma once
#include <fmt/format.h>

#include <cmath>
#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tenon/host/catalog.hpp>
#include <tenon/host/categories.hpp>
#include <tenon/host/failure.hpp>
#include <tenon/host/session.hpp>
#include <utility>
#include <vector>

namespace tenon::cli {

std::vector<std::string_view> names_of(DTypeMask mask);

/// A value as JSON.
struct JsonItem {
  std::string text;  ///< empty: no value; objects leave such members out

  JsonItem() = default;
  static JsonItem null() { return std::nan(""); }
  JsonItem(std::string_view value);  ///< quoted and escaped; invalid UTF-8 becomes U+FFFD
  JsonItem(const std::string& value) : JsonItem(std::string_view(value)) {}
  JsonItem(const char* value) : JsonItem(std::string_view(value)) {}
  JsonItem(double value);  ///< null if the value is not finite: JSON has no NaN or infinity
  template <std::integral T>
  JsonItem(T value) : text(fmt::to_string(value)) {}
  template <class T>
  JsonItem(const std::optional<T>& value) : JsonItem(value ? JsonItem(*value) : JsonItem()) {}
};
/// alternating; members without a value are left out
JsonItem json_members(const std::vector<JsonItem>& keys_and_values);
/// Example: json_object("a", 1, "b", "x") is `{"a": 1, "b": "x"}`.
template <class... Parts>
JsonItem json_object(const Parts&... keys_and_values) {
  return json_members({JsonItem(keys_and_values)...});
}
JsonItem json_list(const std::vector<JsonItem>& items);  ///< one item per line
void print(const JsonItem& item);

std::string json_text(const Failure& failure);
std::string json_text(const OperatorInfo& info);
std::string json_text(const PluginFile& file);
/// {"operators": [...], "files": [...], "notes": [...], "searched": [...]}
std::string json_text(const Catalog& catalog, const std::vector<const CatalogOperator*>& operators);
/// {"steps": [...], "memory": [...], "bytes", "lower_bound", ...}, and with `passes` also
/// {"passes": [...]}.
std::string json_text(const PlanInfo& plan, bool passes = false);
using OrderedTensors = std::vector<std::pair<std::string, Tensor>>;
/// dtype, shape and, up to 4096 elements, the values; of tensors with categories, the names
std::string json_text(const OrderedTensors& tensors,
                      const std::map<std::string, Categories>& categories = {});

}  // namespace tenon::cli
