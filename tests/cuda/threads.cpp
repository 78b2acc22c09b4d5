// What threads of kernels find on a GPU: the places of their points.
#include <doctest/doctest.h>

#include <vector>

#include "device/block.hpp"
#include "device/devices.hpp"
#include "device/stream.hpp"
#include "kernels.hpp"

using namespace tenon;

TEST_SUITE_BEGIN("gpu");

TEST_CASE("threads find the places of their points, counted in int32_t and in int64_t") {
  constexpr std::uint32_t outer = 700, inner = 643;
  Device& gpu = find_device("cuda");
  gpu.make_current();
  const Stream stream(gpu);
  const Block block(stream, outer * inner * sizeof(std::uint32_t), "this test");
  for (const bool wide : {false, true}) {
    CAPTURE(wide);
    launch_places(reinterpret_cast<std::uint32_t*>(block.data()), outer, inner, wide, stream.handle());
    std::vector<std::uint32_t> found(outer * inner);
    copy({cpu_device(), reinterpret_cast<std::byte*>(found.data())}, block.place(), found.size() * sizeof found[0], stream);
    stream.synchronize();
    std::uint32_t wrong = 0;
    for (std::uint32_t i = 0; i < found.size(); ++i) wrong += found[i] != i / inner * 1000 + i % inner;
    CHECK(wrong == 0);
  }
}

TEST_SUITE_END();
