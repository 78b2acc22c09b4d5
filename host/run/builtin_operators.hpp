// Registers operators that other folders add to every host.
#pragma once
#include <vector>

#include "run/host_impl.hpp"

namespace tenon {

/// Static objects of this class add operators to each host that is created.
class BuiltinOperators {
 public:
  using Add = void (*)(Host::Impl&);
  explicit BuiltinOperators(Add add) { all().push_back(add); }
  static void add_to(Host::Impl& host) {
    for (const auto add : all()) add(host);
  }

 private:
  static std::vector<Add>& all();
};

}  // namespace tenon
