// Compares sparse kernels and gradients with dense ones.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <tenon/host/cast_storage.hpp>
#include <tenon/host/failure.hpp>
#include <tenon/host/session.hpp>
#include <tenon/visit.hpp>

#include "check/calls/nearby_calls.hpp"
#include "check/calls/test_call.hpp"
#include "io/counted.hpp"
#include "plan/operator_storage.hpp"
#include "plugin/device_kernel.hpp"

namespace tenon::checks {
namespace {

using Storages = std::vector<std::uint8_t>;  // of a call's inputs, or of its output gradients

// samples per kind
constexpr std::size_t max_ordinary_samples = 16, max_odd_samples = 5, max_device_samples = 4;

/// The elements of a sparse tensor that are stored.
enum class Stored : std::uint8_t { half, every, nothing, one, some_rows };
struct SparsityPattern {
  Stored stored;
  const char* description;
};
constexpr SparsityPattern half{Stored::half, "half of the elements stored"};
constexpr SparsityPattern every{Stored::every, "all elements stored"};
constexpr SparsityPattern nothing{Stored::nothing, "nothing stored"};
constexpr SparsityPattern one{Stored::one, "one element stored"};
constexpr SparsityPattern some_rows{Stored::some_rows, "every third row stored"};
constexpr std::array sparsity_patterns{half, every, nothing, one, some_rows};

bool is_stored(Stored stored, std::int64_t row, std::uint64_t random) {
  switch (stored) {
    case Stored::half:
      return random % 2 == 0;
    case Stored::every:
      return true;
    case Stored::some_rows:
      return row % 3 == 1;
    case Stored::nothing:
    case Stored::one:
      return false;
  }
  return false;
}

// Returns ones at the stored elements. Numbers that replace them are stored even if they are 0.
Tensor stored_ones(const tenon_type& type, Storage storage, Stored pattern, std::uint64_t seed) {
  auto stored = Tensor::zeros(static_cast<DType>(type.dtype), shape_of(type));
  RandomBits generator(seed + 1);
  visit<every_type>(stored.dtype(), [&]<class T>() {
    auto values = stored.values<T>();
    const auto row_size = type.dims[0] > 0 ? stored.size() / type.dims[0] : 1;
    for (std::int64_t i = 0; i < stored.size(); ++i)
      if (is_stored(pattern, i / std::max<std::int64_t>(row_size, 1), generator()) ||
          (pattern == Stored::one && i == stored.size() / 2))
        values[static_cast<std::size_t>(i)] = T(1);
  });
  return cast_storage(stored, storage);
}

/// Copies the elements so that each component ends right before a guard page.
Tensor guarded(const Tensor& tensor, const std::string& description) {
  const auto guarded_component = [&](const Tensor& from, const char* what) {
    auto copy =
        guarded_tensor(from.dtype(), from.shape(), Placement::before_guard, 0, what + description);
    if (from.bytes() > 0)
      std::memcpy(copy.data(), from.data(), static_cast<std::size_t>(from.bytes()));
    return copy;
  };
  if (tensor.storage() == Storage::csr)
    return Tensor::csr(guarded_component(tensor.stored_values(), "the values of "),
                       guarded_component(tensor.columns(), "the columns of "),
                       guarded_component(tensor.row_starts(), "the row starts of "),
                       tensor.shape());
  if (tensor.storage() == Storage::row_sparse)
    return Tensor::row_sparse(guarded_component(tensor.stored_values(), "the rows of "),
                              guarded_component(tensor.row_ids(), "the row ids of "),
                              tensor.shape());
  return guarded_component(tensor, "");
}

/// Memory that kernels allocate ends at a guard page, too, and holds NaN until written.
class GuardedAllocations {
 public:
  explicit GuardedAllocations(bool on) {
    if (on)
      SparseMemory::use_for_all([](const tenon_tensor&, std::int64_t bytes) {
        return guarded_tensor(DType::u8, {bytes}, Placement::before_guard, 0xff,
                              "the memory that the kernel allocates");
      });
  }
  ~GuardedAllocations() { SparseMemory::use_for_all({}); }
  GuardedAllocations(const GuardedAllocations&) = delete;
  GuardedAllocations& operator=(const GuardedAllocations&) = delete;
};

/// Magnitudes of the inputs with even and odd index.
struct Draw {
  Magnitude even, odd;
  const char* description;

