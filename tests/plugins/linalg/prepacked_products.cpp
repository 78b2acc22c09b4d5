// Products with constant weights, which are packed once, against products whose weights may change.
#include <doctest/doctest.h>

#include <algorithm>
#include <tenon/host/graph.hpp>
#include <tenon/host/host.hpp>
#include <tenon/host/plan_info.hpp>
#include <tenon/host/session.hpp>

#include "../../../plugins/shared/product/multiply.hpp"
#include "built.hpp"
#include "plugin_options.hpp"
#include "plugins/array.hpp"
#include "temporary_folder.hpp"

namespace {

using tenon::Tensor;

tenon::HostOptions host_options(int threads, const TemporaryFolder& cache) {
  auto options = plugin_options(cache);
  options.threads = threads;
  return options;
}

Tensor random_floats(const tenon::Shape& shape, unsigned seed) {
  const auto numbers = random_doubles(shape, seed);
  return Tensor::from(std::vector<float>(numbers.values.begin(), numbers.values.end()), shape);
}

struct CachedProduct {
  const char* op;
  tenon::Shape data, weight;
  tenon::Attributes attributes = {};
  std::int64_t prepacked_bytes =
      0;  ///< rounded up to whole vectors of 16 columns; 0: packing is not worth it
  std::int64_t by_bf16x3 =
      0;  ///< on a processor with AMX: three numbers of 2 bytes, in tiles of 32 x 32, and marks
};

/// Whether products of many rows use the bf16x3 split.
bool multiplies_by_bf16x3() {
#if defined(TENON_WIDE_LEVELS) && !defined(TENON_TEST_PLAIN_PLUGINS)
  return product::this_processor().amx;
#else
  return false;
#endif
}

std::int64_t in_floats(std::int64_t depth, std::int64_t columns) {
  return depth * columns * 4;
}
std::int64_t in_terms_and_marks(std::int64_t depth, std::int64_t columns) {
  return depth * columns * 6 + 64;
}

std::vector<CachedProduct> prepacked_products() {
  const tenon::Attributes layer{{"num_hidden", 170}, {"no_bias", true}};
  return {
      {"matmul", {200, 33}, {33, 70}, {}, in_floats(33, 80)},
      {"matmul", {200, 133}, {133, 170}, {}, in_floats(133, 176), in_terms_and_marks(160, 192)},
      {"matmul", {200, 33}, {70, 33}, {{"transpose_b", true}}, in_floats(33, 80)},
      // 200 rows, since there is a single matrix b
      {"matmul", {20, 10, 133}, {133, 170}, {}, in_floats(133, 176), in_terms_and_marks(160, 192)},
      {"matmul", {5, 3, 9, 33}, {3, 33, 17}, {}, 3 * in_floats(33, 32)},
      {"matmul", {33, 21}, {33, 17}, {{"transpose_a", true}}, in_floats(33, 32)},
      {"matmul", {200, 33}, {33}},
      {"matmul", {33}, {33, 70}, {}, in_floats(33, 80)},
      {"fully_connected",
       {200, 700},
       {170, 700},
       layer,
       in_floats(700, 176),
       in_terms_and_marks(704, 192)},
      {"fully_connected", {1, 700}, {170, 700}, layer, in_floats(700, 176)},
      {"fused_fully_connected",
       {200, 700},
       {170, 700},
       {{"num_hidden", 170}, {"no_bias", true}, {"activation", "gelu"}},
       in_floats(700, 176),
       in_terms_and_marks(704, 192)}};
}

}  // namespace

TEST_CASE(
    "products have the same bits with packed constant weights and with variable weights, on any "
    "number of threads") {
  TemporaryFolder cache;
  for (const int threads : {1, 2, 3}) {
    tenon::Host host(host_options(threads, cache));
    host.add_plugins(built("plugins"));
    unsigned seed = 1;
    for (const auto& row : prepacked_products()) {
      CAPTURE(std::string(row.op));
      CAPTURE(tenon::to_string(row.data));
      CAPTURE(threads);
      const auto data = random_floats(row.data, ++seed);
      tenon::Graph graph(host);
      graph.output("y", graph.add(row.op,
                                  {graph.input("x", tenon::f32, row.data),
                                   graph.constant("w", random_floats(row.weight, 99))},
                                  row.attributes));
      tenon::Session session(graph);
      CHECK(session.plan({{"x", row.data}}).packed_bytes() ==
            (row.by_bf16x3 > 0 && multiplies_by_bf16x3() ? row.by_bf16x3 : row.prepacked_bytes));
      const auto expected =
          host.call(row.op, {data, random_floats(row.weight, 99)}, row.attributes);
      CHECK(same_bits(session.run({{"x", data}}).at("y"), expected));
    }
  }
}

TEST_CASE(
    "a row of a product has the same bits for any small number of rows, and for any large one") {
  TemporaryFolder cache;
  tenon::Host host(host_options(2, cache));
  host.add_plugins(built("plugins"));
  const auto data = random_doubles({150, 130}, 1);
  const auto call = [&](std::int64_t first, std::int64_t rows) {
    const auto begin = data.values.begin() + first * 130;
    return host.call("fully_connected",
                     {Tensor::from(std::vector<float>(begin, begin + rows * 130), {rows, 130}),
                      random_floats({175, 130}, 2)},
                     {{"num_hidden", 175}, {"no_bias", true}});
  };
  const auto same_rows = [&](std::int64_t first, std::int64_t rows, std::int64_t others_first,
                             std::int64_t others) {
    const auto some = call(first, rows), more = call(others_first, others);
    const auto values = some.values<float>();
    return std::equal(values.begin(), values.end(),
                      more.values<float>().begin() + (first - others_first) * 175);
  };
  CHECK(same_rows(77, 1, 60, 31));
  CHECK(same_rows(60, 1, 60, 2));
  for (const std::int64_t first : {0, 7, 110}) CHECK(same_rows(first, 32, 0, 150));
  if (!multiplies_by_bf16x3()) CHECK(same_rows(77, 1, 0, 150));
}
