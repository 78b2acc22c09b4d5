// What stands around every call into a plugin: who runs is known, and floating-point modes stay the host's.
#pragma once
#include "device/float_modes.hpp"
#include "io/crash/running.hpp"
#include "plugin/plugin_set.hpp"

namespace tenon {

/// Warns that a function of the operator left these modes (or, where they are those before, that a loop of it left others), and puts back
/// those before. Throws nothing.
void put_back(const FloatModes& before, const FloatModes& left, const LoadedOperator& op, PluginFunction function) noexcept;

/// Around a call into an operator's table. `owner`: of that table, see LoadedOperator.
class PluginCall {
 public:
  PluginCall(const LoadedOperator& op, const CodeOwner* owner, PluginFunction function)
      : op_(op), function_(function), running_(owner, function) {}
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
  const RunningCall running_;
};

}  // namespace tenon
