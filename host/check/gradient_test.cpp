#include <fmt/format.h>

#include <optional>
#include <tenon/host/session.hpp>
#include <tenon/host/testing.hpp>
#include <tenon/visit.hpp>

namespace tenon {
namespace {

constexpr Types differentiable_types = {DType::f32, DType::f64};

/// A graph of one operator with the gradients of all its outputs.
class GradientTest {
 public:
  GradientTest(Host& host, std::string_view op, const std::vector<Tensor>& inputs,
               const Attributes& attributes, const GradientTestOptions& options)
      : graph_(host), options_(options) {
    prepare(host, op, inputs, attributes);
    std::vector<Value> values;
    for (std::size_t i = 0; i < inputs.size(); ++i) values.push_back(add_input(i, inputs[i]));
    if (wrt_.empty())
      throw Failure(
          FailureKind::usage,
          fmt::format("[{}] has no floating-point input here and therefore no gradient", op),
          "use float32 or float64");
    graph_.add(op, values, attributes, "checked");
    add_outputs();
  }

  Comparison run() {
    SessionOptions session;
    session.seed = options_.seed;
    session.training = options_.training;
    session_.emplace(graph_, session);
    auto found = results();
    for (std::size_t k = 0; k < seeds_.size(); ++k)
      for (const auto input : checked_inputs_)
        if (auto result = compare(input, k, found); !result) return result;
    return {};
  }

 private:
  // Rejects what a call would reject; Graph::add() would create variables for omitted weights.
  void prepare(Host& host, std::string_view op, const std::vector<Tensor>& inputs,
               const Attributes& attributes) {
    std::vector<Argument> types;
    types.reserve(inputs.size());
    for (const auto& input : inputs) types.push_back(Argument::like(input));
    const auto call = host.prepare(op, types, attributes);
    for (const auto& input : call.inputs()) names_.push_back(input.name);
    for (const auto& output : call.outputs()) hidden_.push_back(output.hidden);
  }

  Value add_input(std::size_t i, const Tensor& tensor) {
    if (!tensor) return {};
    const auto value = graph_.input(names_[i], tensor.dtype(), tensor.shape());
    inputs_[names_[i]] = tensor.clone();
    if (!floating.has(tensor.dtype())) return value;
    if (!differentiable_types.has(tensor.dtype()))
      throw Failure(
          FailureKind::usage,
          fmt::format("input '{}' is {}, which is not precise enough for finite differences",
                      names_[i], name_of(tensor.dtype())),
          "use float32 or float64");
    wrt_.push_back(value), checked_inputs_.push_back(i);
    return value;
  }

  // For each floating-point output, the loss is its sum weighted by random numbers.
  void add_outputs() {
    const auto outputs = graph_.nodes().back().outputs;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const auto value = graph_.find(outputs[i]);
      if (hidden_[i] || !floating.has(graph_.dtype(value))) continue;
      const auto k = seeds_.size();
      graph_.output(fmt::format("output {}", k), value);
      seeds_.push_back(random_tensor(graph_.dtype(value), graph_.shape(value),
                                     {.seed = options_.seed, .stream = k + 1}));
      GradientOptions seeded;
      seeded.seed = graph_.constant(fmt::format("seed {}", k), seeds_.back());
      const auto gradients = graph_.gradient(value, wrt_, seeded);
      for (std::size_t n = 0; n < gradients.size(); ++n)
        if (!gradients[n].empty())
          graph_.output(gradient_name(checked_inputs_[n], k), gradients[n]);
    }
  }
  static std::string gradient_name(std::size_t input, std::size_t output) {
    return fmt::format("gradient {} {}", input, output);
  }

  NamedTensors results() {
    session_->set_step(0);  // the same random numbers each time
    return session_->run(inputs_);
  }

  double weighted_sum(std::size_t output) {
    const auto found = cast_storage(results().at(fmt::format("output {}", output)), Storage::dense)
                           .make_contiguous();
    double sum = 0;
    visit<floating>(found.dtype(), [&]<class T>() {
      const auto values = found.values<T>(), weights = seeds_[output].values<T>();
      for (std::size_t i = 0; i < values.size(); ++i)
        sum += static_cast<double>(values[i]) * static_cast<double>(weights[i]);
    });
    return sum;
  }

