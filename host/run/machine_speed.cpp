#include <algorithm>
#include <chrono>
#include <cstring>
#include <tenon/host/profile.hpp>

#include "run/host_impl.hpp"
#include "run/impl_access.hpp"

namespace tenon {
namespace {

using Seconds = std::chrono::duration<double>;

/// The shortest time of several runs, after a warm-up run.
template <class Body>
double min_seconds(int runs, Body&& body) {
  double least = 0;
  for (int i = 0; i <= runs; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    body();
    const double took = Seconds(std::chrono::steady_clock::now() - begin).count();
    if (i > 0) least = i == 1 ? took : std::min(least, took);
  }
  return least;
}

double copy_speed(const Threads& threads) {
  constexpr std::int64_t bytes = std::int64_t{64} << 20, grain = std::int64_t{1} << 20;
  struct Copy {
    Tensor from = Tensor::zeros(DType::u8, {bytes}), to = Tensor::zeros(DType::u8, {bytes});
  } copy;
  const auto body = [](void* context, std::int64_t begin, std::int64_t end) {
    const auto& [from, to] = *static_cast<const Copy*>(context);
    std::memcpy(static_cast<std::byte*>(to.data()) + begin,
                static_cast<const std::byte*>(from.data()) + begin,
                static_cast<std::size_t>(end - begin));
  };
  return 2 * static_cast<double>(bytes) /
         min_seconds(5, [&] { threads.parallel_for(bytes, grain, body, &copy); });
}

double product_speed(Host& host) {
  constexpr std::int64_t size = 768;
  const auto catalog = host.catalog();
  if (catalog.find("tenon.matmul") == nullptr) return 0;
  const auto left = Tensor::zeros(DType::f32, {size, size}),
             right = Tensor::zeros(DType::f32, {size, size});
  return 2.0 * size * size * size / min_seconds(10, [&] {
           host.call("tenon.matmul", {left, right});
         });
}

}  // namespace

MachineSpeed measure_machine(Host& host) {
  const auto& threads = impl_of(host).threads;
  return {threads.count(), copy_speed(threads), product_speed(host)};
}

}  // namespace tenon
