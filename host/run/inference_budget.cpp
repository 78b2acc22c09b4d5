#include "run/inference_budget.hpp"

#include <fmt/format.h>

#include <tenon/host/failure.hpp>

namespace tenon {
namespace {

struct Count {
  std::size_t budgets = 0, limit = 0, charged = 0;
};
thread_local Count count;

}  // namespace

InferenceBudget::InferenceBudget(std::size_t limit) {
  if (count.budgets++ == 0) count.limit = limit, count.charged = 0;
}

InferenceBudget::~InferenceBudget() {
  --count.budgets;
}

void InferenceBudget::charge(std::size_t bodies) {
  count.charged += bodies;
  if (count.budgets > 0 && count.charged > count.limit)
    throw Failure(FailureKind::usage,
                  fmt::format("type inference of its loops did not finish within {} inferences of "
                              "their bodies, the limit",
                              count.limit),
                  "declare unknown dimensions in the shapes of values that loops carry");
}

}  // namespace tenon
