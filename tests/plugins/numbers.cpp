#include "numbers.hpp"

#include <random>

#include "built.hpp"

namespace plugin_tests {

tenon::Host& host() {
  static tenon::Host instance([] {
    tenon::HostOptions options;
    options.threads = 4;
    options.trust_writable = true;
    options.search_defaults = false;
    return options;
  }());
  static const bool ready = (instance.add_plugins(built("plugins")), true);
  (void)ready;
  return instance;
}

Tensor arbitrary(DType dtype, const Shape& shape, double low, double high, unsigned seed) {
  std::mt19937_64 engine(seed);
  Doubles values(static_cast<std::size_t>(shape.size()));
  for (double& value : values) {
    value = low + (high - low) * static_cast<double>(engine() >> 11) * 0x1p-53;
    if (!tenon::floating.has(dtype)) value = std::floor(value);
  }
  return tensor(dtype, shape, values);
}

double epsilon(DType dtype) {
  return dtype == tenon::f16    ? 0x1p-11
         : dtype == tenon::bf16 ? 0x1p-8
         : dtype == tenon::f32  ? 0x1p-24
         : dtype == tenon::f64  ? 0x1p-53
                                : 0;
}

void check_near(const Tensor& found, DType dtype, const Shape& shape, const Doubles& expected,
                double tolerance) {
  CHECK(name(found.dtype()) == name(dtype));
  CHECK(tenon::to_string(found.shape()) == tenon::to_string(shape));
  const auto values = doubles(found);
  REQUIRE(values.size() == expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool same =
        values[i] == expected[i] || (std::isnan(values[i]) && std::isnan(expected[i]));
    if (same ||
        std::abs(values[i] - expected[i]) <= tolerance * std::max(1.0, std::abs(expected[i])))
      continue;
    FAIL_CHECK("element ", i, " of ", values.size(), " is ", values[i], ", not ", expected[i]);
    return;
  }
}

std::string failure(const std::string& op, const std::vector<Tensor>& inputs,
                    const Attributes& attributes) {
  try {
    host().call_all(op, inputs, attributes);
  } catch (const tenon::Failure& failure) {
    return failure.what() + ("\n" + failure.hint());
  }
  return "no failure at all";
}

double sum_of(const Doubles& values) {
  long double sum = 0;
  for (const double value : values) sum += value;
  return static_cast<double>(sum);
}

double mean_of(const Doubles& values) {
  return sum_of(values) / static_cast<double>(values.size());
}

std::vector<Integers> positions(const Shape& shape) {
  std::vector<Integers> result;
  Integers position(static_cast<std::size_t>(shape.rank()));
  for (std::int64_t i = 0; i < shape.size(); ++i) {
    auto rest = i;
    for (int a = shape.rank() - 1; a >= 0; --a) {
      position[static_cast<std::size_t>(a)] = rest % shape[a];
      rest /= shape[a];
    }
    result.push_back(position);
  }
  return result;
}

std::size_t offset(const Shape& shape, const Integers& position) {
  std::int64_t result = 0;
  const auto fresh = static_cast<int>(position.size()) - shape.rank();
  for (int a = 0; a < shape.rank(); ++a)
    result =
        result * shape[a] + (shape[a] == 1 ? 0 : position[static_cast<std::size_t>(fresh + a)]);
  return static_cast<std::size_t>(result);
}

}  // namespace plugin_tests
