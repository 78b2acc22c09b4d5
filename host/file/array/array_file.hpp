// Arrays in files of every format that Tenon reads.
#pragma once
#include <tenon/abi.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tenon/host/tensor.hpp>
#include <vector>

namespace tenon {

/// FILE, FILE:WORD or FILE[BEGIN:END] with either end left out.
struct ArraySource {
  std::string file, word{};
  std::int64_t begin = 0, end = -1;  // of rows; -1: after the last
};

/// A new format is an entry in array_file.cpp. Files with other names are read as the first one's.
struct ArrayFormat {
  std::vector<std::string_view> suffixes;
  const char* key;  ///< in a graph.json; null: not there
  bool words;       ///< FILE:WORD is taken
  /// By name; one array without a name has the empty one. `type`: what the graph declares.
  std::map<std::string, Tensor> (*read)(const ArraySource& source, const tenon_type& type);
};
const std::vector<ArrayFormat>& array_formats();

/// For the input `name`: the array of a .npy file; of a .npz file the member of that name or the only one; of a .svm, .libsvm or .svmlight
/// file the features as csr, counted from 0 where any line has a feature 0, else from 1 (FILE.svm:from-0 and FILE.svm:from-1 say it), or
/// as FILE.svm:labels the labels in the declared dtype, if it holds them all. Contiguous. A .npy file is mapped if it can be, and its rows
/// are not copied. Throws Failure: (usage) for rows and words that are not there, (file) for broken files.
Tensor read_array(const std::string& source, const std::string& name, const tenon_type& type);

}  // namespace tenon
