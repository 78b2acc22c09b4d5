// Escaping text for XML drawings.
#pragma once
#include <string>
#include <string_view>

namespace tenon {

/// Escapes `text` for XML. Control characters, which XML does not allow, become spaces.
inline std::string xml_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else
      out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return out;
}

}  // namespace tenon