  Magnitude of(std::size_t input) const { return input % 2 == 0 ? even : odd; }
  bool is_positive() const { return even == Magnitude::positive; }
};
constexpr Draw positive{Magnitude::positive, Magnitude::positive, "small positive numbers"};
constexpr Draw ordinary{Magnitude::ordinary, Magnitude::ordinary, "numbers of both signs"};
constexpr Draw large{Magnitude::large, Magnitude::large, "all numbers large"};
constexpr Draw small{Magnitude::small, Magnitude::small, "all numbers small"};
constexpr Draw large_first{Magnitude::large, Magnitude::small, "large numbers next to small ones"};
constexpr Draw small_first{Magnitude::small, Magnitude::large, "small numbers next to large ones"};
constexpr Draw special{Magnitude::special, Magnitude::special,
                       "infinities and nan among the numbers"};

struct InputValues {
  SparsityPattern inputs;
  Draw draw;
  SparsityPattern gradients = half;  // halves other than those of the inputs
};

// Sums of numbers of different magnitude cannot be compared between kernels that add in another
// order. Likewise, elements that are not stored count as 0 even if 0 times infinity makes a dense
// result nan.
std::vector<InputValues> all_values(const OperatorInfo& info) {
  // an ordinary number may be 0, which would hide a fault
  std::vector<InputValues> all{{one, positive}};
  for (const auto& pattern : sparsity_patterns) all.push_back({pattern, ordinary});
  std::vector<Draw> draws{positive, large, small};
  if (info.elementwise) draws.insert(draws.end(), {large_first, small_first});
  if (info.elementwise && info.inputs.size() == 1) draws.push_back(special);
  for (const auto& draw : draws) all.push_back({half, draw});
  return all;
}

// A kernel may confuse the indices of an output gradient with those of an input, or assume equal
// counts; so the gradients have fewer, more and other indices.
std::vector<InputValues> values_with_sparse_gradients() {
  std::vector<InputValues> all;
  for (const auto& pattern : sparsity_patterns) all.push_back({half, ordinary, pattern});
  for (const auto& pattern : {every, nothing, one}) all.push_back({pattern, ordinary});
  all.push_back({one, positive, every});
  all.push_back({half, large});
  return all;
}

bool without_elements(const TestInput& sample) {
  return std::any_of(
      sample.types.inputs.begin(), sample.types.inputs.end(),
      [](const tenon_type& type) { return type.present && element_count(type) == 0; });
}

// Every combination of storages for the inputs that may be sparse, that is, those with rows.
std::vector<Storages> all_storages(const TestInput& sample) {
  // all combinations for four inputs; of more inputs, the first combinations
  constexpr std::size_t max_combinations = 81;
  std::vector<Storages> all{{}};
  for (std::size_t i = 0; i < sample.types.inputs.size(); ++i) {
    const auto& type = sample.types.inputs[i];
    std::vector<Storages> longer;
    for (const auto storage : {TENON_DENSE, TENON_ROW_SPARSE, TENON_CSR}) {
      const bool possible = SingleNode::is_input(sample, i) &&
                            (storage == TENON_CSR ? type.rank == 2 : type.rank > 0) &&
                            all.size() * 3 <= max_combinations;
      if (storage != TENON_DENSE && !possible) continue;
      for (auto storages : all) {
        storages.push_back(static_cast<std::uint8_t>(storage));
        longer.push_back(std::move(storages));
      }
    }
    all = std::move(longer);
  }
  return all;
}

bool has_gradient(const LoadedOperator& op) {
  const auto* const kernel = op.kernel(TENON_CPU);
  return (kernel != nullptr && kernel->backward != nullptr) || op.table->gradient != nullptr;
}

/// Storages of a call's tensors.
struct CallStorages {
  Storages inputs, output_grads;
  bool has_sparse_gradient() const {
    return std::any_of(output_grads.begin(), output_grads.end(),
                       [](std::uint8_t storage) { return storage != TENON_DENSE; });
  }
};

/// Compares a call with dense inputs on the CPU and with sparse ones on the device, including
/// gradients.
class Comparison {
 public:
  Comparison(Host& host, const CheckedOperator& checked, const TestInput& sample)
      : host_(host),
        checked_(checked),
        sample_(with_dense_result(checked.op, sample)),
        node_(host, checked.op, sample_) {
    std::vector<Value> wrt;
    for (std::size_t i = 0; i < sample.types.inputs.size(); ++i)
      if (SingleNode::is_input(sample, i) && is_floating(sample.types.inputs[i]))
        wrt.push_back(node_.inputs[i]);
    for (std::uint32_t i = 0; i < sample.types.outputs.size(); ++i) add_output(i, wrt);
  }

