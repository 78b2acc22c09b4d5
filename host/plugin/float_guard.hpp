// Keeps what a plugin does to the floating-point unit from everybody else.
#pragma once
#include "device/float_modes.hpp"
#include "plugin/plugin_set.hpp"

namespace tenon {

/// Warns that a function of the operator left the modes as they are now (or, where they are the same, that a loop of it did), and puts
/// back those before. Throws nothing.
void put_back(const FloatModes& before, const LoadedOperator& op, const char* function) noexcept;

/// Around a call into an operator's table.
class FloatGuard {
 public:
  FloatGuard(const LoadedOperator& op, const char* function) : op_(op), function_(function) {}
  ~FloatGuard() {
    if (FloatModes::now() != before_) [[unlikely]]
      put_back(before_, op_, function_);
  }
  FloatGuard(const FloatGuard&) = delete;
  FloatGuard& operator=(const FloatGuard&) = delete;

 private:
  const LoadedOperator& op_;
  const char* function_;
  FloatModes before_ = FloatModes::now();
};

}  // namespace tenon
