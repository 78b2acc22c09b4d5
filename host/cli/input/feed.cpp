#include "cli/input/feed.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tenon/cast_storage.hpp>
#include <tenon/random.hpp>
#include <tenon/visit.hpp>

#include "cli/input/rows.hpp"
#include "cli/input/svmlight_input.hpp"
#include "cli/print/show_graph.hpp"
#include "file/array/npy.hpp"
#include "file/array/npz.hpp"

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

}  // namespace

Tensor read_input(const std::string& name, const std::string& path, const tenon_type& type) {
  if (is_svmlight(path)) return read_svmlight_input(path, type);
  if (!path.ends_with(".npz")) return read_npy(path);
  auto members = read_npz(path);
  if (const auto found = members.find(name); found != members.end()) return found->second;
  if (members.size() == 1) return members.begin()->second;
  std::vector<std::string> names;
  names.reserve(members.size());
  for (const auto& [member, tensor] : members) names.push_back(member);
  throw Failure(FailureKind::usage, fmt::format("'{}' has no array '{}' for input '{}'", path, name, name),
                fmt::format("it has {}", fmt::join(names, ", ")));
}

void check_input_names(const GraphModel& model, const std::map<std::string, std::string>& given) {
  std::vector<std::string> names;
  for (const auto id : model.inputs) names.emplace_back(model.strings[model.values[id].name]);
  for (const auto& [name, text] : given) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const auto near = near_names(name, names);
    throw Failure(FailureKind::usage, fmt::format("the graph has no input '{}'", name),
                  near.empty() ? fmt::format("its inputs are {}", fmt::join(names, ", ")) : fmt::format("did you mean {}?", near.front()));
  }
}

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

Tensor fitted(const std::string& name, const Tensor& tensor, const tenon_type& type) {
  const auto converted = type.dtype == TENON_DTYPE_UNKNOWN ? tensor : convert_for(name, tensor, static_cast<DType>(type.dtype));
  const auto wanted = static_cast<Storage>(type.storage);
  return wanted == Storage::dense ? converted : cast_storage(converted, wanted);
}

std::vector<Option> feed_options() {
  return {
      {"input", "NAME=FILE", "an input's values, from a .npy, .npz or .svm file, or FILE[BEGIN:END] for some of its rows (default: random)",
       Named{"image=image.npy"}},
      {"shape", "NAME=DIMS", "the shape of a random input, like image=8x64", Named{"image=8x64"}},
      {"seed", "N", "seed of random inputs and of random operators", Integer{}, "0"}};
}

NamedTensors feed(const Graph& graph, const Arguments& arguments) {
  return feed(graph, arguments, {graph.model().inputs.begin(), graph.model().inputs.end()});
}

NamedTensors feed(const Graph& graph, const Arguments& arguments, const std::vector<ValueId>& inputs) {
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
      tensors.emplace(name, fitted(name, read_rows(name, file->second, wanted), wanted));
      continue;
    }
    const auto shape = fill_unknown(name, type, shapes);
    fmt::print(stderr, "input {} is random, {} {}\n", name, name_of(dtype), to_string(shape));
    tensors.emplace(name, cast_storage(random_tensor(dtype, shape, seed, id), static_cast<Storage>(type.storage)));
  }
  return tensors;
}

}  // namespace tenon::cli
