// Guards around every call into a plugin: they record the running operator and preserve the host's
// floating-point modes.
#pragma once
#include "device/float_modes.hpp"
#include "io/crash/active_call.hpp"
#include "plugin/plugin_set.hpp"

namespace tenon {

/// Restores the modes from before the call, and warns that a function of the operator changed them;
/// if they are unchanged, that a parallel loop in it did. Never throws.
void put_back(const FloatModes& before, const FloatModes& left, const LoadedOperator& op,
              PluginFunction function) noexcept;

/// Wraps a call into an operator's table. `owner` is the owner of that table, see LoadedOperator.
class PluginCall {
 public:
  PluginCall(const LoadedOperator& op, const CodeOwner* owner, PluginFunction function)
      : op_(op), function_(function), scope_(owner, function) {}
  ~PluginCall() {
    if (const auto left = FloatModes::after_call(); left != before_) [[unlikely]]
      put_back(before_, left, op_, function_);
  }
  PluginCall(const PluginCall&) = delete;
  PluginCall& operator=(const PluginCall&) = delete;

 private:
  const LoadedOperator& op_;
  const PluginFunction function_;
  const FloatModes before_ = FloatModes::now();
  const CallScope scope_;
};

}  // namespace tenon
