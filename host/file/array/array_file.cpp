#include "file/array/array_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <tenon/host/failure.hpp>

#include "file/array/svmlight.hpp"
#include "file/array/text_array.hpp"
#include "io/counted.hpp"
#include "io/file_memory.hpp"
#include "tensor/sparse/rows.hpp"

namespace tenon {
namespace {

std::int64_t parse_row(const std::string& text, const std::string& row, std::int64_t otherwise) {
  if (row.empty()) return otherwise;
  std::int64_t number = 0;
  const auto [stop, error] = std::from_chars(row.data(), row.data() + row.size(), number);
  if (error != std::errc() || stop != row.data() + row.size() || number < 0)
    throw Failure(FailureKind::usage, fmt::format("'{}' is not a row of '{}'", row, text),
                  "write rows as x.npy[0:1500] or x.npy[1500:]");
  return number;
}

ArraySource parse_rows(const std::string& text) {
  const auto open = text.rfind('['), colon = text.rfind(':');
  if (!text.ends_with("]") || open == std::string::npos || colon == std::string::npos ||
      colon < open)
    return {text};
  return {text.substr(0, open),
          {},
          parse_row(text, text.substr(open + 1, colon - open - 1), 0),
          parse_row(text, text.substr(colon + 1, text.size() - colon - 2), -1)};
}

/// Moves the selector out of `source.file` into `source.selector`.
const ArrayFormat& find_format(ArraySource& source) {
  const auto colon = source.file.rfind(':');
  const auto before = colon == std::string::npos ? std::string_view()
                                                 : std::string_view(source.file).substr(0, colon);
  for (const auto& format : array_formats())
    for (const auto suffix : format.suffixes) {
      if (source.file.ends_with(suffix)) return format;
      if (!format.accepts_selector || !before.ends_with(suffix)) continue;
      source.selector = source.file.substr(colon + 1);
      source.file.resize(colon);
      return format;
    }
  return array_formats().front();
}

Tensor pick(const NamedArrays& arrays, const std::string& file, const std::string& name) {
  if (const auto found = arrays.find(name); found != arrays.end()) return found->second;
  if (arrays.size() == 1) return arrays.begin()->second;
  std::vector<std::string> names;
  for (const auto& [other, tensor] : arrays) names.push_back(other);
  if (name.empty())
    throw Failure(
        FailureKind::usage,
        fmt::format("'{}' holds {} arrays but exactly one is needed", file, arrays.size()),
        arrays.empty()
            ? ""
            : fmt::format("it has {}; load_arrays() reads them all by name", listed(names)));
  throw Failure(FailureKind::usage,
                fmt::format("'{}' has no array '{}' for input '{}'", file, name, name),
                fmt::format("it has {}", listed(names)));
}

}  // namespace

ArraySource parse_source(const std::string& text) {
  return parse_rows(text);
}

Tensor select_rows(const Tensor& array, const ArraySource& source) {
  const auto shape = array.shape();
  if (source.begin == 0 && source.end < 0) return array;
  if (shape.rank() == 0)
    throw Failure(FailureKind::usage, fmt::format("'{}' is a scalar and has no rows", source.file));
  const auto end = source.end < 0 ? shape[0] : source.end;
  if (source.begin > end || end > shape[0])
    throw Failure(FailureKind::usage,
                  fmt::format("'{}' has {}, but rows {} to {} are requested", source.file,
                              counted(shape[0], "row"), source.begin, end));
  return row_range(array, source.begin, end);
}

std::vector<std::string> with_common_features(std::vector<std::string> sources) {
  std::map<std::string, std::vector<std::string*>> undecided;  // by file
  bool from_zero = false;
  for (auto& source : sources) {
    auto parsed = parse_rows(source);
    if (!find_format(parsed).accepts_selector) continue;
    if (parsed.selector.empty()) undecided[parsed.file].push_back(&source);
    from_zero = from_zero || parsed.selector == "from-0";
  }
  if (!from_zero && undecided.size() < 2) return sources;
  if (!from_zero && std::none_of(undecided.begin(), undecided.end(),
                                 [](const auto& entry) { return has_feature_zero(entry.first); }))
    return sources;
  for (const auto& [file, all] : undecided)
    for (auto* source : all) source->insert(file.size(), ":from-0");
  return sources;
}

std::optional<Tensor> read_categories(const std::string& source, const Categories& categories,
                                      DType dtype) {
  auto parsed = parse_rows(source);
  if (find_format(parsed).read != read_npy_source) return std::nullopt;
  const auto file = FileMemory::open(parsed.file);
  const auto array = texts_from_npy(parsed.file, file->bytes());
  file->require_unchanged();
  if (!array) return std::nullopt;
  return select_rows(categories.indices_of(array->texts, array->shape, dtype), parsed);
}

Tensor read_array(const std::string& source, const std::string& name, const tenon_type& type) {
  auto parsed = parse_rows(source);
  const auto& format = find_format(parsed);
  return select_rows(pick(format.read(parsed, type), parsed.file, name).make_contiguous(), parsed);
}

}  // namespace tenon
