#include "plan/turn.hpp"

#include "plan/call_failure.hpp"

namespace tenon {

std::int32_t StepInTurn::run(void* self, const tenon_call* call) {
  const auto& [step, begins, ends] = *static_cast<StepInTurn*>(self);
  return failure_to_call(*call, [&] {
    if (begins != nullptr) begins->begin();
    if (const auto failed = step.function(step.instance, call)) return failed;
    if (ends != nullptr) ends->end();
    return 0;
  });
}

}  // namespace tenon
