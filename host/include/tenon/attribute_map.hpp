// The parameters of one node or call, by name.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tenon {

/// One parameter's value. Numbers convert to what the operator declares where nothing is lost (3 fits a float parameter, 3.5 no integer
/// one).
class AttributeValue {
 public:
  using Variant = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>>;
  AttributeValue(bool value) : value_(value) {}
  AttributeValue(int value) : value_(std::int64_t{value}) {}
  AttributeValue(std::int64_t value) : value_(value) {}
  AttributeValue(double value) : value_(value) {}
  AttributeValue(const char* value) : value_(std::string(value)) {}
  AttributeValue(std::string value) : value_(std::move(value)) {}
  AttributeValue(std::vector<std::int64_t> value) : value_(std::move(value)) {}
  AttributeValue(std::vector<double> value) : value_(std::move(value)) {}
  const Variant& variant() const { return value_; }
  friend bool operator==(const AttributeValue&, const AttributeValue&) = default;

 private:
  Variant value_;
};

/// In the order given. Names are unique once an operator has checked them.
class Attributes {
 public:
  using Entry = std::pair<std::string, AttributeValue>;
  Attributes() = default;
  Attributes(std::initializer_list<Entry> entries) : entries_(entries) {}
  void set(std::string name, AttributeValue value) { entries_.emplace_back(std::move(name), std::move(value)); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  std::size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }

 private:
  std::vector<Entry> entries_;
};

}  // namespace tenon