  bool has_gradients() const { return !seed_types_.empty(); }

  /// Returns what is wrong, or an empty text; nothing if the operator rejects the numbers.
  std::optional<std::string> test(const CallStorages& storages, const InputValues& values) {
    NamedTensors stored = seeds(storages.output_grads, values), dense;
    for (std::size_t i = 0; i < storages.inputs.size(); ++i)
      if (SingleNode::is_input(sample_, i))
        stored[fmt::format("input_{}", i)] =
            numbers(i, static_cast<Storage>(storages.inputs[i]), values.inputs.stored, values.draw);
    for (auto& [name, tensor] : stored) {
      dense[name] = cast_storage(tensor, Storage::dense);
      if (checked_.device.empty()) tensor = guarded(tensor, graph_input_label(name));
    }
    NamedTensors expected;
    try {
      expected = run(dense, {});
    } catch (const Failure& failure) {
      if (is_kernel_bug(failure) && !without_elements(sample_)) throw;
      refusal_ = failure.what();
      return std::nullopt;
    }
    return compare_all(
        expected, [&] { return run(stored, checked_.device); }, nearby(stored));
  }
  /// Number of comparisons that were repeated at nearby inputs.
  std::size_t repeated() const { return repeated_; }
  const std::string& refusal() const { return refusal_; }  ///< the last one

 private:
  /// Names a graph input in messages, as in `input 'x'`.
  std::string graph_input_label(const std::string& name) const {
    const auto number = std::stoul(name.substr(name.find('_') + 1));
    return name.starts_with("input_") ? input_label(*checked_.op.info, number)
                                      : fmt::format("the gradient of output {}", number);
  }

  void add_output(std::uint32_t i, const std::vector<Value>& wrt) {
    const auto value = node_.output.output(i);
    node_.graph.output(fmt::format("output {}", i), value);
    const auto dtype = static_cast<DType>(sample_.types.outputs[i].dtype);
    if (!has_gradient(checked_.op) || !floating.has(dtype) || wrt.empty() ||
        !is_known(sample_.types.outputs[i]))
      return;
    const auto name = fmt::format("seed_{}", i);
    seed_types_.emplace(name, i);
    GradientOptions options;
    options.seed = node_.graph.input(name, dtype, shape_of(sample_.types.outputs[i]));
    const auto gradients = node_.graph.gradient(value, wrt, options);
    for (std::size_t k = 0; k < gradients.size(); ++k)
      if (!gradients[k].empty())
        node_.graph.output(fmt::format("gradient {} of output {}", k, i), gradients[k]);
  }

  // Lazy optimizer updates differ on purpose, so they are turned off.
  static TestInput with_dense_result(const LoadedOperator& op, TestInput sample) {
    const std::string lazy = "lazy_update";
    if (std::none_of(op.info->params.begin(), op.info->params.end(),
                     [&](const ParamInfo& param) { return param.name == lazy; }))
      return sample;
    Attributes attributes{{lazy, false}};
    for (const auto& [name, value] : sample.attributes)
      if (name != lazy) attributes.set(name, value);
    sample.attributes = std::move(attributes);
    return sample;
  }

  // Starts from the same states each time.
  NamedTensors run(const NamedTensors& inputs, const std::string& device) const {
    SessionOptions options;
    options.optimize = Optimize::none;
    options.device = device;
    return Session(node_.graph.clone(), options).run(inputs);
  }

