#include "plugin/plugin_call.hpp"

#include <exception>
#include <tenon/host/operator_info.hpp>

namespace tenon {

void put_back(const FloatModes& before, const FloatModes& left, const LoadedOperator& op,
              PluginFunction function) noexcept {
  before.set();
  if (op.warn == nullptr || !*op.warn) return;
  try {
    (*op.warn)("floating-point modes of " + op.info->name,
               "[" + op.info->name + "] " + name_of(function) +
                   " leaves floating-point modes changed (" +
                   (left == before ? "in a parallel loop" : left.difference_from(before)) +
                   "); they were restored");
  } catch (const std::exception&) {
    // failing to warn must not end the work
  }
}

}  // namespace tenon
