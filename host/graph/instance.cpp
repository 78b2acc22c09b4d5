#include "graph/instance.hpp"

#include <cstring>
#include <tenon/failure.hpp>

#include "plugin/float_guard.hpp"

namespace tenon {

Instance::Instance(const LoadedOperator& op, const tenon_operator& table, std::span<const tenon_attribute> attributes) : op_(&op) {
  ErrorBuffer buffer;
  const FloatGuard guard(op, "create()");
  if (table.create(attributes.data(), attributes.size(), &object_, &buffer.error) != 0) throw Failure(FailureKind::usage, buffer.reason());
  table_ = &table;
}

// Its host, which knows the operator's name, may be gone by now.
void Instance::reset() noexcept {
  if (table_ == nullptr) return;
  const auto modes = FloatModes::now();
  if (table_->destroy != nullptr) table_->destroy(object_);
  if (FloatModes::now() != modes) modes.set();
  table_ = nullptr;
}

std::string ErrorBuffer::reason() const {
  const auto length = strnlen(text, sizeof text);
  return length == 0 ? "it failed without giving a reason" : std::string(text, length);
}

}  // namespace tenon
