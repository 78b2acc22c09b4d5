// The plugin comm's tree all_reduce compared with the MPI library's MPI_Allreduce, alternating in
// the same processes:
//     mpirun -n 2 bench_all_reduce [PLUGINS]
// Rank 0 prints the median and the best of both, in microseconds.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <tenon/host/host.hpp>
#include <tenon/host/launcher.hpp>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

struct Way {
  tenon::PreparedCall call;
  std::vector<double> times{};

  void run(const tenon::Tensor& data) {
    auto out = data;
    const auto begin = Clock::now();
    call.forward(std::span(&data, 1), std::span(&out, 1));
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  double median() {
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2),
                     times.end());
    return times[times.size() / 2];
  }
  double best() const { return *std::min_element(times.begin(), times.end()); }
};

}  // namespace

int main(int argc, char** argv) {
  tenon::HostOptions options;
  options.threads = 1;
  options.trust_writable = true;
  tenon::Host host(options);
  if (argc > 1) host.add_plugins(argv[1]);
  const auto started = tenon::launcher();
  if (started.rank == 0)
    fmt::print("{} ranks\n{:>10}  {:>20}  {:>20}  {:>13}\n", started.size, "bytes",
               "tree median, best", "MPI median, best", "ratio, best");
  for (const std::int64_t bytes : {256, 4096, 65536, 400000, 2700000, 16000000, 64000000}) {
    const auto data = tenon::Tensor::zeros(tenon::f32, {bytes / 4});
    const std::vector inputs{tenon::Argument::like(data)};
    Way tree{host.prepare("tenon.all_reduce", inputs, {{"order", "tree"}})};
    Way library{host.prepare("tenon.all_reduce", inputs, {{"order", "library"}})};
    const auto turns = std::clamp<std::int64_t>(200'000'000 / bytes, 15, 2000);
    for (std::int64_t turn = -3; turn < turns; ++turn) {
      tree.run(data);
      library.run(data);
      if (turn < 0) tree.times.clear(), library.times.clear();
    }
    const double a = tree.median(), b = library.median();
    if (started.rank == 0)
      fmt::print("{:>10}  {:>10.1f} {:>9.1f}  {:>10.1f} {:>9.1f}  {:>6.2f} {:>6.2f}\n", bytes, a,
                 tree.best(), b, library.best(), a / b, tree.best() / library.best());
  }
}