  NamedTensors seeds(const Storages& storages, const InputValues& values) const {
    NamedTensors seeds;
    for (const auto& [name, output] : seed_types_) {
      const auto& type = sample_.types.outputs[output];
      const auto storage =
          output < storages.size() ? static_cast<Storage>(storages[output]) : Storage::dense;
      const auto pattern = storage == Storage::dense ? Stored::every : values.gradients.stored;
      seeds[name] = stored_ones(type, storage, pattern, checked_.seed + 500 + output);
      fill_with_mixed_numbers(seeds[name],
                              values.draw.is_positive() ? Magnitude::positive : Magnitude::ordinary,
                              checked_.seed + 50);
    }
    return seeds;
  }

  Tensor numbers(std::size_t input, Storage storage, Stored pattern, const Draw& draw) const {
    const auto& type = sample_.types.inputs[input];
    const auto seed = checked_.seed + input;
    if (sample_.has_elements(input)) {
      const auto tensor = Tensor::empty(static_cast<DType>(type.dtype), shape_of(type));
      fill_input(tensor, *checked_.op.info, sample_, input, seed);
      return cast_storage(tensor, storage);
    }
    auto tensor =
        stored_ones(type, storage, storage == Storage::dense ? Stored::every : pattern, seed);
    if (const auto indices = indices_of(*checked_.op.info, sample_.types, input); indices > 0)
      fill_with_numbers(tensor.stored_values(), seed, indices);
    else
      fill_with_mixed_numbers(tensor, draw.of(input), seed);
    return tensor;
  }

  static NamedTensors displaced(const NamedTensors& stored, const Displacement& displacement) {
    NamedTensors moved;
    for (const auto& [name, tensor] : stored) {
      const auto& copy = moved[name] = tensor.clone();
      if (name.starts_with("input_"))
        displacement.displace(copy, std::stoul(name.substr(name.find('_') + 1)));
    }
    return moved;
  }

  /// Dense, with floating-point elements in this dtype.
  static NamedTensors converted(NamedTensors tensors, std::optional<DType> wide = {}) {
    for (auto& [name, tensor] : tensors) {
      tensor = cast_storage(tensor, Storage::dense);
      if (wide && floating.has(tensor.dtype())) tensor = elements_in(tensor, *wide).clone();
    }
    return tensors;
  }

  NearbyCalls nearby(const NamedTensors& stored) {
    const auto& inputs = sample_.types.inputs;
    const auto input = std::find_if(inputs.begin(), inputs.end(), is_floating);
    const auto dtype = input == inputs.end() ? DType::i64 : static_cast<DType>(input->dtype),
               wide = widest_dtype(dtype);
    NearbyCalls::Call precise;
    if (wide != dtype && allows(checked_.op.info->types, wide))
      precise = [this, stored, wide](const Displacement& displacement) {
        return results_of([&] {
          return in_dtype(wide).run(displaced(converted(stored, wide), displacement), {});
        });
      };
    return {
        dtype,
        [this, stored](const Displacement& displacement) {
          return results_of([&] { return run(converted(displaced(stored, displacement)), {}); });
        },
        [this, stored](const Displacement& displacement) {
          return results_of([&] { return run(displaced(stored, displacement), checked_.device); });
        },
        std::move(precise)};
  }

  /// This call in a wider dtype. Throws Failure if the operator refuses it.
  const Comparison& in_dtype(DType wide) {
    if (wide_ == nullptr) {
      const auto sample = with_dtype(OperatorCall(checked_.op, sample_.attributes), sample_, wide);
      if (!sample) throw Failure(FailureKind::failed, "it refuses the types");
      wide_ = std::make_unique<Comparison>(host_, checked_, *sample);
    }
    return *wide_;
  }

  // If the dense result is not finite, a sparse kernel may reject the call, because it cannot store
  // such values everywhere.
  template <class Run>
  std::string compare_all(const NamedTensors& expected, Run&& run, NearbyCalls nearby) {
    NamedTensors found;
    try {
      found = run();
    } catch (const Failure& failure) {
      if (!std::all_of(expected.begin(), expected.end(), [](const auto& output) {
            return largest(doubles_of(output.second)).finite;
          }))
        return {};
      return fmt::format("sparse inputs are refused ({}), but not dense ones", failure.what());
    }
    std::size_t index = 0;
    for (const auto& [name, tensor] : expected)
      if (auto fault = compare(name, tensor, found.at(name), index++, nearby); !fault.empty())
        return fault;
    repeated_ += nearby.ran() ? 1 : 0;
    return {};
  }

