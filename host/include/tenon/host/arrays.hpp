// Array files: numpy's .npy and .npz, scipy's .npz, svmlight.
#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <tenon/host/api.hpp>
#include <tenon/host/categories.hpp>
#include <tenon/host/graph_info.hpp>
#include <tenon/host/tensor.hpp>
#include <vector>

namespace tenon {

/// Reads one array: `x.npy`; `data.npz` with one array, or an archive of scipy.sparse.save_npz
/// (csr); the features of `train.svm`, `train.libsvm` or `train.svmlight` (csr, float32); or all
/// columns of `table.csv` (float64). `x.npy[100:200]` reads a range of rows of any of these. A .npy
/// file of more than 64 MiB is memory-mapped if its layout allows: it opens at once, writes to the
/// tensor do not reach the file, and runs that use the tensor fail if the file has changed (see
/// guard_mapped_files()). Throws Failure: (usage) for rows out of range and for archives with
/// several arrays, (file) for files that cannot be read.
TENON_API Tensor load_array(const std::string& source);

/// The suffixes of files that load_array() reads, for a help text: `.npy, .npz, .svm, .libsvm,
/// .svmlight or .csv`.
TENON_API std::string array_suffixes();

/// Reads the array for a graph input, in the input's storage and dtype. From a .npz file: the
/// member with the input's name, or the only member; from `train.svm` the features, from
/// `train.svm:labels` the labels. Feature numbers start at 0 if any line has a feature 0, else at
/// 1; `train.svm:from-0` and `train.svm:from-1` set this explicitly (see with_common_features() for
/// several files). From a .csv file: the column of the input's name, or all columns (see
/// load_table()). For an input with categories, texts in a .npy or .csv file become indices, other
/// texts -1. The dtype is widened if that is lossless. Throws Failure as
/// load_array() does, and (usage) if the file's dtype does not fit.
TENON_API Tensor load_input(const std::string& source, const ValueInfo& input);

/// Makes feature numbers consistent across sources that belong together, such as training and
/// validation data: if an svmlight file among them has a feature 0 or is given with `:from-0`,
/// `:from-0` is appended to all that set nothing (`valid.svm:from-0`). Throws Failure (file) if one
/// of several such files cannot be read.
TENON_API std::vector<std::string> with_common_features(std::vector<std::string> sources);

/// load_input() in the file's own dtype, if that widens to the input's: run_in_batches() widens the
/// rows of one batch at a time, so that the array may be larger than memory. Throws Failure as
/// load_input() does.
TENON_API Tensor load_input_unwidened(const std::string& source, const ValueInfo& input);

/// Reads the inputs of a graph from the columns of a .csv file, whose first line names them, or
/// from a range of its rows, `table.csv[0:100]`. An input of one column is the column with its
/// name; if there is one input, it may also be all columns in order. An empty cell is NaN for
/// floating-point inputs; for inputs with categories, cells are names, and other names are -1.
/// Throws Failure: (usage) for inputs without a column, (file) with the line for rows of different
/// lengths and for cells that do not fit the input's dtype.
TENON_API std::map<std::string, Tensor> load_table(const std::string& source,
                                                   const std::vector<ValueInfo>& inputs);

/// All arrays of a .npz file, by name. Throws Failure (file).
TENON_API std::map<std::string, Tensor> load_arrays(const std::filesystem::path& npz);

/// Writes a dense tensor to a .npy file, or a csr tensor to a .npz file as scipy.sparse.save_npz
/// does, atomically. A tensor on a GPU is copied. Throws Failure: (usage) for other file names and
/// storages, (file) if the file cannot be written.
TENON_API void save_array(const std::filesystem::path& path, const Tensor& tensor);

/// Writes a dense tensor in .npy format to a file of any name. Throws Failure as save_array() does.
TENON_API void save_npy(const std::filesystem::path& path, const Tensor& tensor);

/// Writes the names of indices, as numpy saves arrays of str. Throws Failure as save_array() does,
/// and (failed) for indices without a name.
TENON_API void save_npy(const std::filesystem::path& path, const Tensor& indices,
                        const Categories& categories);

/// Writes a .npy file a few rows at a time, so that it may be larger than memory. The file appears
/// atomically, at commit(). Threads: one at a time.
class TENON_API NpyWriter {
 public:
  /// Throws Failure (file) if the file cannot be written, and (usage) for a scalar.
  NpyWriter(const std::filesystem::path& path, DType dtype, const Shape& shape);
  ~NpyWriter();
  NpyWriter(NpyWriter&&) noexcept;
  NpyWriter& operator=(NpyWriter&&) noexcept;

  /// Appends rows: a dense tensor of the dtype and, except for the first dimension, of the shape.
  /// Throws Failure: (usage) if `rows` does not fit, (failed) if writing fails.
  void write(const Tensor& rows);
  /// Completes the file after the last rows. Throws Failure, (usage) if rows are missing.
  void commit();

 private:
  struct TENON_HIDDEN Impl;
  std::unique_ptr<Impl> impl_;
};

/// Writes dense tensors to a .npz file, uncompressed, as numpy.savez does; or one csr tensor, as
/// save_array() does. Throws Failure as save_array() does.
TENON_API void save_arrays(const std::filesystem::path& npz,
                           const std::map<std::string, Tensor>& arrays);

}  // namespace tenon
