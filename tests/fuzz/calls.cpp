// Bytes as a program of library calls: tensors of any kind, eager calls, graphs, gradients,
// sessions, files in memory. Every call returns or throws a Failure, and the sanitizers detect
// accesses out of bounds.
#include <limits>
#include <tenon/tenon.hpp>
#include <vector>

#include "../file/odd_operator.hpp"
#include "choices.hpp"
#include "target.hpp"

namespace {

using tenon::DType;
using tenon::Shape;
using tenon::Tensor;

// actual tensors are small; larger shapes are far too large
constexpr std::int64_t max_elements = 1 << 12;

class Program {
 public:
  Program(tenon::Host& host, const std::vector<std::string>& operators, Choices choices)
      : host_(host), operators_(operators), choices_(choices), graph_(host) {}

  void run() {
    for (int calls = 0; calls < 64 && choices_.more(); ++calls) {
      try {
        call();
      } catch (const tenon::Error& failure) {
        if (*failure.what() == '\0') std::abort();
      }
    }
  }

 private:
  void call() {
    switch (choices_.below(16)) {
      case 0:
      case 1:
        return keep(dense());
      case 2:
        return keep(sparse());
      case 3:
        return keep(host_.call(name(), tensors(), attributes()));
      case 4:
        return values_.push_back(graph_.input(choices_.text(), dtype(), shape()));
      case 5:
        return values_.push_back(graph_.variable(choices_.text(), tensor()));
      case 6:
        return values_.push_back(graph_.add(name(), values(), attributes(), choices_.text()));
      case 7:
        return graph_.output(choices_.text(), value());
      case 8: {
        const auto gradients = graph_.gradient(value(), values());
        return void(values_.insert(values_.end(), gradients.begin(), gradients.end()));
      }
      case 9:
        return graph_.update(value(), value());
      case 10:
        return run_graph();
      case 11: {
        const auto bytes = graph_.to_bytes();
        if (tenon::Graph::from_bytes(host_, bytes).to_bytes() != bytes) std::abort();
        return;
      }
      case 12:
        return void(tenon::Graph::from_json(host_, graph_.to_json()));
      case 13:
        return change_tensor();
      case 14:
        return void(values_.push_back(value().output(choices_.take<std::uint8_t>())));
      default:
        return void(graph_.to_json().size() +
                    describe(tenon::Session(graph_).plan({{choices_.text(), shape()}})).size());
    }
  }

  DType dtype() { return static_cast<DType>(choices_.below(TENON_DTYPE_COUNT + 2)); }

  Shape shape() {
    static constexpr std::int64_t dims[] = {
        0, 1, 1, 2, 2, 3, 4, 5, 8, -1, -2, std::int64_t{1} << 33, std::int64_t{1} << 62};
    std::int64_t chosen[10];
    const auto rank =
        static_cast<int>(choices_.below(16) == 0 ? choices_.below(10) : choices_.below(4));
    for (int axis = 0; axis < rank; ++axis) chosen[axis] = choices_.of(dims);
    return rank == 0 ? Shape::scalar() : Shape(chosen, rank);
  }

  Tensor dense() {
    const auto sample_shape = shape();
    // an error
    if (!sample_shape.known() || sample_shape.size() > max_elements)
      return Tensor::empty(dtype(), {std::int64_t{1} << 61});
    auto tensor = Tensor::zeros(dtype(), sample_shape);
    auto* const bytes = static_cast<std::uint8_t*>(tensor.data());
    const bool flags = tensor.dtype() == DType::boolean;
    for (std::int64_t i = 0; i < std::min<std::int64_t>(tensor.bytes(), 64); ++i)
      bytes[i] = flags ? choices_.below(2) == 1 : choices_.take<std::uint8_t>();
    return tensor;
  }

  Tensor indices() {
    const auto count = static_cast<std::int64_t>(choices_.below(6));
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
    for (auto& number : numbers)
      number = choices_.below(8) == 0 ? choices_.take<std::int64_t>()
                                      : static_cast<std::int64_t>(choices_.below(5));
    return Tensor::from(numbers, {count});
  }

  Tensor sparse() {
    if (choices_.below(2) == 0) return Tensor::row_sparse(tensor(), indices(), shape());
    return Tensor::csr(tensor(), indices(), indices(), shape());
  }

