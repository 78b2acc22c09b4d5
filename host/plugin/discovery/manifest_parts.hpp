// The parts of reading a manifest that have a file of their own.
#pragma once
#include <tenon/host/operator_info.hpp>

#include "io/json_document.hpp"

namespace tenon {

/// Plain text, no control characters.
std::string plain_text(const JsonField& field);
std::string identifier(const JsonField& field);
DType read_dtype(const JsonField& field, std::string_view what = {});
double not_nan(const JsonField& field);
void require_entries(const JsonField& list, std::size_t count);
/// For error messages: the text in quotes, where it is short.
std::string in_quotes(const std::string& text);

/// One entry of "params": its default fits its kind and its bounds.
ParamInfo read_param(const JsonField& entry);

/// Reads the keys that point at inputs, outputs and parameters by name, and checks all that must hold between the parts of `info`: names
/// are unique, references point at something, only the last input is variadic.
void read_references(const JsonField& root, OperatorInfo& info);

}  // namespace tenon
