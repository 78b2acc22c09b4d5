// Labelled sparse examples in the text form of svmlight and libsvm: LABEL INDEX:VALUE INDEX:VALUE ... # comment
#pragma once
#include <cstdint>
#include <filesystem>
#include <tenon/host/tensor.hpp>

namespace tenon {

struct SvmOptions {
  /// The number of a line's first feature. automatic: zero where any line has a feature 0, else one, as libsvm writes it. A file that
  /// counts from zero but never uses feature 0 is misread so: say zero.
  enum class First : std::uint8_t { automatic, zero, one } first = First::automatic;
  std::int64_t columns = -1;  ///< of the matrix; -1: as many as the largest number needs
  DType dtype = f32;          ///< of the values: floating
};

struct SvmExamples {
  Tensor features;  ///< csr [examples, columns], with what the file says, zeros too
  Tensor labels;    ///< float64 [examples]
};

/// Lines end in \n or \r\n; empty ones and those with a comment alone are no examples; `qid:N` after a label is passed over. Numbers are
/// decimal, `inf` and `nan` among them. Features ascend within a line. Throws Failure (file) that names the line of the first fault.
SvmExamples read_svmlight(const std::filesystem::path& path, const SvmOptions& options = {});

/// Whether any line has a feature 0. Lines are not checked. Throws Failure (file) if the file cannot be read.
bool has_feature_zero(const std::filesystem::path& path);

}  // namespace tenon
