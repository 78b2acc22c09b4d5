// Optimizers: operators that compute one step for one weight.
#include "graph/operators/optimizer.hpp"

#include <fmt/format.h>

#include <tenon/host/failure.hpp>
#include <tenon/host/host.hpp>
#include <tenon/host/trainer.hpp>

#include "io/counted.hpp"

namespace tenon {

static std::vector<std::string> optimizers(const Catalog& catalog) {
  std::vector<std::string> names;
  for (const auto& op : catalog.operators())
    if (is_optimizer(op.info)) names.push_back(catalog.shortest_name(op));
  return names;
}

std::shared_ptr<const OperatorInfo> find_optimizer(Host& host, const std::string& name) {
  const auto catalog = host.catalog();
  const auto* found = catalog.find(name);
  if (found != nullptr && is_optimizer(found->info)) return found->description;
  const auto known = optimizers(catalog);
  const auto hint = known.empty()
                        ? std::string(
                              "no plugin has an optimizer: add the folder of one that does, or "
                              "name it in TENON_PLUGIN_PATH")
                        : did_you_mean(similar_names(name, known),
                                       fmt::format("optimizers are {}", listed(known)));
  if (const auto why = catalog.why_missing(name); !why.empty())
    throw Failure(FailureKind::plugin, fmt::format("optimizer '{}' cannot be used: {}", name, why),
                  catalog.next_step(name));
  if (found == nullptr)
    throw Failure(FailureKind::plugin,
                  fmt::format("unknown optimizer '{}'{}", name, catalog.not_searched_text()), hint);
  throw Failure(FailureKind::usage,
                fmt::format("'{}' is not an optimizer: an optimizer has the inputs weight, grad "
                            "and learning_rate and the output updated",
                            name),
                hint);
}

}  // namespace tenon
