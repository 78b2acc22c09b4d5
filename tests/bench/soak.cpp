// bench_soak [SECONDS [THREADS]]: threads that share one host and eight graphs run sessions with
// changing shapes, call operators, take gradients, save and load, while another thread adds
// plugins. Every result is compared with a single-threaded one. Exits with 1 if one differs, or if
// memory or descriptors at the end exceed those after a fifth of the time.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <random>
#include <tenon/tenon.hpp>
#include <thread>

#include "../temporary_folder.hpp"

namespace {

namespace fs = std::filesystem;
using tenon::NamedTensors;
using tenon::Tensor;

constexpr int graphs = 8;
constexpr std::int64_t max_rows = 24, columns = 16;

tenon::Graph make_graph(tenon::Host& host, int number) {
  tenon::Graph graph(host);
  const auto x = graph.input("x", tenon::f32, {-1, columns});
  auto y = x;
  for (int layer = 0; layer <= number % 4; ++layer) {
    y = graph.add("fully_connected", {y}, {{"num_hidden", columns - layer}});
    y = graph.add(number % 2 == 0 ? "tanh" : "relu", {y});
  }
  if (number >= 4)
    graph.output("gradient", graph.gradient(graph.add("sum", {graph.add("square", {y})}), {x})[0]);
  graph.output("y", y);
  graph.initialize(static_cast<std::uint64_t>(number));
  return graph;
}

Tensor input_of(std::int64_t rows) {
  return tenon::random_normal(tenon::f32, {rows, columns}, static_cast<std::uint64_t>(rows));
}

bool same(const NamedTensors& left, const NamedTensors& right) {
  for (const auto& [name, tensor] : right)
    if (!left.contains(name) || !same_bits(left.at(name), tensor)) return false;
  return left.size() == right.size();
}

struct State {
  tenon::Host host{[] {
    tenon::HostOptions options;
    options.threads = 2;
    options.trust_writable = true;
    options.search_defaults = false;
    options.warn = [](const std::string&) {};
    return options;
  }()};
  std::vector<tenon::Graph> shared;
  std::vector<std::vector<NamedTensors>> expected;  // for each graph and each number of rows
  std::atomic<bool> over = false;
  std::atomic<std::uint64_t> done = 0, wrong = 0, added = 0;
  std::mutex printing;

  State() {
    host.add_plugins(TENON_TEST_PLUGINS);
    for (int number = 0; number < graphs; ++number) {
      shared.push_back(make_graph(host, number));
      shared.back().bind();
      tenon::Session session(shared.back());
      auto& results = expected.emplace_back();
      for (std::int64_t rows = 0; rows <= max_rows; ++rows)
        results.push_back(session.run({{"x", input_of(rows)}}));
    }
  }

  void fail(const std::string& what) {
    const std::lock_guard lock(printing);
    if (wrong++ < 5) std::fprintf(stderr, "wrong: %s\n", what.c_str());
  }
};

// A graph must be used by one thread at a time, but its sessions and clones need not: each thread
// has its own.
void work(State& state, unsigned seed, std::vector<tenon::Graph> own, const fs::path& folder) {
  std::mt19937 random(seed);
  std::vector<std::unique_ptr<tenon::Session>> sessions(graphs);
  while (!state.over) {
    const auto number = random() % graphs;
    const auto rows = static_cast<std::int64_t>(random() % (max_rows + 1));
    try {
      auto& session = sessions[number];
      if (!session || random() % 64 == 0) {
        tenon::SessionOptions options;
        options.plans = 4;
        session = std::make_unique<tenon::Session>(own[number], options);
      }
      if (!same(session->run({{"x", input_of(rows)}}),
                state.expected[number][static_cast<std::size_t>(rows)]))
        state.fail("graph " + std::to_string(number) + " with " + std::to_string(rows) + " rows");
      if (random() % 16 == 0) {
        const auto x = tenon::full(tenon::f32, {rows}, 3);
        if (!same_bits(state.host.call("square", {x}), tenon::full(tenon::f32, {rows}, 9)))
          state.fail("an eager call");
      }
      if (random() % 256 == 0) {
        const auto path = folder / ("graph_" + std::to_string(seed) + ".tenon");
        own[number].save(path);
        own[number] = tenon::Graph::load(state.host, path);
        own[number].bind();
      }
    } catch (const std::exception& failure) {
      state.fail(failure.what());
    }
    ++state.done;
  }
}

// Adds the examples repeatedly, under new file names.
void add_plugins(State& state, const fs::path& folder) {
  const fs::path example = fs::path(TENON_TEST_EXAMPLES) / "quadratic.so";
  while (!state.over) {
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
    try {
      const auto copy = folder / ("again_" + std::to_string(state.added % 8) + ".so");
      const auto next = folder / "next";
      fs::copy_file(example, next, fs::copy_options::overwrite_existing);
      fs::rename(next, copy);
      state.host.add_plugins(copy);
      const auto y = state.host.call("quadratic", {tenon::full(tenon::f32, {2}, 2)},
                                     {{"a", 1.0}, {"b", 0.0}, {"c", 1.0}});
      if (!same_bits(y, tenon::full(tenon::f32, {2}, 5))) state.fail("the plugin that was added");
    } catch (const std::exception& failure) {
      state.fail(failure.what());
    }
    ++state.added;
  }
}

struct Use {
  std::int64_t resident_kib = 0, descriptors = 0;

  static Use now() {
    Use use;
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word; status.ignore(1 << 16, '\n'))
      if (word == "VmRSS:") status >> use.resident_kib;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator("/proc/self/fd"))
      ++use.descriptors;
    return use;
  }
  void print(const char* when, const State& state) const {
    std::printf("%s: %llu runs, %llu plugins added, %lld MiB, %lld descriptors\n", when,
                static_cast<unsigned long long>(state.done.load()),
                static_cast<unsigned long long>(state.added.load()),
                static_cast<long long>(resident_kib >> 10), static_cast<long long>(descriptors));
    std::fflush(stdout);
  }
};

}  // namespace

int main(int argc, char** argv) {
  const int seconds = argc > 1 ? std::atoi(argv[1]) : 600,
            threads = argc > 2 ? std::atoi(argv[2]) : 64;
  const TemporaryFolder folder;
  State state;
  std::vector<std::thread> workers;
  for (int i = 0; i < threads; ++i) {
    std::vector<tenon::Graph> own;
    for (const auto& graph : state.shared) own.push_back(graph.clone());
    workers.emplace_back(work, std::ref(state), static_cast<unsigned>(i + 1), std::move(own),
                         folder.path());
  }
  workers.emplace_back(add_plugins, std::ref(state), folder.path());
  const auto sleep = [&](double part) {
    std::this_thread::sleep_for(std::chrono::duration<double>(part * seconds));
  };
  sleep(0.2);
  const auto early = Use::now();
  early.print("after a fifth", state);
  sleep(0.8);
  const auto late = Use::now();
  late.print("at the end", state);
  state.over = true;
  for (auto& worker : workers) worker.join();
  const bool grew = late.resident_kib > early.resident_kib * 11 / 10 + (16 << 10) ||
                    late.descriptors > early.descriptors + 16;
  std::printf("%llu wrong results, memory and descriptors %s\n",
              static_cast<unsigned long long>(state.wrong.load()), grew ? "GREW" : "as before");
  return state.wrong > 0 || grew ? 1 : 0;
}
