// Owns an object that a plugin's factory created.
#pragma once
#include <tenon/abi.h>

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "plugin/plugin_set.hpp"
#include "tensor/error_buffer.hpp"

namespace tenon {

/// Thread rules: see the table's functions in abi.h. Plugins are never unloaded, so the table
/// outlives every object.
class Instance {
 public:
  Instance() = default;
  /// Creates an object of one of the operator's tables, its own or a kernel's. `make`, if not null,
  /// creates objects of the operator's own table. Throws Failure (usage) with the plugin's reason.
  Instance(const LoadedOperator& op, const tenon_operator& table,
           std::span<const tenon_attribute> attributes, const OperatorFactory* make = nullptr);
  ~Instance() { reset(); }
  Instance(Instance&& other) noexcept
      : op_(other.op_),
        owner_(other.owner_),
        info_(std::move(other.info_)),
        table_(std::exchange(other.table_, nullptr)),
        object_(std::exchange(other.object_, nullptr)) {}
  Instance& operator=(Instance&& other) noexcept {
    std::swap(op_, other.op_);
    std::swap(owner_, other.owner_);
    std::swap(info_, other.info_);
    std::swap(table_, other.table_);
    std::swap(object_, other.object_);
    return *this;
  }

  void* get() const { return object_; }
  const tenon_operator* table() const { return table_; }
  const LoadedOperator& op() const { return *op_; }
  /// The operator's description, resolved for these parameters.
  const std::shared_ptr<const OperatorInfo>& info() const { return info_; }
  const CodeOwner* owner() const { return owner_; }

 private:
  void reset() noexcept;
  const LoadedOperator* op_ = nullptr;
  const CodeOwner* owner_ = nullptr;  // of table_
  std::shared_ptr<const OperatorInfo> info_;
  const tenon_operator* table_ = nullptr;
  void* object_ = nullptr;
};

}  // namespace tenon
