// Examples of bundled operators as graphs of one node, in any dtype, with ordinary and with extreme
// inputs.
#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <tenon/elementwise/convert.hpp>
#include <tenon/host/host.hpp>
#include <tenon/host/session.hpp>
#include <tenon/host/tensor_functions.hpp>
#include <tenon/visit.hpp>

namespace examples {

using tenon::DType;
using tenon::Tensor;
using Inputs = std::map<std::string, Tensor>;

inline DType dtype_named(const std::string& name) {
  for (int i = 0; i < tenon::dtype_count; ++i)
    if (tenon::name_of(static_cast<DType>(i)) == name) return static_cast<DType>(i);
  return tenon::f32;
}

/// The dtypes of a set; only float32 if the set is empty.
inline std::vector<DType> dtypes_of(tenon::DTypeMask mask) {
  std::vector<DType> all;
  for (int i = 0; i < tenon::dtype_count; ++i)
    if (mask != 0 && tenon::allows(mask, static_cast<DType>(i)))
      all.push_back(static_cast<DType>(i));
  return all.empty() ? std::vector{tenon::f32} : all;
}

inline DType preferred(tenon::DTypeMask mask) {
  const auto all = dtypes_of(mask);
  return std::find(all.begin(), all.end(), tenon::f32) == all.end() ? all.front() : tenon::f32;
}

/// Zeros of both signs, infinities, nan, the limits of all ranges, and numbers between two
/// integers.
inline std::vector<double> special_numbers(DType dtype) {
  if (dtype == tenon::boolean) return {0, 1};
  const bool is_signed =
      dtype == tenon::i8 || dtype == tenon::i16 || dtype == tenon::i32 || dtype == tenon::i64;
  if (tenon::any_integer.has(dtype) && !is_signed)
    return {0, 1, 2, 3, 7, 63, 100, 127, 128, 200, 255, 256, 65535, 0x1p31, 0x1p40, 1e30};
  if (is_signed)
    return {0,   1,   -1,  2,    3,     -3,     7,      63,      100,    -100, 127,
            128, 200, 255, -128, 32767, -32768, 0x1p31, -0x1p31, 0x1p40, 1e30, -1e30};
  std::vector<double> all{0.0,    -0.0,  1,        -1,   0.5,   -0.5, 1.5,   2.5,
                          -2.5,   3.7,   -3.7,     20,   100,   -100, 255.5, 300,
                          -300.5, 40000, -40000.5, 1e-3, -1e-3, 6e-5, -6e-5};
  if (dtype != tenon::f16)
    all.insert(all.end(),
               {1e10, -1e10, 0x1p31, 0x1p63, -0x1p63, 0x1p64, 3e38, -3e38, 1e-38, -1e-40});
  if (dtype == tenon::f64)
    all.insert(all.end(), {1e300, -1e300, 1e-310, std::numeric_limits<double>::max()});
  const auto infinity = std::numeric_limits<double>::infinity();
  all.insert(all.end(),
             {65504, -65504, infinity, -infinity, std::numeric_limits<double>::quiet_NaN()});
  return all;
}

/// Special numbers for operators that sum: their sums do not depend on the order, except for
/// rounding.
inline std::vector<double> special_summands() {
  const auto infinity = std::numeric_limits<double>::infinity();
  return {0.0,   -0.0,      1,        -1, 0.5,  -2.5, 3.75, 1e-3, 20,  -7,   2, 6e-8,
          -6e-5, 0.25,      infinity, 1,  -0.5, 5,    3,    0,    -12, 0.75, 8, -4,
          1.5,   -infinity, 0.125,    -1, 2.25, 7,    -0.0, 1.25, NAN, 0.375};
}

/// A tensor filled cyclically with the numbers, starting at `first`.
inline Tensor filled(DType dtype, const tenon::Shape& shape, const std::vector<double>& numbers,
                     std::size_t first = 0) {
  auto tensor = Tensor::empty(dtype, shape);
  if (tenon::low_bit.has(dtype)) {
    for (std::int64_t i = 0; i < tensor.size(); ++i)
      static_cast<std::uint8_t*>(tensor.data())[i] = tenon::low_bit_format(dtype).encode(
          static_cast<float>(numbers[(first + static_cast<std::size_t>(i)) % numbers.size()]));
    return tensor;
  }
  tenon::visit<tenon::every_type>(dtype, [&]<class T>() {
    auto* to = static_cast<T*>(tensor.data());
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      const auto number = numbers[(first + static_cast<std::size_t>(i)) % numbers.size()];
      if constexpr (std::is_integral_v<T>)
        to[i] = tenon::elementwise::number_as<T>(number);
      else if constexpr (tenon::is_complex<T>)
        to[i] = T(static_cast<float>(number));
      else
        to[i] = static_cast<T>(number);
    }
  });
  return tensor;
}

