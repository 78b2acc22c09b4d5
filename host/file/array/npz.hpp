// Named arrays in numpy's .npz archives.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <tenon/host/tensor.hpp>

namespace tenon {

/// All arrays of an archive, stored or deflated, by name. Throws Failure (file) that names the archive and the array: broken archives,
/// checksums that do not match, members that are no .npy files, encryption. A member claims no more memory than its bytes can fill.
/// An archive of scipy.sparse.save_npz is one csr tensor, under the empty name.
std::map<std::string, Tensor> read_npz(const std::filesystem::path& path);

/// Stored without compression, as numpy.savez does; the same arrays give the same bytes. Whole or not at all. A csr tensor alone, whatever
/// its name, is written as scipy.sparse.save_npz does; Failure (usage) for other sparse tensors and for several.
void write_npz(const std::filesystem::path& path, const std::map<std::string, Tensor>& arrays);

using NamedArrays = std::map<std::string, Tensor>;

/// The csr matrix that an archive's arrays and its format mean. Columns that do not ascend are sorted, and values of one place added, as
/// scipy means them. Throws Failure (file) that names the file.
Tensor csr_from_npz(const std::filesystem::path& path, const std::string& format, const NamedArrays& arrays);

/// The arrays of a csr tensor; the format, "csr", goes beside them.
NamedArrays npz_of_csr(const Tensor& csr);

}  // namespace tenon
