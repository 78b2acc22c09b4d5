// Readers of a manifest's sections, which are implemented in several files.
#pragma once
#include <tenon/host/operator_info.hpp>

#include "io/json_document.hpp"

namespace tenon {

/// Returns UTF-8 text without control characters.
std::string plain_text(const JsonField& field);
std::string identifier(const JsonField& field);
DType read_dtype(const JsonField& field, std::string_view what = {});
double not_nan(const JsonField& field);
int read_version(const JsonField& field);
void require_entries(const JsonField& list, std::size_t count);
/// Returns the text for error messages: in quotes if it is short.
std::string in_quotes(const std::string& text);

/// Reads one entry of "params". Checks that its default fits its kind and bounds.
ParamInfo read_param(const JsonField& entry);

/// Returns the index of the input or output that the field names.
int input_at(const JsonField& field, const OperatorInfo& info);
int output_at(const JsonField& field, const OperatorInfo& info);
/// Reads a term of `linear`: the one or two inputs in which the only output is linear; the second
/// is -1 if there is one.
std::pair<int, int> read_term(const JsonField& names, const OperatorInfo& info);

/// Reads changes since older versions of the operator: "renamed", "added" and the keys added in SDK
/// 0.2. Parameters must be read before.
void read_history(const JsonField& root, OperatorInfo& info);
/// Reads the optional keys of SDK 0.2: "conditions", "rules" and "examples". Parameters must be
/// read before.
void read_conditions(const JsonField& root, OperatorInfo& info);
void read_rules(const JsonField& root, OperatorInfo& info);
void read_examples(const JsonField& root, OperatorInfo& info);
/// Reads "rewrites" and parses each rule (see RewriteRule).
void read_rewrites(const JsonField& root, OperatorInfo& info);
/// Reads "onnx"; mappings with keys unknown to this host are left out.
void read_onnx(const JsonField& root, OperatorInfo& info);
/// Reads a value that the parameter accepts by itself; rules and configure() may still refuse it.
AttributeValue read_param_value(const JsonField& field, const ParamInfo& param);

/// Reads the keys that refer to inputs, outputs and parameters by name, and checks what must hold
/// within `info`: names are unique, references resolve, only the last input is variadic.
void read_references(const JsonField& root, OperatorInfo& info);

}  // namespace tenon