  struct Largest {
    double magnitude = 0;
    bool finite = true;
  };
  static Largest largest(const std::vector<double>& numbers) {
    Largest found;
    for (const double number : numbers)
      if (std::isfinite(number))
        found.magnitude = std::max(found.magnitude, std::abs(number));
      else
        found.finite = false;
    return found;
  }

  // Sums are as precise as their largest terms. Gradients of elements that are not stored are 0,
  // even if a dense gradient is nan because of 0 times infinity.
  std::string compare(const std::string& name, const Tensor& expected, const Tensor& found,
                      std::size_t index, NearbyCalls& nearby) const {
    const auto dtype = expected.dtype();
    const double tolerance = dtype == DType::f64 ? 1e-9 : dtype == DType::f32 ? 1e-4 : 2e-2;
    const bool by_element =
        checked_.op.info->elementwise && expected.shape() == shape_of(sample_.types.outputs[0]);
    const auto left = doubles_of(expected), right = doubles_of(found);
    const double magnitude = largest(left).magnitude;
    const auto is_near = [=](double one, double other) {
      return one == other ||
             (std::isnan(one) && (std::isnan(other) || (other == 0 && is_gradient(name)))) ||
             (std::isfinite(one) &&
              std::abs(one - other) <= tolerance * (1 + (by_element ? std::abs(one) : magnitude)));
    };
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (!is_near(left[i], right[i]) && !nearby.explain({index, i, left[i], right[i], is_near}))
        return fmt::format("element {} of {} is {}, but {} with dense inputs", i, name, right[i],
                           left[i]);
    }
    return {};
  }

  static bool is_gradient(const std::string& output) { return output.starts_with("gradient "); }

  Host& host_;
  const CheckedOperator& checked_;
  const TestInput sample_;
  SingleNode node_;
  std::unique_ptr<Comparison> wide_;  // for comparisons at nearby inputs
  std::size_t repeated_ = 0;
  std::map<std::string, std::size_t> seed_types_;  // output of each gradient that is a graph input
  std::string refusal_;
};

// Whether a sparse kernel supports these storages. For sparse output gradients, only backward
// matters.
bool is_supported(const CheckedOperator& checked, const OperatorCall& call, const CallTypes& known,
                  const CallStorages& storages) {
  auto whole = known;
  whole.storages = storages.inputs;
  if (!storages.has_sparse_gradient() && call.storage(whole).sparse) return true;
  const Instance kernel(checked.op, call.table(), call.attributes());
  auto backward_storages = storages.output_grads;
  backward_storages.insert(backward_storages.end(), storages.inputs.begin(), storages.inputs.end());
  auto types = known.outputs;
  types.insert(types.end(), known.inputs.begin(), known.inputs.end());
  return choose_storage(checked.op, kernel, true, backward_storages, types, storages.inputs.size(),
                        call.device().type())
      .sparse;
}

std::string describe(const OperatorCall& call, const CallStorages& storages) {
  std::string text;
  for (std::size_t i = 0; i < storages.inputs.size(); ++i)
    text += fmt::format("{}{} {}", i > 0 ? ", " : "", name_of_input(call.info(), i),
                        name_of(static_cast<Storage>(storages.inputs[i])));
  for (std::size_t i = 0; i < storages.output_grads.size(); ++i)
    if (storages.output_grads[i] != TENON_DENSE)
      text += fmt::format(", the gradient of {} {}", output_label(call, i),
                          name_of(static_cast<Storage>(storages.output_grads[i])));
  return text;
}

/// At most one output gradient is sparse, because the graph computes one gradient at a time.
std::vector<Storages> all_gradient_storages(const OperatorCall& call, const TestInput& sample) {
  std::vector<Storages> all{Storages(call.outputs(), TENON_DENSE)};
  for (std::size_t i = 0; i < sample.types.outputs.size(); ++i) {
    const auto& type = sample.types.outputs[i];
    if (!is_floating(type) || !is_known(type)) continue;
    for (const auto storage : {TENON_ROW_SPARSE, TENON_CSR}) {
      if (storage == TENON_CSR ? type.rank != 2 : type.rank < 1) continue;
      all.push_back(all.front());
      all.back()[i] = static_cast<std::uint8_t>(storage);
    }
  }
  return all;
}

/// All storages of the inputs with dense output gradients, and some with sparse ones.
std::vector<CallStorages> storages_of_calls(const OperatorCall& call, const TestInput& sample) {
  constexpr std::size_t max_calls = 120;
  std::vector<CallStorages> all;
  for (const auto& gradients : all_gradient_storages(call, sample))
    for (const auto& inputs : all_storages(sample))
      if (all.size() < max_calls || all.front().output_grads == gradients)
        all.push_back({inputs, gradients});
  return all;
}

std::string describe_patterns(const CallStorages& storages, const InputValues& values) {
  if (!storages.has_sparse_gradient()) return fmt::format("{}, ", values.inputs.description);
  return fmt::format("{}, in the gradient {}, ", values.inputs.description,
                     values.gradients.description);
}

}  // namespace

