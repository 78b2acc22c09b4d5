// Attributes in messages, and owned by somebody.
#pragma once
#include <tenon/abi.h>

#include <cstring>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "isolate/message.hpp"
#include "isolate/protocol.hpp"

namespace tenon::isolate {

inline std::size_t element_bytes(std::uint32_t kind) {
  return kind == TENON_ATTR_TEXT ? 1 : kind == TENON_ATTR_INTS || kind == TENON_ATTR_FLOATS ? 8 : 0;
}

inline void put_attributes(Writer& writer, std::span<const tenon_attribute> attributes) {
  for (const auto& attribute : attributes) {
    const auto name = std::strlen(attribute.name);
    const auto size = element_bytes(attribute.kind);
    const auto count = size == 0 || attribute.text == nullptr ? 0 : attribute.count;
    writer.put(AttributeRecord{attribute.kind, static_cast<std::uint32_t>(name), count, attribute.i, attribute.f});
    writer.put_text({attribute.name, name});
    writer.put_array(reinterpret_cast<const std::byte*>(attribute.text), static_cast<std::size_t>(count) * size);
  }
}

/// Attributes whose names and values are their own.
class OwnedAttributes {
 public:
  OwnedAttributes() = default;
  /// Throws ProtocolError.
  OwnedAttributes(Reader& reader, std::uint64_t count) {
    for (; count > 0; --count) {
      const auto record = reader.take<AttributeRecord>();
      const auto name = reader.take_text(record.name_bytes);
      const auto size = element_bytes(record.kind);
      if (size == 0 && (record.count != 0 || record.kind < TENON_ATTR_BOOL || record.kind > TENON_ATTR_FLOAT))
        throw ProtocolError("an attribute is of no kind");
      if (name.find('\0') != std::string_view::npos) throw ProtocolError("an attribute's name has a zero in it");
      const auto values = size == 1 ? std::as_bytes(reader.take_array<char>(record.count))
                                    : std::as_bytes(reader.take_array<std::int64_t>(size == 0 ? 0 : record.count));
      add(std::string(name), record, values);
    }
  }
  OwnedAttributes(const OwnedAttributes&) = delete;
  OwnedAttributes& operator=(const OwnedAttributes&) = delete;

  std::span<const tenon_attribute> all() const { return all_; }

 private:
  void add(std::string name, const AttributeRecord& record, std::span<const std::byte> values) {
    tenon_attribute attribute{};
    attribute.name = names_.emplace_back(std::move(name)).c_str();
    attribute.kind = record.kind;
    attribute.count = record.count;
    attribute.i = record.i;
    attribute.f = record.f;
    if (element_bytes(record.kind) > 0) {
      auto& kept = values_.emplace_back(values.size() / 8 + 1);  // a zero byte after a text
      if (!values.empty()) std::memcpy(kept.data(), values.data(), values.size());
      attribute.ints = kept.data();
    }
    all_.push_back(attribute);
  }

  std::deque<std::string> names_;
  std::deque<std::vector<std::int64_t>> values_;
  std::vector<tenon_attribute> all_;
};

}  // namespace tenon::isolate