/// For elementwise operators, an example that combines all special numbers with each other, with
/// the parameters of the first example.
inline std::vector<tenon::ExampleInfo> examples_of(const tenon::OperatorInfo& info, DType dtype) {
  auto all = info.examples;
  if (!info.elementwise) return all;
  tenon::ExampleInfo example;
  if (!all.empty()) example.params = all.front().params;
  for (std::size_t i = 0; i < info.inputs.size(); ++i) {
    const auto& input = info.inputs[i];
    const auto own = input.types ? preferred(*input.types) : dtype;
    std::vector<std::int64_t> shape(i + 1, 1);
    shape[0] = static_cast<std::int64_t>(special_numbers(own).size());
    example.inputs.push_back({.name = input.name, .dtype = {}, .shape = shape, .values = {}});
  }
  all.push_back(example);
  return all;
}

/// Alternative values of a parameter.
inline std::vector<tenon::AttributeValue> other_values(const tenon::ParamInfo& param) {
  using Ints = std::vector<std::int64_t>;
  switch (param.kind) {
    case tenon::ParamKind::boolean:
      return {true, false};
    case tenon::ParamKind::int32:
    case tenon::ParamKind::int64:
      return {std::int64_t{0}, std::int64_t{1}, std::int64_t{2}, std::int64_t{-1}};
    case tenon::ParamKind::float32:
    case tenon::ParamKind::float64:
      return {0.0, 0.5, -2.0};
    case tenon::ParamKind::choice:
      return {param.choices.begin(), param.choices.end()};
    case tenon::ParamKind::ints:
      return {Ints{}, Ints{0}, Ints{1}, Ints{2}, Ints{-1}, Ints{0, 1}, Ints{1, 2}, Ints{2, 2}};
    default:
      return {};
  }
}

/// The example with each parameter changed, each optional input omitted, and each input with
/// declared dtypes in each of the others.
inline std::vector<tenon::ExampleInfo> variants_of(const tenon::OperatorInfo& info,
                                                   const tenon::ExampleInfo& example) {
  std::vector<tenon::ExampleInfo> all;
  for (const auto& param : info.params)
    for (const auto& value : other_values(param)) {
      auto variant = example;
      std::erase_if(variant.params, [&](const auto& one) { return one.name == param.name; });
      variant.params.push_back({param.name, value});
      all.push_back(variant);
    }
  if (info.find_param("pad_mode") >= 0)
    for (const auto& [mode, changed, steps] : {std::tuple{"same_upper", "stride", 4},
                                               {"same_lower", "stride", 2},
                                               {"same_upper", "dilate", 2}}) {
      all.push_back(example);
      auto& params = all.back().params;
      std::erase_if(params,
                    [&, name = std::string(changed)](const auto& one) { return one.name == name; });
      params.push_back({"pad_mode", std::string(mode)});
      params.push_back({changed, std::vector<std::int64_t>{steps}});
    }
  for (std::size_t i = 0; i < example.inputs.size(); ++i) {
    const auto at = info.find_input(example.inputs[i].name);
    if (at < 0) continue;
    const auto& input = info.inputs[static_cast<std::size_t>(at)];
    if (input.optional) {
      all.push_back(example);
      all.back().inputs.erase(all.back().inputs.begin() + static_cast<std::ptrdiff_t>(i));
    }
    for (const auto dtype : dtypes_of(input.types.value_or(0))) {
      if (!input.types) continue;
      all.push_back(example);
      all.back().inputs[i].dtype = std::string(tenon::name_of(dtype));
    }
  }
  return all;
}

inline bool is_hidden(const tenon::OperatorInfo& info, const tenon::OutputInfo& output,
                      const tenon::NodeInfo& node) {
  for (const auto& condition : info.conditions)
    for (const auto& [name, value] : node.attributes)
      if (condition.of == "hidden" && condition.names[0] == output.name &&
          condition.param == name &&
          std::find(condition.values.begin(), condition.values.end(), value) !=
              condition.values.end())
        return true;
  return output.hidden;
}

