#include "graph/initialize.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <tenon/host/cast_storage.hpp>

#include "application_host.hpp"
#include "graph/builder.hpp"

using tenon::DType;
using tenon::Init;

namespace {

struct Moments {
  double mean = 0, deviation = 0, least = 0, most = 0;
};

Moments moments_of(const tenon::Tensor& tensor) {
  Moments m;
  double squares = 0;
  for (const double x : tensor.values<float>()) {
    m.mean += x;
    squares += x * x;
    m.least = std::min(m.least, x);
    m.most = std::max(m.most, x);
  }
  const auto n = static_cast<double>(tensor.size());
  m.mean /= n;
  m.deviation = std::sqrt(squares / n - m.mean * m.mean);
  return m;
}

tenon::Tensor drawn(const std::string& name, const tenon::Shape& shape, const Init& init,
                    std::uint64_t seed) {
  tenon::GraphModel model;
  auto& value = model.values.emplace_back();
  value.name = model.strings.intern(name);
  value.role = tenon::Role::variable;
  value.type = tenon::type_of(DType::f32, shape);
  value.init = init;
  tenon::initialize(model, seed);
  return model.tensors.at(0);
}

}  // namespace

TEST_CASE("initialize: each initializer has the moments given by its source") {
  const double xavier = std::sqrt(6.0 / (300 + 200)), he = std::sqrt(2.0 / 300),
               window = std::sqrt(6.0 / (4 * 9 + 8 * 9));
  struct Case {
    const char* what;
    Init init;
    tenon::Shape shape;
    double mean, deviation, least, most;  // deviation of a uniform distribution: width / sqrt(12)
  };
  const Case cases[] = {
      {"automatic matrix", {}, {200, 300}, 0, xavier / std::sqrt(3.0), -xavier, xavier},
      {"automatic vector", {}, {500}, 0, 0, 0, 0},
      {"xavier", {Init::Kind::xavier}, {200, 300}, 0, xavier / std::sqrt(3.0), -xavier, xavier},
      {"xavier of a convolution",
       {Init::Kind::xavier},
       {8, 4, 3, 3},
       0,
       window / std::sqrt(3.0),
       -window,
       window},
      {"he", {Init::Kind::he}, {200, 300}, 0, he, -6 * he, 6 * he},
      {"uniform", {Init::Kind::uniform, 2, 5}, {200, 300}, 3.5, 3 / std::sqrt(12.0), 0, 5},
      {"normal", {Init::Kind::normal, -1, 0.5}, {200, 300}, -1, 0.5, -4, 2},
      {"ones", {Init::Kind::ones}, {10}, 1, 0, 0, 1},
      {"value", {Init::Kind::value, 0.25}, {10}, 0.25, 0, 0, 0.25},
  };
  for (const auto& c : cases) {
    CAPTURE(c.what);
    const auto tensor = drawn("w", c.shape, c.init, 3);
    const auto m = moments_of(tensor);
    const double error = 5 * c.deviation / std::sqrt(static_cast<double>(tensor.size())) + 1e-6;
    CHECK(std::abs(m.mean - c.mean) <= error);
    CHECK(std::abs(m.deviation - c.deviation) <= error + 0.02 * c.deviation);
    CHECK(m.least >= c.least - 1e-6);
    CHECK(m.most <= c.most + 1e-6);
  }
}

TEST_CASE("initialize: values depend only on the seed and the name") {
  const Init init{Init::Kind::normal, 0, 1};
  CHECK(same_bits(drawn("a", {7}, init, 1), drawn("a", {7}, init, 1)));
  CHECK_FALSE(same_bits(drawn("a", {7}, init, 1), drawn("a", {7}, init, 2)));
  CHECK_FALSE(same_bits(drawn("a", {7}, init, 1), drawn("b", {7}, init, 1)));
}

TEST_CASE("initialize: a sparse variable has the values of a dense one, in its own storage") {
  for (const auto storage : {tenon::Storage::csr, tenon::Storage::row_sparse}) {
    for (const auto kind : {Init::Kind::xavier, Init::Kind::zeros}) {
      tenon::GraphModel model;
      auto& value = model.values.emplace_back();
      value.name = model.strings.intern("w");
      value.role = tenon::Role::variable;
      value.type = tenon::type_of(DType::f32, {3, 4});
      value.type.storage = static_cast<std::uint8_t>(storage);
      value.init.kind = kind;
      tenon::initialize(model, 5);
      CHECK(model.tensors.at(0).storage() == storage);
      CHECK(model.tensors.at(0).stored() == (kind == Init::Kind::zeros        ? 0
                                             : storage == tenon::Storage::csr ? 12
                                                                              : 3));
      CHECK(same_bits(cast_storage(model.tensors.at(0), tenon::Storage::dense),
                      drawn("w", {3, 4}, value.init, 5)));
    }
  }
}
