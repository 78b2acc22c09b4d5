#include "ownership.hpp"

#include "gpu_graph.hpp"

TEST_SUITE_BEGIN("gpu");

TEST_CASE("ownership on a GPU") {
  const auto make_host = [] {
    tenon::HostOptions options;
    options.threads = 1;
    options.search_defaults = false;
    options.trust_writable = true;
    auto host = std::make_unique<tenon::Host>(options);
    host->add_plugins(built("tests/gpu_operators"));
    return host;
  };
  OwnershipCases{make_host, "cuda", "tally", "plus"}.all();
}

TEST_SUITE_END();