  void change_tensor() {
    const auto from = tensor();
    switch (choices_.below(7)) {
      case 0:
        return keep(from.reshape(shape()));
      case 1:
        return keep(tenon::cast_storage(from, static_cast<tenon::Storage>(choices_.below(4))));
      case 2:
        return keep(tenon::rows(from, choices_.take<std::int8_t>(), choices_.take<std::int8_t>()));
      case 3:
        return keep(from.make_contiguous().clone());
      case 4:
        return keep(Tensor::from_dlpack(from.to_dlpack()));
      case 5: {
        const std::int64_t strides[] = {choices_.take<std::int8_t>() & 1, 1};
        return keep(Tensor::borrow(from.data(), from.dtype(),
                                   {2, std::min<std::int64_t>(from.size() / 2, 8)}, strides,
                                   std::make_shared<Tensor>(from)));
      }
      default:
        if (from.to_string().empty()) std::abort();
    }
  }

  void run_graph() {
    tenon::SessionOptions options;
    options.training = choices_.below(2) == 1;
    options.plans = 1;
    tenon::Session session(graph_, options);
    tenon::NamedTensors inputs;
    for (const auto& input : graph_.inputs()) {
      Shape shape = input.shape;
      for (int axis = 0; axis < std::max(0, shape.rank()); ++axis)
        if (shape[axis] == tenon::unknown)
          shape.set(axis, static_cast<std::int64_t>(choices_.below(4)));
      const bool fits = shape.known() && shape.size() <= max_elements && choices_.below(8) != 0;
      inputs[input.name] = fits ? Tensor::zeros(*input.dtype, shape) : tensor();
    }
    tenon::RunOptions request;
    if (choices_.below(4) == 0) request.outputs = {choices_.text()};
    for (int runs = 0; runs < 2; ++runs)
      for (const auto& [output, tensor] : session.run(inputs, request))
        if (tensor.to_string().empty()) std::abort();
  }

  std::string name() { return choices_.below(32) == 0 ? choices_.text() : choices_.of(operators_); }
  Tensor tensor() {
    return tensors_.empty() || choices_.below(32) == 0 ? Tensor() : choices_.of(tensors_);
  }
  tenon::Value value() {
    return values_.empty() || choices_.below(32) == 0 ? tenon::Value() : choices_.of(values_);
  }
  void keep(Tensor tensor) {
    if (tensor && tensor.size() <= max_elements) tensors_.push_back(std::move(tensor));
  }

  std::vector<Tensor> tensors() {
    std::vector<Tensor> some(choices_.below(4));
    for (auto& each : some) each = tensor();
    return some;
  }
  std::vector<tenon::Value> values() {
    std::vector<tenon::Value> some(choices_.below(4));
    for (auto& each : some) each = value();
    return some;
  }

  tenon::Attributes attributes() {
    tenon::Attributes some;
    static const char* const names[] = {"axis", "shape", "kernel", "num_hidden", "num_filter",
                                        "flag", "begin", "end",    "a",          "parts"};
    for (auto count = choices_.below(3); count > 0; --count) {
      const auto number = static_cast<std::int64_t>(choices_.take<std::int8_t>());
      const auto name = choices_.of(names);
      switch (choices_.below(4)) {
        case 0:
          some.set(name, number);
          break;
        case 1:
          some.set(name, choices_.take<float>());
          break;
        case 2:
          some.set(name, choices_.text());
          break;
        default:
          some.set(name, std::vector<std::int64_t>{number, 2});
      }
    }
    return some;
  }

  tenon::Host& host_;
  const std::vector<std::string>& operators_;
  Choices choices_;
  tenon::Graph graph_;
  std::vector<Tensor> tensors_;
  std::vector<tenon::Value> values_;
};

}  // namespace

TENON_FUZZ_TARGET(calls)(const std::uint8_t* bytes, std::size_t size) {
  static JsonHost host;
  static const std::vector<std::string> operators = [] {
    std::vector<std::string> names;
    if (*TENON_TEST_PLUGINS != '\0') host.add_plugins(TENON_TEST_PLUGINS);
    for (const auto& op : host.catalog().operators()) names.push_back(op.info.name);
    return names;
  }();
  Program(host, operators, Choices(bytes, size)).run();
  return 0;
}