Outcome check_sparse(const CheckedOperator& checked) {
  Device& device = find_device(checked.device.empty() ? "cpu" : checked.device);
  const auto& kernel = *kernel_on(checked.op, device);
  if (kernel.forward_sparse == nullptr && kernel.backward_sparse == nullptr)
    return skipped("it has no sparse kernel");
  auto options = host_options(checked);
  options.search_defaults = true;  // the gradient may be a graph of any operators
  std::string changed_modes;       // other warnings of the host are ignored
  options.warn = [&](const std::string& warning) {
    if (is_about_float_modes(warning)) changed_modes = warning;
  };
  Host host(options);
  add_operators(host, checked);
  const GuardedAllocations guarded_allocations(device.is_cpu());
  std::size_t count = 0, repeated = 0;
  Refusals refusals;
  for (const auto kind : {TestInputKind::ordinary, TestInputKind::odd, TestInputKind::empty}) {
    const auto& samples = find_samples(checked, kind).found;
    refusals.add(find_samples(checked, kind).refusals);
    const auto max_samples = !device.is_cpu()                  ? max_device_samples
                             : kind == TestInputKind::ordinary ? max_ordinary_samples
                                                               : max_odd_samples;
    for (std::size_t i = 0; i < std::min(max_samples, samples.size()); ++i) {
      if (!device.is_cpu() && !is_for_devices(samples[i])) continue;
      const auto accepted = accepted_by_kernel(checked, samples[i], refusals);
      if (!accepted) continue;
      const auto& sample = *accepted;
      const OperatorCall call(checked.op, sample.attributes, device);
      std::optional<Comparison> comparison;
      for (const auto& storages : storages_of_calls(call, sample)) {
        if (!is_supported(checked, call, sample.types, storages)) continue;
        if (!comparison) comparison.emplace(host, checked, sample);
        if (storages.has_sparse_gradient() && !comparison->has_gradients()) continue;
        const auto description = describe(call, storages);
        report_call(*checked.op.info, sample, " (" + description + ", other sparsity patterns)");
        for (const auto& values : storages.has_sparse_gradient() ? values_with_sparse_gradients()
                                                                 : all_values(*checked.op.info)) {
          auto fault = comparison->test(storages, values);
          if (!fault) refusals.add(Refusals::kernel, comparison->refusal());
          if (fault && fault->empty()) fault = changed_modes;
          if (fault && !fault->empty())
            return failed(fmt::format(
                "{}, with {} ({}, {}{})", *fault, describe_sample(*checked.op.info, sample),
                description, describe_patterns(storages, values), values.draw.description));
          count += fault ? 1 : 0;
        }
      }
      if (comparison) repeated += comparison->repeated();
    }
  }
  if (count == 0) {
    if (find_samples(checked, TestInputKind::ordinary).found.empty()) return untried(refusals);
    return skipped("its sparse kernel supports none of the inputs that the operator accepts");
  }
  return passed(counted(count, "call") + describe_repeated(repeated));
}

}  // namespace tenon::checks