/// A graph of one node, built from the example; `late`: sizes are known only at run time. Throws
/// Failure if the example does not support the dtype.
struct ExampleGraph {
  ExampleGraph(tenon::Host& host, const tenon::CatalogOperator& op,
               const tenon::ExampleInfo& example, DType shared, bool late)
      : graph(host) {
    const auto& info = op.info;
    tenon::Attributes attributes;
    for (const auto& param : example.params) attributes.set(param.name, param.value);
    std::vector<std::pair<std::string, tenon::Value>> values;
    for (const auto& input : example.inputs) {
      const auto at = info.find_input(input.name);
      const bool own = at >= 0 && info.inputs[static_cast<std::size_t>(at)].types;
      const auto dtype = input.dtype ? dtype_named(*input.dtype)
                         : own       ? preferred(*info.inputs[static_cast<std::size_t>(at)].types)
                                     : shared;
      const tenon::Shape shape(input.shape.data(), static_cast<int>(input.shape.size()));
      tenon::RandomOptions random{.seed = 5, .stream = inputs.size()};
      // avoids division by zero
      if (info.elementwise && tenon::any_integer.has(dtype)) random.low = 1, random.high = 9;
      const auto tensor = input.values.empty() ? tenon::random_tensor(dtype, shape, random)
                                               : filled(dtype, shape, input.values);
      auto numbers = info.elementwise ? special_numbers(dtype) : special_summands();
      // Division by 0, and of the smallest integer by -1, is undefined.
      if (tenon::any_integer.has(dtype) && !inputs.empty())
        std::erase_if(numbers, [](double number) { return number == 0 || number == -1; });
      const bool any = input.values.empty() && (info.elementwise || tenon::floating.has(dtype));
      extreme.emplace(input.name, any ? filled(dtype, shape, numbers, 7 * inputs.size()) : tensor);
      inputs.emplace(input.name, tensor);
      // sizes of filters are always known
      const bool known = !late || !input.values.empty() || input.name == "weight";
      values.emplace_back(
          input.name,
          graph.input(input.name, dtype, known ? shape : tenon::Shape::of_rank(shape.rank())));
    }
    if (info.variadic()) {
      std::vector<tenon::Value> in_order;
      for (const auto& [name, value] : values) in_order.push_back(value);
      node = graph.add(op.full_name(), in_order, attributes, "node");
    } else {
      node = graph.add(op.full_name(), values, attributes, "node");
    }
    const auto made = graph.nodes().back();
    for (std::size_t i = 0; i < made.outputs.size(); ++i)
      if (i >= info.outputs.size() || !is_hidden(info, info.outputs[i], made))
        graph.output(fmt::format("result{}", i), node.output(static_cast<std::uint32_t>(i)));
    graph.initialize(1);
  }
  tenon::Graph graph;
  tenon::Value node;
  Inputs inputs{}, extreme{};
};

/// Calls visit(name, operator, ExampleGraph) for each example of each operator, in the dtypes that
/// `choose` selects from a set; in one of them also with variants, and with sizes known only at run
/// time.
template <class Choose, class Visit>
void for_each_example(tenon::Host& host, const Choose& choose, const Visit& visit) {
  const auto catalog = host.catalog();
  for (const auto& op : catalog.operators())
    for (const auto dtype : choose(op.info.types)) {
      const bool first = dtype == preferred(op.info.types);
      auto all = examples_of(op.info, dtype);
      const auto plain = all.size();
      for (std::size_t i = 0; first && i < plain; ++i) {
        const auto variants = variants_of(op.info, all[i]);
        all.insert(all.end(), variants.begin(), variants.end());
      }
      for (std::size_t i = 0; i < all.size(); ++i)
        for (const bool late : {false, true}) {
          if (late && (!first || i >= plain)) continue;
          const auto name =
              fmt::format("{}_{}{}_{}", op.info.name, i, late ? "late" : "", tenon::name_of(dtype));
          std::optional<ExampleGraph> graph;
          try {
            graph.emplace(host, op, all[i], dtype, late);
          } catch (const tenon::Failure&) {
            if (first && i < plain && !late) throw;
            continue;  // the operator rejects the example
          }
          visit(name, op, *graph);
        }
    }
}

}  // namespace examples
