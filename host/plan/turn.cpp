#include "plan/turn.hpp"

#include "plan/call_failure.hpp"

namespace tenon {

std::int32_t StepInTurn::run(void* self, const tenon_call* call) {
  const auto& own = *static_cast<const StepInTurn*>(self);
  return failure_to_call(*call, [&] {
    if (own.begins != nullptr) own.begins->begin();
    if (const auto failed = own.step.function(own.step.instance, call)) return failed;
    if (own.ends != nullptr) own.ends->end();
    return 0;
  });
}

}  // namespace tenon
