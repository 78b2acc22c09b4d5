// Descriptions of manifests' content, for tenon inspect and tenon docs.
#pragma once
#include <string>
#include <tenon/host/operator_info.hpp>
#include <vector>

namespace tenon::cli {

std::string input_text(const OperatorInfo& info,
                       const InputInfo& input);  ///< `float32 float64, optional`
std::string output_text(const OutputInfo& output);
/// `int (>= 1)`, `float32 tensor`, `one of: mean, sum`
std::string type_text(const ParamInfo& param);
std::string default_value_of(const ParamInfo& param);  ///< `required`, `0.5`
/// `int (>= 1), required`, `one of: mean, sum; default "mean"`
std::string type_and_default(const ParamInfo& param);
std::string rule_text(const RuleInfo& rule);
std::string rewrite_text(const RewriteInfo& rule);
std::string onnx_text(const OperatorInfo& info, const OnnxForm& form);
std::string example_text(const ExampleInfo& example);
std::vector<std::string> traits_of(const OperatorInfo& info);

}  // namespace tenon::cli
