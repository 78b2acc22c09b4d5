#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tenon/host/arrays.hpp>
#include <tenon/host/cast_storage.hpp>
#include <tenon/host/failure.hpp>
#include <tenon/visit.hpp>

#include "file/array/array_file.hpp"
#include "file/array/npy.hpp"
#include "file/array/npz.hpp"
#include "graph/type.hpp"

namespace tenon {
namespace {

void require_suffix(const std::filesystem::path& path, const char* suffix, const char* what) {
  if (path.extension() != suffix)
    throw Failure(FailureKind::usage, fmt::format("{} go into {} files, and '{}' is not one", what, suffix, path.string()));
}

// Whether every value survives. Conversions between small types are left to whoever wrote the file.
bool is_lossless(DType from, DType to) {
  const bool small = from == DType::boolean || from == DType::u8 || from == DType::i8;
  if (to == DType::f64) return small || from == DType::i32 || from == DType::f16 || from == DType::bf16 || from == DType::f32;
  if (to == DType::f32) return small || from == DType::f16 || from == DType::bf16;
  if (to == DType::i64) return small || from == DType::i32;
  return to == DType::i32 && small;
}

Tensor converted_for(const ValueInfo& input, const Tensor& tensor, DType wanted) {
  if (tensor.dtype() == wanted) return tensor;
  if (tensor.storage() != Storage::dense) {
    const auto values = converted_for(input, tensor.stored_values(), wanted);
    return tensor.storage() == Storage::csr ? Tensor::csr(values, tensor.columns(), tensor.row_starts(), tensor.shape())
                                            : Tensor::row_sparse(values, tensor.row_ids(), tensor.shape());
  }
  if (!is_lossless(tensor.dtype(), wanted))
    throw Failure(FailureKind::usage,
                  fmt::format("input '{}' is {} in its file but the graph needs {}, and not every value would survive that", input.name,
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

}  // namespace

Tensor load_array(const std::string& source) {
  return read_array(source, "", unknown_type());
}

std::string array_suffixes() {
  std::vector<std::string_view> all;
  for (const auto& format : array_formats()) all.insert(all.end(), format.suffixes.begin(), format.suffixes.end());
  return fmt::format("{} or {}", fmt::join(all.begin(), all.end() - 1, ", "), all.back());
}

Tensor load_input(const std::string& source, const ValueInfo& input) {
  const auto tensor = read_array(source, input.name, type_of(input.dtype.value_or(unknown_dtype), input.shape));
  const auto converted = input.dtype ? converted_for(input, tensor, *input.dtype) : tensor;
  return input.storage == Storage::dense ? converted : cast_storage(converted, input.storage);  // sessions take sparse tensors anywhere
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

void save_arrays(const std::filesystem::path& npz, const std::map<std::string, Tensor>& arrays) {
  require_suffix(npz, ".npz", "several arrays");
  std::map<std::string, Tensor> here;
  for (const auto& [name, tensor] : arrays) here.emplace(name, tensor.to("cpu").make_contiguous());
  write_npz(npz, here);
}

}  // namespace tenon
