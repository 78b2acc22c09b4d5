#include "file/array/svmlight.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>
#include <tenon/host/failure.hpp>
#include <tenon/visit.hpp>
#include <vector>

#include "file/array/array_file.hpp"
#include "io/counted.hpp"
#include "io/file_memory.hpp"
#include "io/system_reason.hpp"
#include "io/utf8.hpp"
#include "tensor/number_fits.hpp"
#include "tensor/tracked_tensor.hpp"

namespace tenon {
namespace {

using First = SvmOptions::First;

std::string_view next_word(std::string_view& line) {
  constexpr std::string_view space = " \t\r";
  line.remove_prefix(std::min(line.find_first_not_of(space), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(space));
  line.remove_prefix(word.size());
  return word;
}

// Requires the whole word to be a number; a leading plus sign is common in such files.
template <class Number>
std::errc parse(std::string_view word, Number& number) {
  if (word.starts_with('+') && !word.starts_with("+-")) word.remove_prefix(1);
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc() && end != word.data() + word.size() ? std::errc::invalid_argument
                                                                  : error;
}

class SvmReader {
 public:
  SvmReader(const std::filesystem::path& path, const SvmOptions& options)
      : path_(path), options_(options) {}

  SvmExamples read(std::string_view text) {
    while (!text.empty()) {
      ++line_;
      const std::size_t end = std::min(text.find('\n'), text.size());
      std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      example(line.substr(0, line.find('#')));
    }
    return {matrix(), Tensor::from(labels_, {static_cast<std::int64_t>(labels_.size())})};
  }

 private:
  void example(std::string_view line) {
    std::string_view word = next_word(line);
    if (word.empty()) return;
    labels_.push_back(number(word, "label"));
    last_ = -1;
    word = next_word(line);
    if (word.starts_with("qid:")) word = next_word(line);
    for (; !word.empty(); word = next_word(line)) feature(word);
    starts_.push_back(static_cast<std::int64_t>(columns_.size()));
  }

  void feature(std::string_view word) {
    const std::size_t colon = word.find(':');
    if (colon == std::string_view::npos)
      fail(quoted(word) + " has no colon", "a feature is written NUMBER:VALUE");
    std::int64_t index = 0;
    const std::errc error = parse(word.substr(0, colon), index);
    if (error == std::errc::result_out_of_range ||
        index == std::numeric_limits<std::int64_t>::max())
      fail(quoted(word) + " has a feature number that does not fit 64 bits");
    if (error != std::errc() || index < 0)
      fail(quoted(word) + " does not begin with a feature number");
    if (index == 0 && options_.first == First::one)
      fail("found feature 0, but features are declared to count from 1");
    if (index <= last_)
      fail(join("feature ", index, " follows feature ", last_,
                ": they must be strictly increasing"));
    if (index > max_index_) max_index_ = index, max_index_line_ = line_;
    zero_ = zero_ || index == 0;
    last_ = index;
    columns_.push_back(index);
    values_.push_back(number(word.substr(colon + 1), "value"));
    const bool fit =
        visit<floating>(options_.dtype, [&]<class T>() { return fits<T>(values_.back()); });
    if (!fit) fail(join("the value of ", quoted(word), " does not fit ", options_.dtype));
  }

  double number(std::string_view word, const char* what) const {
    double value = 0;
    const std::errc error = parse(word, value);
    if (error == std::errc::result_out_of_range)
      fail(join("the ", what, " ", quoted(word), " is out of the range of float64"));
    if (error != std::errc()) fail(join("the ", what, " ", quoted(word), " is not a number"));
    return value;
  }

  Tensor matrix() {
    const bool from_zero =
        options_.first == First::zero || (options_.first == First::automatic && zero_);
    const std::int64_t needed = from_zero ? max_index_ + 1 : std::max<std::int64_t>(max_index_, 0);
    line_ = max_index_line_;
    if (options_.columns >= 0 && needed > options_.columns)
      fail(join("found feature ", max_index_, ", but the input has ",
                counted(options_.columns, "feature"), ", counted from ", from_zero ? 0 : 1));
    if (!from_zero)
      for (std::int64_t& column : columns_) --column;
    const Shape shape = {static_cast<std::int64_t>(labels_.size()),
                         options_.columns >= 0 ? options_.columns : needed};
    const auto list = [](const auto& values) {
      return TrackedTensor::frozen(
          Tensor::from(values, {static_cast<std::int64_t>(values.size())}));
    };
    const Tensor values =
        Tensor::empty(options_.dtype, {static_cast<std::int64_t>(values_.size())});
    visit<floating>(options_.dtype, [&]<class T>() {
      std::transform(values_.begin(), values_.end(), values.data<T>(), number_as<T>);
    });
    try {
      return Tensor::csr(values, list(columns_), list(starts_), shape);
    } catch (const Failure& failure) {  // the shape is too large; everything else is checked
      throw file_failure("read", path_, failure.what());
    }
  }

  static std::string quoted(std::string_view word) {
    return "'" + printable(word.substr(0, 40)) + "'";
  }
  [[noreturn]] void fail(const std::string& reason, const char* hint = "") const {
    throw file_failure("read", path_, join("line ", line_, ": ", reason), hint);
  }

  const std::filesystem::path& path_;
  const SvmOptions& options_;
  std::vector<double> labels_, values_;
  std::vector<std::int64_t> columns_, starts_ = {0};  // columns_: as in the file, until the end
  std::int64_t line_ = 0, last_ = -1, max_index_ = -1, max_index_line_ = 0;
  bool zero_ = false;
};

bool is_zero(std::string_view number) {
  if (number.starts_with('+')) number.remove_prefix(1);
  return !number.empty() && number.find_first_not_of('0') == std::string_view::npos;
}

// Labels are mostly integers; the requested dtype decides how they are stored.
Tensor labels_as(const Tensor& labels, DType dtype, const std::string& file) {
  const auto from = labels.values<double>();
  if (low_bit.has(dtype))
    throw Failure(FailureKind::usage,
                  fmt::format("labels of '{}' are requested as {}, which has no arithmetic", file,
                              name_of(dtype)));
  auto result = Tensor::empty(dtype, labels.shape());
  visit<every_type>(dtype, [&]<class T>() {
    auto* to = result.data<T>();
    for (const double label : from) {
      if (!fits<T>(label) || (std::is_integral_v<T> && label != std::trunc(label)))
        throw Failure(FailureKind::usage,
                      fmt::format("'{}' has the label {}, which does not fit {}", file, label,
                                  name_of(dtype)));
      *to++ = number_as<T>(label);
    }
  });
  return result;
}

}  // namespace

bool has_feature_zero(const std::filesystem::path& path) {
  const auto file = FileMemory::open(path);
  std::string_view text(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    auto line = text.substr(0, std::min(text.find('#'), end));
    text.remove_prefix(std::min(end + 1, text.size()));
    next_word(line);  // the label
    for (auto word = next_word(line); !word.empty(); word = next_word(line))
      if (is_zero(word.substr(0, word.find(':')))) return true;
  }
  return false;
}

SvmExamples read_svmlight(const std::filesystem::path& path, const SvmOptions& options) {
  if (!floating.has(options.dtype))
    throw Failure(FailureKind::usage,
                  join("the values of ", path.string(),
                       " can only be read as floating-point numbers, not as ", options.dtype));
  const auto file = FileMemory::open(path);
  auto examples =
      SvmReader(path, options)
          .read({reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()});
  file->require_unchanged();
  return examples;
}

NamedArrays read_svmlight_source(const ArraySource& source, const tenon_type& type) {
  const auto& [file, selector, begin, end] = source;
  const auto dtype = type.dtype == TENON_DTYPE_UNKNOWN ? f32 : static_cast<DType>(type.dtype);
  if (selector == "labels") return {{"", labels_as(read_svmlight(file).labels, dtype, file)}};
  SvmOptions options;
  if (selector == "from-0") options.first = SvmOptions::First::zero;
  if (selector == "from-1") options.first = SvmOptions::First::one;
  if (!selector.empty() && options.first == SvmOptions::First::automatic)
    throw Failure(FailureKind::usage,
                  fmt::format("'{0}:{1}': {0} has no part '{1}'", file, selector),
                  fmt::format("write {0}, {0}:labels, {0}:from-0 or {0}:from-1", file));
  if (type.rank == 2) options.columns = type.dims[1];
  if (floating.has(dtype)) options.dtype = dtype;
  return {{"", read_svmlight(file, options).features}};
}

}  // namespace tenon
