// Plans of published networks: their minimum memory, computed by hand, and how close the plans come
// to it.
#include <doctest/doctest.h>

#include "../../bench/networks.hpp"
#include "../../plan/plan_of.hpp"
#include "built.hpp"
#include "plugin_options.hpp"
#include "temporary_folder.hpp"

TEST_CASE(
    "memory of published networks: the largest live set matches the papers' shapes, and the plan "
    "needs no more") {
  const TemporaryFolder cache;
  tenon::Host host(plugin_options(cache));
  host.add_plugins(built("plugins"));
  const std::map<std::string, std::int64_t> floats = {
      {"MobileNet v1", 112 * 112 * (32 + 64)},  // at the first filters of size 1
      {"MobileNet v2",
       112 * 112 * 96 + 56 * 56 * 96},  // at the first filters of stride 2 on 96 channels
      {"ResNet-50",
       56 * 56 * (256 + 64 + 256)},  // the first projection is live while 64 become 256 channels
      {"Inception v3", 147 * 147 * (32 + 64)},        // at the third layer
      {"DeepLab v3", 33 * 33 * (5 * 256 + 5 * 256)},  // five branches and their concatenation
  };
  double sum = 0, worst = 0;
  for (const auto& network : published_networks) {
    CAPTURE(network.name);
    const auto net = network.make(host);
    const auto forward = plan_of(net.graph).arenas[0].placement,
               backward = plan_of(net.with_gradients(), true).arenas[0].placement;
    CHECK(forward.lower_bound == 4 * floats.at(network.name));
    CHECK(forward.bytes == forward.lower_bound);
    CHECK(backward.lower_bound > 5 * forward.lower_bound);  // values that backward reads stay live
    sum += backward.ratio();
    worst = std::max(worst, backward.ratio());
  }
  CHECK(sum / 5 <= 1.02);
  CHECK(worst <= 1.10);
}
