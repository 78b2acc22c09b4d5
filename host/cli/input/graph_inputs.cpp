#include "cli/input/graph_inputs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tenon/cast_storage.hpp>
#include <tenon/random.hpp>
#include <tenon/visit.hpp>

#include "cli/print/show_graph.hpp"
#include "file/array/array_file.hpp"

namespace tenon::cli {
namespace {

Tensor random_tensor(DType dtype, const Shape& shape, std::uint64_t seed, std::uint64_t node) {
  auto tensor = Tensor::empty(dtype, shape);
  const Random random(seed, 0, node);
  visit(dtype, [&]<class T>() {
    auto values = tensor.values<T>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if constexpr (std::is_integral_v<T>)
        values[i] = static_cast<T>(random.bits(i) % (std::is_same_v<T, bool> ? 2 : 10));
      else
        values[i] = static_cast<T>(2 * random.uniform(i) - 1);
    }
  });
  return tensor;
}

Shape fill_unknown(const std::string& name, const tenon_type& type, const std::map<std::string, std::string>& shapes) {
  if (const auto given = shapes.find(name); given != shapes.end()) return parse_shape(given->second);
  if (type.rank < 0)
    throw Failure(FailureKind::usage, fmt::format("the shape of input '{}' is not known", name),
                  fmt::format("give it with --shape {}=DIMS", name));
  auto shape = shape_of(type);
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (shape[axis] == unknown) shape.set(axis, 1);
  return shape;
}

std::vector<std::string> names_of(const GraphModel& model, const std::vector<ValueId>& values) {
  std::vector<std::string> names;
  for (const auto id : values) names.emplace_back(model.strings[model.values[id].name]);
  return names;
}

/// Throws Failure (usage) for a name that is no input of the graph, with near ones in the hint.
void check_input_names(const GraphModel& model, const std::map<std::string, std::string>& given) {
  const auto names = names_of(model, model.inputs);
  for (const auto& [name, text] : given) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const auto near = near_names(name, names);
    throw Failure(FailureKind::usage, fmt::format("the graph has no input '{}'", name),
                  near.empty() ? fmt::format("its inputs are {}", fmt::join(names, ", ")) : fmt::format("did you mean {}?", near.front()));
  }
}

/// What a file's array becomes for an input of another dtype: numpy's own rule for lossless casts (uint8 -> float32).
Tensor convert_for(const std::string& name, const Tensor& tensor, DType wanted) {
  if (tensor.dtype() == wanted) return tensor;
  if (tensor.storage() != Storage::dense) {
    const auto values = convert_for(name, tensor.stored_values(), wanted);
    return tensor.storage() == Storage::csr ? Tensor::csr(values, tensor.columns(), tensor.row_starts(), tensor.shape())
                                            : Tensor::row_sparse(values, tensor.row_ids(), tensor.shape());
  }
  const auto lossless = [](DType from, DType to) {
    const bool small = from == DType::boolean || from == DType::u8 || from == DType::i8;
    if (to == DType::f64) return small || from == DType::i32 || from == DType::f16 || from == DType::bf16 || from == DType::f32;
    if (to == DType::f32) return small || from == DType::f16 || from == DType::bf16;
    if (to == DType::i64) return small || from == DType::i32;
    return to == DType::i32 && small;
  };
  if (!lossless(tensor.dtype(), wanted))
    throw Failure(FailureKind::usage,
                  fmt::format("input '{}' is {} in its file but the graph needs {}, and not every value would survive that", name,
                              name_of(tensor.dtype()), name_of(wanted)));
  auto converted = Tensor::empty(wanted, tensor.shape());
  visit(tensor.dtype(), [&]<class From>() {
    const auto from = tensor.make_contiguous().values<From>();
    visit(wanted, [&]<class To>() {
      std::transform(from.begin(), from.end(), converted.values<To>().begin(), [](From x) { return static_cast<To>(x); });
    });
  });
  return converted;
}

/// The array that `source` names, in the dtype and the storage that the graph declares: sessions take sparse tensors anywhere.
Tensor read_fitted(const std::string& name, const std::string& source, const tenon_type& type) {
  const auto tensor = read_array(source, name, type);
  const auto converted = type.dtype == TENON_DTYPE_UNKNOWN ? tensor : convert_for(name, tensor, static_cast<DType>(type.dtype));
  const auto wanted = static_cast<Storage>(type.storage);
  return wanted == Storage::dense ? converted : cast_storage(converted, wanted);
}

}  // namespace

std::vector<Option> input_options() {
  return {
      {"input", "NAME=FILE", "an input's values, from a .npy, .npz or .svm file, or FILE[BEGIN:END] for some of its rows (default: random)",
       Named{"image=image.npy"}},
      {"shape", "NAME=DIMS", "the shape of a random input, like image=8x64", Named{"image=8x64"}},
      {"seed", "N", "seed of random inputs and of random operators", Integer{}, "0"}};
}

NamedTensors read_inputs(const Graph& graph, const Arguments& arguments) {
  return read_inputs(graph, arguments, {graph.model().inputs.begin(), graph.model().inputs.end()});
}

NamedTensors read_inputs(const Graph& graph, const Arguments& arguments, const std::vector<ValueId>& inputs) {
  const auto& model = graph.model();
  const auto files = arguments.named("input"), shapes = arguments.named("shape");
  check_input_names(model, files);
  check_input_names(model, shapes);
  const auto seed = arguments.count("seed");
  NamedTensors tensors;
  for (const auto id : inputs) {
    const std::string name(model.strings[model.values[id].name]);
    const auto& type = model.values[id].type;
    const auto dtype = type.dtype == TENON_DTYPE_UNKNOWN ? DType::f32 : static_cast<DType>(type.dtype);
    if (const auto file = files.find(name); file != files.end()) {
      auto wanted = type;
      wanted.dtype = static_cast<std::uint8_t>(dtype);
      tensors.emplace(name, read_fitted(name, file->second, wanted));
      continue;
    }
    const auto shape = fill_unknown(name, type, shapes);
    fmt::print(stderr, "input {} is random, {} {}\n", name, name_of(dtype), to_string(shape));
    tensors.emplace(name, cast_storage(random_tensor(dtype, shape, seed, id), static_cast<Storage>(type.storage)));
  }
  return tensors;
}

NamedTensors read_dataset(const Graph& graph, const Arguments& arguments, const std::string& option) {
  return read_dataset(graph, arguments, option, names_of(graph.model(), graph.model().inputs));
}

NamedTensors read_dataset(const Graph& graph, const Arguments& arguments, const std::string& option,
                          const std::vector<std::string>& inputs) {
  const auto& model = graph.model();
  const auto given = arguments.named(option);
  check_input_names(model, given);
  NamedTensors examples;
  for (const auto& name : inputs) {
    const auto found = given.find(name);
    if (found == given.end())
      throw Failure(FailureKind::usage, fmt::format("there are no data for input '{}'", name),
                    fmt::format("give them with --{} {}=FILE.npy", option, name));
    examples.emplace(name, read_fitted(name, found->second, model.values[find_value(model, name)].type));
  }
  return examples;
}

}  // namespace tenon::cli
