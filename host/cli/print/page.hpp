// A page of headings, paragraphs, lists and tables, in Markdown or HTML. Texts are anybody's: what would be markup is escaped.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace tenon::cli {

/// A text as HTML shows it, also between quotes. Of lines, each is printable().
std::string html_text(const std::string& text);

class Page {
 public:
  enum class Format { markdown, html };
  explicit Page(Format format) : html_(format == Format::html) {}

  void heading(int level, const std::string& text);
  void paragraph(const std::string& text);
  /// The first column is code. Nothing without rows.
  void table(const std::vector<std::string>& titles, const std::vector<std::vector<std::string>>& rows);
  void list(const std::string& title, const std::vector<std::string>& items);
  /// Names and what is to be said of each.
  void facts(const std::vector<std::pair<std::string, std::string>>& rows);
  /// Lines of source.
  void source(const std::string& lines);
  /// What was added so far.
  const std::string& body() const { return body_; }
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
