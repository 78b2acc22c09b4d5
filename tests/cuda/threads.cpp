// Threads of GPU kernels: the positions of their points, and reductions over a block.
#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "device/block.hpp"
#include "device/devices.hpp"
#include "device/stream.hpp"
#include "kernels.hpp"

using namespace tenon;

namespace {

/// The reduction tree that Block::reduce() promises.
template <int bytes>
Mixed<bytes> mixed_by_tree(int threads, unsigned seed) {
  std::vector<Mixed<bytes>> values;
  for (int thread = 0; thread < threads; ++thread)
    values.emplace_back(seed + static_cast<unsigned>(thread));
  for (auto half = values.size() / 2; half > 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i) values[i] = Mix()(values[i], values[i + half]);
  return values[0];
}

template <int bytes>
void check_mix(const Stream& stream) {
  CAPTURE(bytes);
  constexpr int threads = 256;
  const Block block(stream, threads * bytes, "this test");
  launch_mix(reinterpret_cast<Mixed<bytes>*>(block.data()), stream.handle());
  std::vector<Mixed<bytes>> found(threads, Mixed<bytes>(0));
  copy({cpu_device(), reinterpret_cast<std::byte*>(found.data())}, block.address(), threads * bytes,
       stream);
  stream.synchronize();
  const auto expected = Mix()(mixed_by_tree<bytes>(threads, 7), mixed_by_tree<bytes>(threads, 0));
  int wrong = 0;
  for (const auto& result : found) wrong += std::memcmp(&result, &expected, bytes) != 0;
  CHECK(wrong == 0);
}

}  // namespace

TEST_SUITE_BEGIN("gpu");

TEST_CASE("threads get the positions of their points, with int32_t and int64_t indices") {
  constexpr std::uint32_t outer = 700, inner = 643;
  Device& gpu = find_device("cuda");
  gpu.make_current();
  const Stream stream(gpu);
  const Block block(stream, outer * inner * sizeof(std::uint32_t), "this test");
  for (const bool wide : {false, true}) {
    CAPTURE(wide);
    launch_offsets(reinterpret_cast<std::uint32_t*>(block.data()), outer, inner, wide,
                   stream.handle());
    std::vector<std::uint32_t> found(outer * inner);
    copy({cpu_device(), reinterpret_cast<std::byte*>(found.data())}, block.address(),
         found.size() * sizeof found[0], stream);
    stream.synchronize();
    std::uint32_t wrong = 0;
    for (std::uint32_t i = 0; i < found.size(); ++i)
      wrong += found[i] != i / inner * 1000 + i % inner;
    CHECK(wrong == 0);
  }
}

TEST_CASE("a block reduces all threads' values by the same tree, whatever their size") {
  Device& gpu = find_device("cuda");
  gpu.make_current();
  const Stream stream(gpu);
  check_mix<1>(stream);
  check_mix<2>(stream);
  check_mix<4>(stream);
  check_mix<7>(stream);
  check_mix<8>(stream);
  check_mix<16>(stream);
}

TEST_SUITE_END();
