#include "graph/instance.hpp"

#include <cstring>
#include <tenon/failure.hpp>

namespace tenon {

Instance::Instance(const tenon_operator& table, std::span<const tenon_attribute> attributes) {
  ErrorBuffer buffer;
  if (table.create(attributes.data(), attributes.size(), &object_, &buffer.error) != 0) throw Failure(FailureKind::usage, buffer.reason());
  table_ = &table;
}

std::string ErrorBuffer::reason() const {
  const auto length = strnlen(text, sizeof text);
  return length == 0 ? "it failed without giving a reason" : std::string(text, length);
}

}  // namespace tenon
