#include "cli/print/page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <string_view>

#include "cli/print/operator_text.hpp"
#include "io/utf8.hpp"

namespace tenon::cli {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

// Returns whether Markdown would treat the character as markup: some anywhere, others only at a
// line's beginning, at a word's end, or before a link.
bool is_markup(std::string_view text, std::size_t at) {
  const char c = text[at], before = at == 0 ? ' ' : text[at - 1],
             next = at + 1 < text.size() ? text[at + 1] : ' ';
  if (std::string_view("\\`*<|~").find(c) != std::string_view::npos) return true;
  if (std::string_view("#>-+=").find(c) != std::string_view::npos) return at == 0;
  if (c == '.' || c == ')') return at > 0 && text.find_first_not_of("0123456789") == at;
  return (c == '_' && !(is_word(before) && is_word(next))) ||
         (c == ']' && std::string_view("([:").find(next) != std::string_view::npos);
}

}  // namespace

std::string html_text(const std::string& text) {
  std::string out;
  for (const char c : printable_lines(text)) {
    const auto* name = c == '<'    ? "&lt;"
                       : c == '>'  ? "&gt;"
                       : c == '&'  ? "&amp;"
                       : c == '"'  ? "&quot;"
                       : c == '\'' ? "&#39;"
                                   : nullptr;
    name == nullptr ? out.push_back(c) : void(out += name);
  }
  return out;
}

std::string Page::escaped(const std::string& unescaped) const {
  const auto text = printable(unescaped);
  if (html_) return html_text(text);
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_markup(text, i)) out += '\\';
    out += text[i];
  }
  return out;
}

std::string Page::code(const std::string& text) const {
  return fmt::format("{}{}{}", html_ ? "<code>" : "`", html_ ? escaped(text) : printable(text),
                     html_ ? "</code>" : "`");
}

void Page::heading(int level, const std::string& text) {
  body_ +=
      html_ ? fmt::format("<h{} id=\"{}\">{}</h{}>\n", level, escaped(text), escaped(text), level)
            : fmt::format("{} {}\n\n", std::string(static_cast<std::size_t>(level), '#'),
                          escaped(text));
}

void Page::paragraph(const std::string& text) {
  body_ += fmt::format("{}{}{}", html_ ? "<p>" : "", escaped(text), html_ ? "</p>\n" : "\n\n");
}

void Page::row(const std::vector<std::string>& cells, const char* tag) {
  body_ += html_ ? "<tr>" : "|";
  for (const auto& cell : cells)
    body_ += html_ ? fmt::format("<{}>{}</{}>", tag, cell, tag) : fmt::format(" {} |", cell);
  body_ += html_ ? "</tr>\n" : "\n";
}

void Page::table(const std::vector<std::string>& titles,
                 const std::vector<std::vector<std::string>>& rows) {
  if (rows.empty()) return;
  if (html_) body_ += "<table>\n";
  row(titles, "th");
  if (!html_) row(std::vector<std::string>(titles.size(), "---"), "");
  for (const auto& cells : rows) {
    auto shown = cells;
    for (std::size_t i = 0; i < shown.size(); ++i)
      shown[i] = i == 0 ? code(shown[i]) : escaped(shown[i]);
    row(shown, "td");
  }
  body_ += html_ ? "</table>\n" : "\n";
}

void Page::list(const std::string& title, const std::vector<std::string>& items) {
  if (items.empty()) return;
  paragraph(title + ":");
  if (html_) body_ += "<ul>\n";
  for (const auto& item : items)
    body_ += fmt::format("{}{}{}", html_ ? "<li>" : "- ", escaped(item), html_ ? "</li>\n" : "\n");
  body_ += html_ ? "</ul>\n" : "\n";
}

void Page::facts(const std::vector<std::pair<std::string, std::string>>& rows) {
  if (html_) body_ += "<dl>\n";
  for (const auto& [name, value] : rows)
    body_ += fmt::format("{}{}{}{}{}", html_ ? "<dt>" : "- ", escaped(name),
                         html_ ? "</dt><dd>" : ": ", escaped(value), html_ ? "</dd>\n" : "\n");
  body_ += html_ ? "</dl>\n" : "\n";
}

void Page::source(const std::string& lines) {
  body_ += html_ ? fmt::format("<pre><code>{}</code></pre>\n", html_text(lines))
                 : fmt::format("```\n{}```\n\n", printable_lines(lines));
}

std::string Page::text(const std::string& title) const {
  if (!html_) return body_;
  return fmt::format(
      "<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<title>{}</title>\n"
      "<style>body {{font-family: sans-serif; max-width: 60em; margin: auto}} td, th {{text-align: "
      "left; padding: 0 1em 0 0; "
      "vertical-align: top}}</style>\n{}",
      escaped(title), body_);
}

void add_tables(Page& page, const OperatorInfo& info, bool titles) {
  using Rows = std::vector<std::vector<std::string>>;
  Rows inputs, outputs, states, params;
  for (const auto& input : info.inputs)
    inputs.push_back({input.name, input_text(info, input), input.doc});
  for (const auto& output : info.outputs) outputs.push_back({output.name, output_text(output)});
  for (const auto& state : info.states)
    states.push_back({state.name, fmt::format("initially {}", state.initial), state.doc});
  for (const auto& param : info.params)
    params.push_back({param.name, type_text(param), default_value_of(param), param.doc});
  const auto add = [&](const char* title, const std::vector<std::string>& columns,
                       const Rows& rows) {
    if (titles && !rows.empty()) page.heading(2, title);
    page.table(columns, rows);
  };
  add("Inputs", {"input", "dtypes", "description"}, inputs);
  add("Outputs", {"output", "description"}, outputs);
  add("States", {"state", "value", "description"}, states);
  add("Parameters", {"parameter", "type", "default", "description"}, params);
}

void add_lists(Page& page, const OperatorInfo& info) {
  page.list("Traits", traits_of(info));
  std::vector<std::string> rules, rewrites, onnx, examples;
  for (const auto& rule : info.rules) rules.push_back(rule_text(rule));
  for (const auto& example : info.examples) examples.push_back(example_text(example));
  page.list("Rules", rules);
  for (const auto& rule : info.rewrites) rewrites.push_back(rewrite_text(rule));
  page.list("Rewrite rules", rewrites);
  for (const auto& form : info.onnx) onnx.push_back(onnx_text(info, form));
  page.list("ONNX", onnx);
  page.list("Examples", examples);
}

std::string kernels_of(const CatalogOperator& op) {
  if (!op.devices.empty()) return fmt::format("kernels for {}", fmt::join(op.devices, ", "));
  return op.info.has("compose") ? "a composite of other operators" : "kernels in other plugins";
}

}  // namespace tenon::cli
