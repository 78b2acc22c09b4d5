// Arrays in files of every format that Tenon reads.
#pragma once
#include <tenon/abi.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tenon/host/categories.hpp>
#include <tenon/host/tensor.hpp>
#include <vector>

namespace tenon {

/// FILE, FILE:SELECTOR or FILE[BEGIN:END]; BEGIN and END are optional. The selectors of an svmlight
/// file are labels, from-0 and from-1.
struct ArraySource {
  std::string file, selector{};
  std::int64_t begin = 0, end = -1;  // rows; -1: to the end
};

using NamedArrays = std::map<std::string, Tensor>;

struct ArrayFormat {
  std::vector<std::string_view> suffixes;
  const char* key;        ///< key in a graph.json; null: not allowed there
  bool accepts_selector;  ///< accepts FILE:SELECTOR
  /// Returns the arrays by name; a single unnamed array has the empty name. `type` is the type that
  /// the graph declares.
  NamedArrays (*read)(const ArraySource& source, const tenon_type& type);
};

// The readers of the formats, each defined in the file of its format.
NamedArrays read_npy_source(const ArraySource& source, const tenon_type& type);
NamedArrays read_npz_source(const ArraySource& source, const tenon_type& type);
NamedArrays read_svmlight_source(const ArraySource& source, const tenon_type& type);
NamedArrays read_csv_source(const ArraySource& source, const tenon_type& type);

/// To add a format, declare its reader above and add a row here. Files with other suffixes are read
/// as the first format.
inline const std::vector<ArrayFormat>& array_formats() {
  static const std::vector<ArrayFormat> formats{
      {{".npy"}, "npy", false, read_npy_source},
      {{".npz"}, "npz", false, read_npz_source},
      {{".svm", ".libsvm", ".svmlight"}, nullptr, true, read_svmlight_source},
      {{".csv"}, nullptr, false, read_csv_source}};
  return formats;
}

/// Moves the rows out of FILE[BEGIN:END]. Throws Failure (usage) for rows that are not numbers.
ArraySource parse_source(const std::string& text);
/// The rows of `source` as a view of the whole tensor's memory; rows of csr are copied. Throws
/// Failure (usage).
Tensor select_rows(const Tensor& array, const ArraySource& source);

/// The indices of a .npy file of texts; nothing if the file holds numbers. Throws Failure as
/// read_array() does.
std::optional<Tensor> read_categories(const std::string& source, const Categories& categories,
                                      DType dtype);

/// Reads the array for the input `name`: the array of a .npy file; the member of that name (or the
/// only member) of a .npz file; the features of a .svm, .libsvm or .svmlight file as csr. Features
/// are counted from 0 if any line has a feature 0, else from 1; FILE.svm:from-0 and FILE.svm:from-1
/// override this. FILE.svm:labels reads the labels in the declared dtype, which must be able to
/// hold them all. The result is contiguous. A .npy file is mapped if possible, and its rows are
/// then not copied. Throws Failure: (usage) for rows and selectors that do not exist, (file) for
/// broken files.
Tensor read_array(const std::string& source, const std::string& name, const tenon_type& type);

}  // namespace tenon
