// Eager calls on a GPU, or a simulated one.
#include <doctest/doctest.h>

#include <tenon/host/cast_storage.hpp>
#include <tenon/host/host.hpp>
#include <tenon/host/udf.hpp>

#include "failure_of.hpp"
#include "on_gpu.hpp"
#include "probe_operators.hpp"

namespace {

using tenon::Shape;
using tenon::Tensor;

}  // namespace

TEST_CASE("eager on a GPU: results are on the device of the inputs") {
  auto* host = host_with_gpu<false, probes::Line>();
  if (host == nullptr) return;
  for (const char* device : {"cpu", "cuda:0"}) {
    CAPTURE(device);
    const auto x = Tensor::from({-1.f, 0.f, 2.f}, {3}).to(device);
    const auto y = host->call("quadratic", {x}, {{"a", 1}, {"b", -2.5}, {"c", 0.5}});
    CHECK(y.device() == device);
    CHECK(same_bits(y, Tensor::from({4.f, .5f, -.5f}, {3})));
    CHECK(same_bits(host->call("relu", {host->call("add", {y, y})}),
                    Tensor::from({8.f, 1.f, 0.f}, {3})));
    const auto parts = host->call_all("split", {Tensor::from({1.f, 2.f, 3.f, 4.f}, {4}).to(device)},
                                      {{"sections", 2}, {"axis", 0}});
    REQUIRE(parts.size() == 2);
    CHECK(same_bits(parts[1], Tensor::from({3.f, 4.f}, {2})));
  }
}

TEST_CASE("eager on a GPU: states are updated in place") {
  auto* host = host_with_gpu<false, probes::Line>();
  if (host == nullptr) return;
  const auto on_gpu = [](float value) { return Tensor::from({value}, {1}).to("cuda"); };
  const auto rate = Tensor::from({0.5f}, Shape::scalar()).to("cuda");
  const auto buffer = on_gpu(4);
  const auto updated =
      host->call("momentum", {on_gpu(10), on_gpu(1), rate, buffer}, {{"momentum", 0.5}});
  CHECK(updated.device() == "cuda:0");
  CHECK(same_bits(buffer, Tensor::from({3.f}, {1})));  // 0.5 * 4 + 1
  CHECK(same_bits(updated, Tensor::from({8.5f}, {1})));
}

TEST_CASE("eager on a GPU: inputs that stay in CPU memory do not decide the device") {
  auto* host = host_with_gpu<false, probes::Line>();
  if (host == nullptr) return;
  const auto x = Tensor::from({1.f, 2.f}, {2}).to("cuda");
  const auto sizes = Tensor::from<std::int64_t>({2, 2}, {2});
  const auto y = host->call("broadcast_to", {x, sizes});
  CHECK(y.device() == "cuda:0");
  CHECK(same_bits(y, Tensor::from({1.f, 2.f, 1.f, 2.f}, {2, 2})));
}

TEST_CASE(
    "eager on a GPU: csr stays csr if the operator supports it, and becomes dense otherwise") {
  auto* host = host_with_gpu<false, probes::Line>();
  if (host == nullptr) return;
  const auto dense = Tensor::from({0.f, 2.f, 0.f, -3.f}, {2, 2});
  const auto csr = tenon::cast_storage(dense, tenon::Storage::csr).to("cuda");
  const auto kept = host->call("square", {csr});
  CHECK(kept.device() == "cuda:0");
  CHECK(kept.storage() == tenon::Storage::csr);
  CHECK(same_bits(tenon::cast_storage(kept, tenon::Storage::dense),
                  Tensor::from({0.f, 4.f, 0.f, 9.f}, {2, 2})));
  const auto cosine = host->call("cosine", {csr});
  CHECK(cosine.device() == "cuda:0");
  CHECK(cosine.storage() == tenon::Storage::dense);
  CHECK(cosine.to("cpu").values<float>()[0] == 1);
}

TEST_CASE("eager on a GPU: errors name the tensors' devices and how to copy them") {
  auto* host = host_with_gpu<false, probes::Line>();
  if (host == nullptr) return;
  const auto here = Tensor::from({1.f, 2.f}, {2}), there = here.to("cuda");
  const auto rate = Tensor::from({0.5f}, Shape::scalar()).to("cuda");
  const auto table = Tensor::from({1.f, 2.f, 3.f}, {3, 1}).to("cuda"),
             wrong = Tensor::from<std::int64_t>({0, 7}, {2}).to("cuda");
  const struct {
    const char* op;
    std::vector<Tensor> inputs;
    tenon::Attributes attributes;
    int kind;
    const char *message, *hint;
  } cases[] = {
      {"add",
       {here, there},
       {},
       2,
       "[add] input 'left' is on cpu, but input 'right' is on cuda:0: a call runs on one device",
       "use .to(\"cuda:0\") to move input 'left'"},
      {"add",
       {there, here},
       {},
       2,
       "[add] input 'left' is on cuda:0, but input 'right' is on cpu: a call runs on one device",
       "use .to(\"cuda:0\") to move input 'right'"},
      {"momentum",
       {there, there, rate, here},
       {},
       2,
       "[momentum] input 'weight' is on cuda:0, but state 'momentum' is on cpu: a call runs on one "
       "device",
       "use .to(\"cuda:0\") to move state 'momentum'"},
      {"add",
       {there, there, here},
       {},
       2,
       "[add] input 'left' is on cuda:0, but input 2 is on cpu: a call runs on one device",
       "use .to(\"cuda:0\") to move input 2"},
      {"line",
       {there},
       {},
       3,
       "[line] there is no kernel for cuda in any plugin, but one for cpu",
       "move its inputs with .to(\"cpu\")"},
      {"embedding",
       {wrong, table},
       {{"input_dim", 3}, {"output_dim", 1}},
       1,
       "[embedding] index 7 is out of range: it must be from 0 to 2 (indices int64 [2], weight "
       "float32 [3, 1])",
       ""},
  };
  for (const auto& test : cases) {
    CAPTURE(test.op);
    const auto failure = failure_of([&] { host->call(test.op, test.inputs, test.attributes); });
    CHECK(failure.kind == test.kind);
    CHECK(failure.message == test.message);
    CHECK(failure.hint == test.hint);
  }
  CHECK(same_bits(host->call("line", {here}, {{"factor", 0.5}}), Tensor::from({.5f, 1.f}, {2})));
  CHECK(same_bits(host->call("square", {there}),
                  Tensor::from({1.f, 4.f}, {2})));  // calls after a fault succeed
}
