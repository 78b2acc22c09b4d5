#include <fmt/format.h>
#include <fmt/ranges.h>

#include <tenon/host/arrays.hpp>
#include <tenon/host/cast_storage.hpp>
#include <tenon/host/failure.hpp>

#include "file/array/array_file.hpp"
#include "file/array/npy.hpp"
#include "file/array/npz.hpp"
#include "file/array/text_array.hpp"
#include "graph/inference/type.hpp"
#include "tensor/backing_files.hpp"
#include "tensor/exact_cast.hpp"

namespace tenon {
namespace {

void require_suffix(const std::filesystem::path& path, const char* suffix, const char* what) {
  if (path.extension() != suffix)
    throw Failure(FailureKind::usage,
                  fmt::format("{} are stored in {} files; '{}' has a different suffix", what,
                              suffix, path.string()));
}

bool is_table(const std::string& source) {
  return parse_source(source).file.ends_with(".csv");
}

Tensor read_for(const std::string& source, const ValueInfo& input) {
  if (is_table(source)) return load_table(source, {input}).at(input.name);
  if (!input.categories.empty())
    if (auto indices =
            read_categories(source, Categories(input.categories), input.dtype.value_or(DType::i64)))
      return *indices;
  auto tensor =
      read_array(source, input.name, type_of(input.dtype.value_or(unknown_dtype), input.shape));
  if (input.dtype && !widens(tensor.dtype(), *input.dtype))
    throw Failure(
        FailureKind::usage,
        fmt::format(
            "input '{}' is {} in its file but the graph needs {}, which cannot hold every value",
            input.name, name_of(tensor.dtype()), name_of(*input.dtype)));
  return tensor;
}

// Sessions accept sparse tensors for any input.
Tensor stored_for(const ValueInfo& input, const Tensor& tensor) {
  return input.storage == Storage::dense ? tensor : cast_storage(tensor, input.storage);
}

}  // namespace

Tensor load_array(const std::string& source) {
  return read_array(source, "", unknown_type());
}

std::string array_suffixes() {
  std::vector<std::string_view> all;
  for (const auto& format : array_formats())
    all.insert(all.end(), format.suffixes.begin(), format.suffixes.end());
  return fmt::format("{} or {}", fmt::join(all.begin(), all.end() - 1, ", "), all.back());
}

Tensor load_input(const std::string& source, const ValueInfo& input) {
  const auto tensor = read_for(source, input);
  auto converted = stored_for(input, input.dtype ? widened(tensor, *input.dtype) : tensor);
  BackingFiles(std::span(&tensor, 1)).require_unchanged();
  return converted;
}

Tensor load_input_unwidened(const std::string& source, const ValueInfo& input) {
  const auto tensor = read_for(source, input);
  auto converted = stored_for(input, tensor);
  BackingFiles(std::span(&tensor, 1)).require_unchanged();
  return converted;
}

std::map<std::string, Tensor> load_arrays(const std::filesystem::path& npz) {
  require_suffix(npz, ".npz", "several arrays");
  return read_npz(npz);
}

void save_array(const std::filesystem::path& path, const Tensor& tensor) {
  const bool dense = tensor.storage() == Storage::dense;
  require_suffix(path, dense ? ".npy" : ".npz", dense ? "dense arrays" : "sparse arrays");
  const auto here = tensor.to("cpu").make_contiguous();
  dense ? write_npy(path, here) : write_npz(path, {{"", here}});
}

void save_npy(const std::filesystem::path& path, const Tensor& tensor) {
  write_npy(path, tensor.to("cpu").make_contiguous());
}

void save_npy(const std::filesystem::path& path, const Tensor& indices,
              const Categories& categories) {
  const auto names = categories.names_of(indices, fmt::format("the array for '{}'", path.string()));
  write_npy(path, names, indices.shape());
}

void save_arrays(const std::filesystem::path& npz, const std::map<std::string, Tensor>& arrays) {
  require_suffix(npz, ".npz", "several arrays");
  std::map<std::string, Tensor> here;
  for (const auto& [name, tensor] : arrays) here.emplace(name, tensor.to("cpu").make_contiguous());
  write_npz(npz, here);
}

}  // namespace tenon