  // Perturbs only stored elements of an input, and compares the gradient only there.
  Comparison compare(std::size_t input, std::size_t output, const NamedTensors& found) {
    const auto& tensor = inputs_.at(names_[input]);
    const auto perturbed = tensor.stored_values();
    const auto gradient = found.find(gradient_name(input, output));
    const auto analytic = gradient == found.end() ? Tensor::zeros(tensor.dtype(), tensor.shape())
                                                  : cast_storage(gradient->second, Storage::dense);
    auto result = visit<differentiable_types>(tensor.dtype(), [&]<class T>() {
      return compare_as<T>(tensor, perturbed, analytic.make_contiguous(), output);
    });
    if (!result)
      result.text =
          fmt::format("gradient of input '{}' for output {} differs from finite differences: {}",
                      names_[input], output, result.text);
    return result;
  }

  template <class T>
  Comparison compare_as(const Tensor& tensor, const Tensor& perturbed, const Tensor& analytic,
                        std::size_t output) {
    constexpr bool single = std::is_same_v<T, float>;
    const double step = options_.step > 0 ? options_.step : single ? 1e-2 : 1e-6;
    auto slopes = perturbed.clone();
    for (std::int64_t i = 0; i < perturbed.size(); ++i) {
      T& element = perturbed.data<T>()[i];
      const T value = element, above = static_cast<T>(static_cast<double>(value) + step),
              below = static_cast<T>(static_cast<double>(value) - step);
      element = above;
      const double up = weighted_sum(output);
      element = below;
      const double down = weighted_sum(output);
      element = value;
      slopes.data<T>()[i] =
          static_cast<T>((up - down) / (static_cast<double>(above) - static_cast<double>(below)));
    }
    CloseOptions close;
    close.rtol = options_.rtol >= 0 ? options_.rtol : single ? 2e-2 : 1e-5;
    close.atol = options_.atol >= 0 ? options_.atol : single ? 2e-3 : 1e-7;
    return all_close(at_stored(tensor, analytic), at_stored(tensor, with_values(tensor, slopes)),
                     close);
  }

  static Tensor with_values(const Tensor& like, const Tensor& values) {
    if (like.storage() == Storage::csr)
      return Tensor::csr(values, like.columns(), like.row_starts(), like.shape());
    return like.storage() == Storage::row_sparse
               ? Tensor::row_sparse(values, like.row_ids(), like.shape())
               : values;
  }
  // Returns a dense tensor with 0 where `like` stores nothing.
  static Tensor at_stored(const Tensor& like, const Tensor& tensor) {
    auto dense =
        tensor.storage() == Storage::dense ? tensor.clone() : cast_storage(tensor, Storage::dense);
    if (like.storage() == Storage::dense) return dense;
    const auto mask = cast_storage(
        with_values(like, ones(like.dtype(), like.stored_values().shape())), Storage::dense);
    visit<differentiable_types>(dense.dtype(), [&]<class T>() {
      for (std::int64_t i = 0; i < dense.size(); ++i)
        if (mask.data<T>()[i] == 0) dense.data<T>()[i] = 0;
    });
    return dense;
  }

  Graph graph_;
  const GradientTestOptions options_;
  std::vector<std::string> names_;  // of the inputs
  std::vector<bool> hidden_;        // of the outputs
  NamedTensors inputs_;
  std::vector<Value> wrt_;
  std::vector<std::size_t> checked_inputs_;  // input index of each entry of wrt_
  std::vector<Tensor> seeds_;                // of the outputs
  std::optional<Session> session_;
};

}  // namespace

Comparison check_gradient(Host& host, std::string_view op, const std::vector<Tensor>& inputs,
                          const Attributes& attributes, const GradientTestOptions& options) {
  return GradientTest(host, op, inputs, attributes, options).run();
}

}  // namespace tenon
