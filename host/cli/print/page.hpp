// A page of headings, paragraphs, lists and tables, in Markdown or HTML. Texts are anybody's: what would be markup is escaped.
#pragma once
#include <string>
#include <vector>

namespace tenon::cli {

class Page {
 public:
  enum class Format { markdown, html };
  explicit Page(Format format) : html_(format == Format::html) {}

  void heading(int level, const std::string& text);
  void paragraph(const std::string& text);
  /// The first column is code. Nothing without rows.
  void table(const std::vector<std::string>& titles, const std::vector<std::vector<std::string>>& rows);
  void list(const std::string& title, const std::vector<std::string>& items);
  /// The whole page.
  std::string text(const std::string& title) const;

 private:
  std::string escaped(const std::string& text) const;
  std::string code(const std::string& text) const;
  void row(const std::vector<std::string>& cells, const char* tag);

  bool html_;
  std::string body_;
};

}  // namespace tenon::cli
