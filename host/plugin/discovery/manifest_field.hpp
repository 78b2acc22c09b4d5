// One value of a manifest together with the way to it, so that every error says where: "inputs[1].types[0]".
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "plugin/discovery/cbor.hpp"

namespace tenon {

/// A cheap handle; the tree must outlive it. Every member throws Failure (plugin) where the value is not of the kind asked for.
class ManifestField {
 public:
  explicit ManifestField(const CborValue& root) : value_(&root) {}

  ManifestField operator[](const char* key) const;  ///< of a map
  ManifestField at(std::size_t i) const;            ///< of a list
  bool has(const char* key) const;                  ///< of a map
  std::size_t size() const;                         ///< of a list

  CborValue::Kind kind() const { return value_->kind; }
  bool is_null() const { return value_->kind == CborValue::Kind::null; }
  bool boolean() const;
  std::int64_t integer(std::int64_t lowest, std::int64_t highest) const;
  double number() const;  ///< an integer will do; not NaN
  double finite_number() const;
  double number_or_nan() const;
  std::string text() const;  ///< plain text, no control characters
  std::string identifier() const;
  std::optional<double> optional_number() const;

  /// Throws: the way to this value, then `what`.
  [[noreturn]] void fail(const std::string& what) const;

 private:
  struct Step {
    const char* key;  // null: an index
    std::size_t index;
  };
  ManifestField next(const CborValue& value, Step step) const;
  const CborValue& expect(CborValue::Kind kind, const char* needed) const;

  const CborValue* value_;
  std::array<Step, 6> way_{};
  std::size_t depth_ = 0;
};

/// For error messages: the text in quotes, where it is short.
std::string in_quotes(const std::string& text);

}  // namespace tenon
