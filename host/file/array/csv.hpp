// Splits the text of a .csv file into rows of cells (RFC 4180).
#pragma once
#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

/// Cells are separated by commas and may be quoted; within quotes, two quotes are one, and commas
/// and line ends are text. Lines end with LF or CRLF. A byte-order mark and blank lines at the end
/// are skipped. The text must outlive this object.
class CsvText {
 public:
  /// `name` is the file's name in messages. Throws Failure (file) unless the text is UTF-8.
  CsvText(const std::string& name, std::string_view text);

  /// Reads a row; the cells are valid until the next call. Returns false at the end. Throws Failure
  /// (file) with the line for broken quotes.
  bool next(std::vector<std::string_view>& cells);
  std::size_t line() const { return row_line_; }  ///< of the beginning of the last row, from 1

 private:
  std::string_view cell();
  std::string_view quoted_cell();
  void end_line();
  [[noreturn]] void refuse(std::size_t line, const char* reason) const;

  const std::string& name_;
  std::string_view rest_;
  std::size_t line_ = 1, row_line_ = 0;
  std::deque<std::string> unquoted_;  // cells of this row that had two quotes for one
};

}  // namespace tenon
