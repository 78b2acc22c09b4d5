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
int read_version(const JsonField& field);
void require_entries(const JsonField& list, std::size_t count);
/// For error messages: the text in quotes, where it is short.
std::string in_quotes(const std::string& text);

/// One entry of "params": its default fits its kind and its bounds.
ParamInfo read_param(const JsonField& entry);

/// The index of the input or output that the field names.
int input_at(const JsonField& field, const OperatorInfo& info);
int output_at(const JsonField& field, const OperatorInfo& info);
/// Of `linear`: the inputs that a term of the only output is linear in, one or two; the second is -1 where there is one.
std::pair<int, int> read_term(const JsonField& names, const OperatorInfo& info);

/// What changed since older versions of the operator: "renamed" and "added", and what 0.2 knows besides. Parameters are read before.
void read_history(const JsonField& root, OperatorInfo& info);
/// What SDK 0.2 added: "conditions", "rules" and "examples", each of which may be missing. Parameters are read before.
void read_conditions(const JsonField& root, OperatorInfo& info);
void read_rules(const JsonField& root, OperatorInfo& info);
void read_examples(const JsonField& root, OperatorInfo& info);
/// "rewrites": each rule is read as a text of the language of rules (RewriteRule).
void read_rewrites(const JsonField& root, OperatorInfo& info);
/// "onnx": forms with keys that this host does not know are left out.
void read_onnx(const JsonField& root, OperatorInfo& info);
/// A value of this parameter that it accepts on its own; rules and configure() may refuse it.
AttributeValue read_param_value(const JsonField& field, const ParamInfo& param);

/// Reads the keys that point at inputs, outputs and parameters by name, and checks all that must hold between the parts of `info`: names
/// are unique, references point at something, only the last input is variadic.
void read_references(const JsonField& root, OperatorInfo& info);

}  // namespace tenon
