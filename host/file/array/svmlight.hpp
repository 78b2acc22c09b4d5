// Labeled sparse examples in the text format of svmlight and libsvm: LABEL INDEX:VALUE INDEX:VALUE
// ... # comment
#pragma once
#include <cstdint>
#include <filesystem>
#include <tenon/host/tensor.hpp>

namespace tenon {

struct SvmOptions {
  /// The number of the first feature. `automatic`: zero if any line has a feature 0, else one, as
  /// libsvm writes it. A file that counts from zero but never uses feature 0 is misread this way:
  /// use `zero` for it.
  enum class First : std::uint8_t { automatic, zero, one } first = First::automatic;
  std::int64_t columns = -1;  ///< of the matrix; -1: enough for the largest feature number
  DType dtype = f32;          ///< of the values; floating-point
};

struct SvmExamples {
  Tensor features;  ///< csr [examples, columns]; explicit zeros are stored
  Tensor labels;    ///< float64 [examples]
};

/// Lines end in \n or \r\n. Empty lines and comment lines are skipped, and so is a `qid:N` after a
/// label. Numbers are decimal and may be `inf` or `nan`. Features must increase within a line.
/// Throws Failure (file) that names the first faulty line.
SvmExamples read_svmlight(const std::filesystem::path& path, const SvmOptions& options = {});

/// Returns whether any line has a feature 0. Lines are not validated. Throws Failure (file) if the
/// file cannot be read.
bool has_feature_zero(const std::filesystem::path& path);

}  // namespace tenon
