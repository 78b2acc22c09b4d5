// Named arrays in numpy's .npz archives.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <tenon/host/tensor.hpp>

#include "file/array/array_file.hpp"

namespace tenon {

/// Reads all arrays of an archive, stored or deflated, by name. Throws Failure (file), naming the
/// archive and the array, for broken archives, wrong checksums, members other than .npy files, and
/// encryption. A member never causes a larger allocation than its compressed bytes can fill. An
/// archive of scipy.sparse.save_npz yields one csr tensor with the empty name.
std::map<std::string, Tensor> read_npz(const std::filesystem::path& path);

/// Writes uncompressed members, atomically, as numpy.savez does; equal arrays give equal bytes. A
/// single csr tensor, whatever its name, is written as scipy.sparse.save_npz does. Throws Failure
/// (usage) for other sparse tensors and for several.
void write_npz(const std::filesystem::path& path, const std::map<std::string, Tensor>& arrays);

/// Builds the csr matrix from an archive's arrays and format. Unsorted columns are sorted and
/// duplicate entries summed, as in scipy. Throws Failure (file) that names the file.
Tensor csr_from_npz(const std::filesystem::path& path, const std::string& format,
                    const NamedArrays& arrays);

/// The arrays of a csr tensor; the caller adds the `format` member "csr".
NamedArrays npz_of_csr(const Tensor& csr);

}  // namespace tenon
