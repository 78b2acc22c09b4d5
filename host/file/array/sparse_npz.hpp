// Matrices in the layout of scipy.sparse.save_npz: the arrays data, indices, indptr, shape and the text format.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <tenon/tensor.hpp>

namespace tenon {

using NamedArrays = std::map<std::string, Tensor>;

/// The csr matrix that an archive's arrays and its format mean. Columns that do not ascend are sorted, and values of one place added, as
/// scipy means them. Throws Failure (file) that names the file.
Tensor csr_from_npz(const std::filesystem::path& path, const std::string& format, const NamedArrays& arrays);

/// The arrays of a csr tensor; the format, "csr", goes beside them.
NamedArrays npz_of_csr(const Tensor& csr);

}  // namespace tenon
