// Files that change while a session, a load, a save or a call uses them: read files keep their
// values, changes of mapped ones are reported.
#include <doctest/doctest.h>

#include <tenon/host/arrays.hpp>
#include <tenon/host/batched_run.hpp>
#include <tenon/host/mapped_files.hpp>
#include <tenon/host/session.hpp>

#include "application_host.hpp"
#include "failure_of.hpp"
#include "file/array/npy.hpp"
#include "io/file_memory.hpp"
#include "probe_operators.hpp"
#include "temporary_folder.hpp"

using tenon::Graph;
using tenon::NamedTensors;
using tenon::Session;
using tenon::Tensor;

namespace {

constexpr std::int64_t count = 20000;  // elements of the weight, several pages
constexpr tenon::LoadOptions mapped = {.map_above = 0};

Tensor numbers(float value) {
  return Tensor::from(std::vector<float>(count, value), {count});
}

/// y = x + weight, whose elements are all equal.
struct Site {
  explicit Site(float weight = 1) { save("net.tenon", weight); }

  void save(const char* name, float weight) {
    Graph graph(host);
    const auto x = graph.input("x", tenon::f32, {count});
    graph.output("y",
                 graph.add("test_add", {x, graph.variable("weight", numbers(weight))}, {}, "sum"));
    graph.save(folder / name);
  }
  /// Like `cp other.tenon net.tenon`.
  void overwrite() {
    save("other.tenon", 5);
    write_bytes(net(), read_bytes(folder / "other.tenon"));
  }
  void cut() { std::filesystem::resize_file(net(), 70000); }
  std::filesystem::path net() const { return folder / "net.tenon"; }
  std::string cut_message() const {
    return net().string() + " was truncated while it was in use: it had " + std::to_string(whole) +
           " bytes and has 70000";
  }

  const TemporaryFolder folder;
  ApplicationHost host;
  std::uintmax_t whole = 0;
};

float first_and_last(const Tensor& tensor) {
  const auto values = tensor.values<float>();
  return values.front() == values.back() ? values.front() : -1;
}

float y(Session& session) {
  return first_and_last(session.run({{"x", numbers(0)}}).at("y"));
}

constexpr const char* written = " was written to while it was in use";

}  // namespace

TEST_CASE("changed file: a small file may change, and sessions keep the loaded values") {
  for (const bool cut : {false, true}) {
    Site site;
    const auto graph = Graph::load(site.host, site.net());
    Session before(graph);
    cut ? site.cut() : site.overwrite();
    Session after(graph);
    CHECK(y(before) == 1);
    CHECK(y(after) == 1);
  }
}

TEST_CASE("changed file: writes to a mapped file are reported by each run and each new session") {
  Site site;
  const auto graph = Graph::load(site.host, site.net(), mapped);
  Session session(graph);
  CHECK(y(session) == 1);
  site.overwrite();
  for (int i = 0; i < 2; ++i) {
    const auto failure = failure_of([&] { y(session); });
    CHECK(failure.kind == static_cast<int>(tenon::FailureKind::file));
    CHECK(failure.message == site.net().string() + written);
  }
  CHECK(failure_of([&] { Session late(graph); }).message == site.net().string() + written);
  Session again(Graph::load(site.host, site.net(), mapped));
  CHECK(y(again) == 5);
}

TEST_CASE("changed file: a mapped file that is replaced by renaming keeps its values") {
  Site site;
  Session session(Graph::load(site.host, site.net(), mapped));
  site.save("other.tenon", 5);
  std::filesystem::rename(site.folder / "other.tenon", site.net());
  CHECK(y(session) == 1);
  site.save("net.tenon", 7);  // also renames
  CHECK(y(session) == 1);
}

TEST_CASE("changed file: truncating a mapped file does not crash the process, and is reported") {
  tenon::guard_mapped_files();
  Site site;
  site.whole = std::filesystem::file_size(site.net());
  auto graph = Graph::load(site.host, site.net(), mapped);
  Session session(graph);
  CHECK(y(session) == 1);
  site.cut();
  CHECK(failure_of([&] { y(session); }).message == site.cut_message());
  CHECK(failure_of([&] { Session late(graph); }).message == site.cut_message());
  CHECK(failure_of([&] { graph.save(site.folder / "copy.tenon"); }).message == site.cut_message());
  CHECK(failure_of([&] { graph.save(site.net()); }).message == site.cut_message());
  CHECK(failure_of([&] { graph.to_bytes(); }).message == site.cut_message());
  CHECK(failure_of([&] { graph.to_json(); }).message == site.cut_message());
  CHECK(site.folder.names() == std::vector<std::string>{"net.tenon"});
  CHECK(std::filesystem::file_size(site.net()) == 70000);
}

