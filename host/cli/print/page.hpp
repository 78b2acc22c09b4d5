// A page of headings, paragraphs, lists and tables, in Markdown or HTML, and its sections about an
// operator. Texts may be untrusted, so markup in them is escaped.
#pragma once
#include <string>
#include <tenon/host/catalog.hpp>
#include <utility>
#include <vector>

namespace tenon::cli {

/// Escapes a text for HTML content and quoted attributes. Each line is made printable().
std::string html_text(const std::string& text);

class Page {
 public:
  enum class Format { markdown, html };
  explicit Page(Format format) : html_(format == Format::html) {}

  void heading(int level, const std::string& text);
  void paragraph(const std::string& text);
  /// Adds a table whose first column is code; adds nothing if there are no rows.
  void table(const std::vector<std::string>& titles,
             const std::vector<std::vector<std::string>>& rows);
  void list(const std::string& title, const std::vector<std::string>& items);
  /// Adds pairs of names and descriptions.
  void facts(const std::vector<std::pair<std::string, std::string>>& rows);
  /// Adds a block of source code.
  void source(const std::string& lines);
  /// Returns what was added so far.
  const std::string& body() const { return body_; }
  /// Returns the complete page.
  std::string text(const std::string& title) const;

 private:
  std::string escaped(const std::string& text) const;
  std::string code(const std::string& text) const;
  void row(const std::vector<std::string>& cells, const char* tag);

  bool html_;
  std::string body_;
};

/// Adds tables of inputs, outputs, states and parameters, with a level-2 heading above each if
/// `titles` is set.
void add_tables(Page& page, const OperatorInfo& info, bool titles = false);
/// Adds traits, rules and examples as lists.
void add_lists(Page& page, const OperatorInfo& info);
/// Example: `kernels for cpu, cuda`.
std::string kernels_of(const CatalogOperator& op);

}  // namespace tenon::cli
