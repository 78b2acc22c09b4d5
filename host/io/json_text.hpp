// How single values are written in a graph.json, and read back bit by bit.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tenon {

/// In quotes, with escapes for what JSON does not allow as it is, and for what would drive a terminal.
void append_json_text(std::string& to, std::string_view text);

void append_json_number(std::string& to, std::int64_t value);

/// The shortest form that reads back as the same number, always with a point or an exponent: 1.0, -0.0, 1e+300. What JSON has no numbers
/// for is a text: "inf", "-inf", "nan", and "nan(0x7ff8000000000001)" for those with other bits.
void append_json_number(std::string& to, double value);
/// The same for a float32: fewer digits do.
void append_json_number(std::string& to, float value);

/// The number that such a text stands for.
std::optional<double> special_number(std::string_view text);

}  // namespace tenon
