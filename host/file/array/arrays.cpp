#include <fmt/format.h>

#include <tenon/arrays.hpp>
#include <tenon/failure.hpp>

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

}  // namespace

Tensor load_array(const std::string& source) {
  return read_array(source, "", unknown_type());
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

void save_arrays(const std::filesystem::path& npz, const std::map<std::string, Tensor>& arrays) {
  require_suffix(npz, ".npz", "several arrays");
  std::map<std::string, Tensor> here;
  for (const auto& [name, tensor] : arrays) here.emplace(name, tensor.to("cpu").make_contiguous());
  write_npz(npz, here);
}

}  // namespace tenon
