#include "run/inference_budget.hpp"

#include <fmt/format.h>

#include <tenon/host/failure.hpp>

namespace tenon {
namespace {

struct Count {
  std::size_t budgets = 0, most = 0, charged = 0;
};
thread_local Count count;

}  // namespace

InferenceBudget::InferenceBudget(std::size_t most) {
  if (count.budgets++ == 0) count.most = most, count.charged = 0;
}

InferenceBudget::~InferenceBudget() {
  --count.budgets;
}

void InferenceBudget::charge(std::size_t bodies) {
  count.charged += bodies;
  if (count.budgets > 0 && count.charged > count.most)
    throw Failure(FailureKind::usage,
                  fmt::format("type inference of its loops did not finish within {} inferences of "
                              "their bodies, the limit",
                              count.most),
                  "declare unknown dimensions in the shapes of values that loops carry");
}

}  // namespace tenon
