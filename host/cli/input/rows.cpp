#include "cli/input/rows.hpp"

#include <fmt/format.h>

#include <charconv>
#include <tenon/failure.hpp>

#include "cli/input/feed.hpp"
#include "tensor/row_range.hpp"

namespace tenon::cli {
namespace {

/// FILE, or FILE[BEGIN:END] with either end left out.
struct Source {
  std::string file;
  std::int64_t begin = 0, end = -1;  // -1: the last row
};

std::int64_t parse_row(const std::string& text, const std::string& row, std::int64_t otherwise) {
  if (row.empty()) return otherwise;
  std::int64_t number = 0;
  const auto [stop, error] = std::from_chars(row.data(), row.data() + row.size(), number);
  if (error != std::errc() || stop != row.data() + row.size() || number < 0)
    throw Failure(FailureKind::usage, fmt::format("'{}' is no row of '{}'", row, text),
                  "rows are written like x.npy[0:1500], x.npy[1500:]");
  return number;
}

Source parse_source(const std::string& text) {
  const auto open = text.rfind('['), colon = text.rfind(':');
  if (!text.ends_with("]") || open == std::string::npos || colon == std::string::npos || colon < open) return {text, 0, -1};
  return {text.substr(0, open), parse_row(text, text.substr(open + 1, colon - open - 1), 0),
          parse_row(text, text.substr(colon + 1, text.size() - colon - 2), -1)};
}

/// The rows as they lie in the whole tensor's memory.
Tensor take_rows(const Tensor& whole, const Source& source) {
  const auto shape = whole.shape();
  if (source.begin == 0 && source.end < 0) return whole;
  if (shape.rank() == 0) throw Failure(FailureKind::usage, fmt::format("'{}' is a scalar and has no rows", source.file));
  const auto end = source.end < 0 ? shape[0] : source.end;
  if (source.begin > end || end > shape[0])
    throw Failure(FailureKind::usage,
                  fmt::format("'{}' has {} rows, but rows {} to {} are requested", source.file, shape[0], source.begin, end));
  return row_range(whole, source.begin, end);
}

}  // namespace

Tensor read_rows(const std::string& name, const std::string& text, const tenon_type& type) {
  const auto source = parse_source(text);
  return take_rows(read_input(name, source.file, type).make_contiguous(), source);
}

}  // namespace tenon::cli
