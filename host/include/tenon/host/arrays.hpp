// Arrays in files: numpy's .npy and .npz, scipy's .npz, svmlight.
#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <tenon/host/api.hpp>
#include <tenon/host/graph_info.hpp>
#include <tenon/host/tensor.hpp>
#include <vector>

namespace tenon {

/// Reads one array: `x.npy`; `data.npz` with one array, or an archive of scipy.sparse.save_npz (csr); the features of `train.svm`,
/// `train.libsvm` or `train.svmlight` (csr, float32). `x.npy[100:200]` takes some rows of any of these. A .npy file of more than
/// 64 MiB is mapped if its layout allows: it opens at once, and what you write to the tensor does not reach the file; runs that use the
/// tensor fail where the file has changed (see guard_mapped_files()). Throws Failure: (usage) for rows that are not there and for archives
/// with several arrays, (file) for what cannot be read.
TENON_API Tensor load_array(const std::string& source);

/// The names of files that load_array() reads, for a help text: `.npy, .npz, .svm, .libsvm or .svmlight`.
TENON_API std::string array_suffixes();

/// The array for an input of a graph, in the input's storage and dtype: of a .npz file the member with the input's name or the only one; of
/// `train.svm` the features, of `train.svm:labels` the labels. Features count from 0 if any line has a feature 0, else from 1;
/// `train.svm:from-0` and `train.svm:from-1` say it (see with_common_features() for several files). A dtype is widened if nothing is lost.
/// Throws Failure as load_array(), and (usage) if the file's dtype does not fit.
TENON_API Tensor load_input(const std::string& source, const ValueInfo& input);

/// Sources that belong together, as training and validation data do: if an svmlight file among them has a feature 0 or says :from-0,
/// features count from 0 in all that do not say it, which become `valid.svm:from-0`. Throws Failure (file) if one of several such files
/// cannot be read.
TENON_API std::vector<std::string> with_common_features(std::vector<std::string> sources);

/// load_input() in the file's own dtype, where that widens to the input's: run_in_batches() widens the rows of one batch at a time, so that
/// the array may be longer than memory. Throws Failure as load_input().
TENON_API Tensor load_input_unwidened(const std::string& source, const ValueInfo& input);

/// All arrays of a .npz file, by name. Throws Failure (file).
TENON_API std::map<std::string, Tensor> load_arrays(const std::filesystem::path& npz);

/// Writes a dense tensor to a .npy file, or a csr tensor to a .npz file as scipy.sparse.save_npz does; a tensor on a GPU is copied. The
/// file is there whole or not at all. Throws Failure: (usage) for other names and storages, (file) if it cannot be written.
TENON_API void save_array(const std::filesystem::path& path, const Tensor& tensor);

/// Writes a dense tensor in the format of .npy files to a file of any name. Throws Failure, as save_array().
TENON_API void save_npy(const std::filesystem::path& path, const Tensor& tensor);

/// A .npy file that is written some rows at a time, so that it may be longer than memory. It is there whole or not at all: from commit()
/// on. Threads: one at a time.
class TENON_API NpyWriter {
 public:
  /// Throws Failure (file) if the file cannot be written, and (usage) for a scalar.
  NpyWriter(const std::filesystem::path& path, DType dtype, const Shape& shape);
  ~NpyWriter();
  NpyWriter(NpyWriter&&) noexcept;
  NpyWriter& operator=(NpyWriter&&) noexcept;

  /// The next rows: a dense tensor of the dtype, and of the shape but for the first dimension. Throws Failure: (usage) for another one,
  /// (failed) if writing fails.
  void write(const Tensor& rows);
  /// After the last rows. Throws Failure, (usage) if some are missing.
  void commit();

 private:
  struct TENON_HIDDEN Impl;
  std::unique_ptr<Impl> impl_;
};

/// Writes dense tensors to a .npz file, uncompressed, as numpy.savez does; or one csr tensor, as save_array() does. Throws Failure, as
/// save_array().
TENON_API void save_arrays(const std::filesystem::path& npz, const std::map<std::string, Tensor>& arrays);

}  // namespace tenon
