// Descriptions of manifests' content, for tenon inspect and tenon docs.
#pragma once
#include <string>
#include <tenon/host/operator_info.hpp>
#include <vector>

namespace tenon::cli {

std::string input_text(const OperatorInfo& info,
                       const InputInfo& input);  ///< `float32 float64, optional`
std::string output_text(const OutputInfo& output);
std::string kind_text(const ParamInfo& param);  ///< `text`, `float32 tensor`
/// ` >= 0 and < 1`; empty if there are no bounds
std::string range_of(const ParamInfo& param);
std::string default_value_of(const ParamInfo& param);  ///< `required`, `0.5`
std::string default_of(const ParamInfo& param);        ///< `required`, `default 0.1`
std::string rule_text(const RuleInfo& rule);
std::string rewrite_text(const RewriteInfo& rule);
std::string onnx_text(const OperatorInfo& info, const OnnxForm& form);
std::string example_text(const ExampleInfo& example);
std::vector<std::string> traits_of(const OperatorInfo& info);

}  // namespace tenon::cli
