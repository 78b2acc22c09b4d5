#include "file/array/csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tenon/host/failure.hpp>

#include "io/system_reason.hpp"
#include "io/utf8.hpp"

namespace tenon {

CsvText::CsvText(const std::string& name, std::string_view text) : name_(name), rest_(text) {
  if (!is_utf8(text))
    throw file_failure("read", name, "it is not UTF-8", "convert it, for example with iconv");
  constexpr std::string_view mark = "\xef\xbb\xbf";
  if (rest_.starts_with(mark)) rest_.remove_prefix(mark.size());
  while (rest_.ends_with("\n\n") || rest_.ends_with("\n\r\n"))
    rest_.remove_suffix(rest_.ends_with("\n\n") ? 1 : 2);
}

void CsvText::refuse(std::size_t line, const char* reason) const {
  throw file_failure("read", name_, fmt::format("line {}: {}", line, reason));
}

bool CsvText::next(std::vector<std::string_view>& cells) {
  cells.clear();
  unquoted_.clear();
  if (rest_.empty()) return false;
  row_line_ = line_;
  for (;;) {
    cells.push_back(rest_.starts_with('"') ? quoted_cell() : cell());
    if (!rest_.starts_with(',')) break;
    rest_.remove_prefix(1);
  }
  end_line();
  return true;
}

std::string_view CsvText::cell() {
  const auto end = std::min(rest_.find_first_of(",\n\r\""), rest_.size());
  if (rest_.substr(end).starts_with('"')) refuse(line_, "a quote within a cell without quotes");
  const auto text = rest_.substr(0, end);
  rest_.remove_prefix(end);
  return text;
}

std::string_view CsvText::quoted_cell() {
  const auto first_line = line_;
  rest_.remove_prefix(1);
  std::size_t end = 0, doubled = 0;
  for (;; end += 2, ++doubled) {
    end = rest_.find('"', end);
    if (end == std::string_view::npos) refuse(first_line, "a quote that is not closed");
    if (end + 1 == rest_.size() || rest_[end + 1] != '"') break;
  }
  const auto text = rest_.substr(0, end);
  line_ += static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  rest_.remove_prefix(end + 1);
  if (!rest_.empty() && std::string_view(",\n\r").find(rest_[0]) == std::string_view::npos)
    refuse(line_, "text after a closing quote");
  if (doubled == 0) return text;
  auto& made = unquoted_.emplace_back();
  made.reserve(text.size() - doubled);
  for (std::size_t i = 0; i < text.size(); ++i) {
    made += text[i];
    if (text[i] == '"') ++i;
  }
  return made;
}

void CsvText::end_line() {
  if (rest_.starts_with('\r')) rest_.remove_prefix(1);
  if (rest_.empty()) return;
  if (rest_[0] != '\n') refuse(line_, "a carriage return within a line");
  rest_.remove_prefix(1);
  ++line_;
}

}  // namespace tenon
