#include <doctest/doctest.h>

#include "device/block.hpp"
#include "device/devices.hpp"
#include "failure_of.hpp"
#include "kernels.hpp"

using namespace tenon;

TEST_SUITE_BEGIN("lost device");

TEST_CASE("after a kernel's wild write every call says that the device is lost, and giving back does no harm") {
  Device& gpu = find_device("cuda");
  gpu.make_current();
  const Stream stream(gpu);
  const Block block(stream, 1000, "this test");
  const PinnedBlock pinned(gpu, 1000, "this test");
  const Event event(gpu);
  stream.synchronize();
  launch_wild_write(stream.handle());
  for (int i = 0; i < 2; ++i) {
    const auto failure = failure_of([&] { stream.synchronize(); });
    CHECK(failure.kind == 1);
    CHECK(failure.message.starts_with("waiting for a stream on " + gpu.name() + " failed: cudaErrorIllegalAddress ("));
    CHECK(failure.message.ends_with("; after this error the process cannot use " + gpu.name() + " any more, and what lay there is lost"));
    CHECK(!failure.hint.empty());
  }
  CHECK(failure_of([&] { Block(stream, 1000, "this test"); }).kind == 1);
}

TEST_SUITE_END();
