// Graphs that the reader accepts are bound and run: kernels must stay within their tensors for any
// file. Run under sanitizers and with guard pages around the tensors. The fuzz program graph_run
// runs the same for longer.
#include <doctest/doctest.h>

#include "fuzz/forged_graphs.hpp"
#include "plugins/strict_host.hpp"

TEST_CASE("forged files are refused or run") {
  constexpr int rounds = 800;
  StrictHost host(1);
  for (const auto& sample : forged::samples) {
    const std::string name = sample.name;
    CAPTURE(name);
    const auto sound = FileSections::of(model_of(sample.make(host)));
    REQUIRE(forged::run(host, sound.bytes(), sample.training) == forged::Outcome::ran);
    forged::Forger forger(1);
    std::map<forged::Outcome, int> tally;
    for (int round = 0; round < rounds; ++round)
      ++tally[forged::run(host, forger.changed(sound).bytes(), sample.training)];
    MESSAGE(name << ": ran " << tally[forged::Outcome::ran] << ", refused "
                 << tally[forged::Outcome::refused] << ", too large "
                 << tally[forged::Outcome::too_large]);
    CHECK(tally[forged::Outcome::ran] > rounds / 50);
    CHECK(tally[forged::Outcome::refused] > rounds / 4);
  }
}
