#include "graph/instance.hpp"

#include <exception>
#include <tenon/detail/host_error.hpp>
#include <tenon/host/failure.hpp>

#include "graph/conditions.hpp"
#include "io/utf8.hpp"
#include "isolate/isolated_plugin.hpp"
#include "plugin/plugin_call.hpp"

namespace tenon {

static void* create_by_factory(const OperatorFactory& make,
                               std::span<const tenon_attribute> attributes) {
  void* object = nullptr;
  try {
    object = make(attributes.data(), attributes.size());
  } catch (const std::exception& error) {
    throw Failure(FailureKind::usage, printable(text_of(error)));
  } catch (...) {
    throw Failure(FailureKind::usage, "its factory failed without giving a reason");
  }
  if (object == nullptr) throw Failure(FailureKind::usage, "its factory returned no object");
  return object;
}

// Returns the table of a plugin that runs in a worker process; null for other tables.
static std::shared_ptr<const IsolatedTable> isolated_table(const LoadedOperator& op,
                                                           const tenon_operator& table) {
  for (const auto& isolated : op.isolated)
    if (&isolated->functions() == &table) return isolated;
  return nullptr;
}

static void* create_in_worker(std::shared_ptr<const IsolatedTable> table,
                              std::span<const tenon_attribute> attributes) {
  try {
    return create_isolated(std::move(table), attributes);
  } catch (const Failure&) {
    throw;
  } catch (const Error& error) {
    throw Failure(FailureKind::usage, error.what());
  }
}

Instance::Instance(const LoadedOperator& op, const tenon_operator& table,
                   std::span<const tenon_attribute> attributes, const OperatorFactory* make)
    : op_(&op), owner_(op.owner_of(table)), info_(with_parameters(op.info, attributes)) {
  ErrorBuffer buffer;
  const PluginCall call(op, owner_, PluginFunction::create);
  if (make == nullptr) make = op.make;
  if (make != nullptr && &table == op.table)
    object_ = create_by_factory(*make, attributes);
  else if (auto isolated = isolated_table(op, table))
    object_ = create_in_worker(std::move(isolated), attributes);
  else if (table.create(attributes.data(), attributes.size(), &object_, &buffer.error) != 0)
    throw Failure(FailureKind::usage, buffer.reason());
  table_ = &table;
}

// The host that owns op_ may have been destroyed already; use only table_ and owner_.
void Instance::reset() noexcept {
  if (table_ == nullptr) return;
  const auto modes = FloatModes::now();
  const CallScope call(owner_, PluginFunction::destroy);
  if (table_->destroy != nullptr) table_->destroy(object_);
  if (FloatModes::after_call() != modes) modes.set();
  table_ = nullptr;
}

}  // namespace tenon
