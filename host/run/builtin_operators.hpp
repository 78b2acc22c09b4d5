// Operators that every host has and that folders after this one define.
#pragma once
#include <vector>

#include "run/host_impl.hpp"

namespace tenon {

/// Static objects of this class add operators to each host that is made.
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
