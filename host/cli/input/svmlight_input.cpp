#include "cli/input/svmlight_input.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <tenon/failure.hpp>
#include <tenon/visit.hpp>

#include "file/array/svmlight.hpp"

namespace tenon::cli {
namespace {

struct Source {
  std::string file, word;  // word: after the colon
};

Source parse_source(const std::string& text) {
  for (const char* ending : {".svm", ".libsvm", ".svmlight"}) {
    if (text.ends_with(ending)) return {text, {}};
    const auto colon = text.rfind(':');
    if (colon != std::string::npos && std::string_view(text).substr(0, colon).ends_with(ending))
      return {text.substr(0, colon), text.substr(colon + 1)};
  }
  return {};
}

// Labels are whole numbers mostly, and what they are used for says how they must lie.
Tensor labels_as(const Tensor& labels, DType wanted, const std::string& file) {
  const auto from = labels.values<double>();
  auto result = Tensor::empty(wanted, labels.shape());
  visit(wanted, [&]<class T>() {
    auto* to = result.data<T>();
    for (const double label : from) {
      if constexpr (std::is_integral_v<T>) {
        const double end = std::ldexp(1.0, std::numeric_limits<T>::digits), least = std::is_signed_v<T> ? -end : 0;
        if (!(label >= least && label < end && label == std::trunc(label)))
          throw Failure(FailureKind::usage, fmt::format("'{}' has the label {}, which {} does not hold", file, label, name_of(wanted)));
        *to++ = static_cast<T>(label);
      } else if constexpr (sizeof(T) == sizeof(double)) {
        *to++ = label;
      } else {
        *to++ = static_cast<T>(static_cast<float>(label));
      }
    }
  });
  return result;
}

}  // namespace

bool is_svmlight(const std::string& text) {
  return !parse_source(text).file.empty();
}

Tensor read_svmlight_input(const std::string& text, const tenon_type& type) {
  const auto source = parse_source(text);
  const auto dtype = type.dtype == TENON_DTYPE_UNKNOWN ? f32 : static_cast<DType>(type.dtype);
  if (source.word == "labels") return labels_as(read_svmlight(source.file).labels, dtype, source.file);
  SvmOptions options;
  if (source.word == "from-0") options.first = SvmOptions::First::zero;
  if (source.word == "from-1") options.first = SvmOptions::First::one;
  if (!source.word.empty() && options.first == SvmOptions::First::automatic)
    throw Failure(FailureKind::usage, fmt::format("'{}' asks for '{}' of {}", text, source.word, source.file),
                  fmt::format("write {0}, {0}:labels, {0}:from-0 or {0}:from-1", source.file));
  if (type.rank == 2) options.columns = type.dims[1];
  if (floating.has(dtype)) options.dtype = dtype;
  return read_svmlight(source.file, options).features;
}

}  // namespace tenon::cli