TEST_CASE("changed file: a change in the middle of a run is reported at its end") {
  tenon::guard_mapped_files();
  for (const bool cut : {false, true}) {
    Site site;
    site.whole = std::filesystem::file_size(site.net());
    site.host.add<probes::Copy>("waits");
    auto graph = Graph::load(site.host, site.net(), mapped);
    graph.output("late", graph.add("waits", {graph.find("x")}));
    Session session(graph);
    FailureText failure;
    probes::Copy::hold([&] { failure = failure_of([&] { y(session); }); },
                       [&] { cut ? site.cut() : site.overwrite(); });
    CHECK(failure.message == (cut ? site.cut_message() : site.net().string() + written));
  }
}

TEST_CASE("changed file: a kernel's error about changed values names the file") {
  Site site;
  Graph graph(site.host);
  graph.output("y", graph.add("reverse", {graph.variable("weight", numbers(1))}));
  graph.save(site.net());
  Session session(Graph::load(site.host, site.net(), mapped));
  auto bytes = read_bytes(site.net());
  bytes.back() = static_cast<char>(0xbf);  // 1 becomes -1
  write_bytes(site.net(), bytes);
  CHECK(failure_of([&] { session.run({}); }).message == site.net().string() + written);
}

TEST_CASE("changed file: validated indices of sparse tensors in a mapped file cannot change") {
  Site site;
  Graph graph(site.host);
  const std::vector<std::int64_t> columns{0, 2}, starts{0, 1, 2};
  const auto csr = Tensor::csr(Tensor::from({1.0F, 2.0F}, {2}), Tensor::from(columns, {2}),
                               Tensor::from(starts, {3}), {2, 3});
  const std::vector<std::int64_t> ids{4};
  graph.output("a", graph.constant("words", csr));
  graph.output("b", graph.variable("rows", Tensor::row_sparse(Tensor::from({1.0F, 2.0F}, {1, 2}),
                                                              Tensor::from(ids, {1}), {6, 2})));
  graph.save(site.net());
  const auto loaded = Graph::load(site.host, site.net(), mapped);
  const auto words = loaded.tensor("words"), rows = loaded.tensor("rows");
  auto bytes = read_bytes(site.net());
  std::fill(bytes.begin() + 65536, bytes.end(), '\x7f');
  write_bytes(site.net(), bytes);
  CHECK(words.columns().values<std::int64_t>()[1] == 2);
  CHECK(words.row_starts().values<std::int64_t>()[2] == 2);
  CHECK(rows.row_ids().values<std::int64_t>()[0] == 4);
  CHECK(words.stored_values().values<float>()[0] != 1);  // mapped
}

TEST_CASE("changed file: mapped arrays are inputs of runs, batches and calls") {
  tenon::guard_mapped_files();
  Site site;
  const auto path = site.folder / "x.npy";
  Session session(Graph::load(site.host, site.net()));
  Graph each(site.host);
  each.output("y",
              each.add("quadratic", {each.input("x", tenon::f32, {-1})}, {{"a", 0.0}, {"b", 1.0}}));
  Session rows(each);
  struct Case {
    std::function<Tensor(const Tensor&)> use;
    std::string prefix;
  };
  const Case cases[] = {
      {[&](const Tensor& x) {
         return session.run({{"x", x}}).at("y");
       },
       ""},
      {[&](const Tensor& x) {
         return tenon::run_in_batches(rows, {{"x", x}}, 3000).at("y");
       },
       ""},
      {[&](const Tensor& x) {
         return site.host.call("test_add", {x, numbers(0)});
       },
       "[test_add] "},
  };
  for (const auto& test : cases)
    for (const bool cut : {false, true}) {
      tenon::save_array(path, numbers(0));
      const auto x = tenon::read_npy(path, 0);
      CHECK(first_and_last(test.use(x)) >= 0);
      cut ? std::filesystem::resize_file(path, 100) : write_bytes(path, read_bytes(path));
      const auto failure = failure_of([&] { test.use(x); });
      const std::string what =
          cut ? " was truncated while it was in use: it had 80128 bytes and has 100" : written;
      CHECK(failure.message == test.prefix + path.string() + what);
    }
}
