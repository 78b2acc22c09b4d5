// What an operator's own factory says to parameters, past the host's checks.
#pragma once
#include <optional>
#include <string>
#include <tenon/failure.hpp>
#include <vector>

#include "cli/check/sample.hpp"
#include "graph/model.hpp"
#include "graph/parameters.hpp"

namespace tenon::cli {

/// Parameters that the operator accepts, as they cross the boundary.
class AcceptedAttributes {
 public:
  /// The first of the parameter sets that makes an object; refusal() says why there is none.
  explicit AcceptedAttributes(const LoadedOperator& op) : op_(op) {
    for (const auto& set : parameter_sets(*op.info)) {
      GraphModel model;
      NodeRecord node;
      try {
        add_parameters(model, node, *op.info, set);
      } catch (const Failure& failure) {
        refusal_ = failure.what();
        continue;
      }
      model_ = std::move(model);
      fill_attributes(model_, node, attributes_);
      if (const auto reason = refusal_of(attributes_)) {
        refusal_ = *reason;
        continue;
      }
      found_ = true;
      return;
    }
  }

  bool found() const { return found_; }
  const std::string& refusal() const { return refusal_; }
  const std::vector<tenon_attribute>& all() const { return attributes_; }

  /// Nothing where an object can be made.
  std::optional<std::string> refusal_of(const std::vector<tenon_attribute>& attributes) const {
    try {
      const Instance instance(op_, *op_.table, attributes);
      return std::nullopt;
    } catch (const Failure& failure) {
      return failure.what();
    }
  }

 private:
  const LoadedOperator& op_;
  GraphModel model_;
  std::vector<tenon_attribute> attributes_;
  std::string refusal_;
  bool found_ = false;
};

}  // namespace tenon::cli
