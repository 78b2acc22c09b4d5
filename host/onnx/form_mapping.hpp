// The correspondence between an ONNX operator and a Tenon operator that a manifest's form
// (`op.onnx`) declares. The importer applies it to ONNX nodes, the exporter to Tenon nodes.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tenon/host/operator_info.hpp>
#include <vector>

namespace tenon::onnx {

/// An ONNX input, by its position, or an attribute, by its name.
struct OnnxField {
  std::optional<std::size_t> input;
  std::string_view attribute{};

  std::string text() const;  ///< for errors: `its input 1`
  bool operator==(const OnnxField&) const = default;
};

/// An ONNX field whose value is one parameter, or a list whose halves are two.
struct ParamMapping {
  OnnxField field;
  const ParamInfo* param;
  const ParamInfo* second = nullptr;  ///< of the second half; may be the same parameter
  /// ONNX's value if the field is absent; null: the parameter's default
  const AttributeValue* absent = nullptr;
  int replacing = -1;         ///< index of Tenon's input that can replace the parameter; -1: none
  std::optional<int> rank{};  ///< of ONNX's value, 0 or 1, if the parameter's may differ
};

/// A parameter that no ONNX field holds.
struct FixedParam {
  const ParamInfo* param;
  const AttributeValue* value;
  /// Tenon's input with which the parameter has its default instead; may be null
  const std::string* unless = nullptr;
};

/// The rules of a form, and those of ONNX's own operators that forms do not state, for both
/// directions. The operator and the form must outlive it.
class FormMapping {
 public:
  FormMapping(const OperatorInfo& info, const OnnxForm& form);

  /// Name of Tenon's input or state at this position of ONNX's inputs; empty if there is none.
  std::string_view input_at(std::size_t position) const;
  /// The inverse, for one of a node's inputs, of which there are `count`, followed by its states.
  std::optional<std::size_t> position_of(std::size_t input, std::size_t count) const;
  /// Whether Tenon has the output at this position of ONNX's outputs.
  bool has_output(std::size_t position) const;

  /// Inputs first. A position may also belong to Tenon's input that replaces the parameter; that
  /// input has precedence.
  const std::vector<ParamMapping>& params() const { return params_; }
  const std::vector<FixedParam>& fixed() const { return fixed_; }
  const ParamMapping* find(const OnnxField& field) const;  ///< null if the form lacks it

  using Params = std::map<std::string, AttributeValue>;
  /// Sets the parameters to ONNX's value. Returns the reason if they have no such value.
  std::string read(const ParamMapping& mapping, const AttributeValue& onnx_value,
                   Params& params) const;
  /// The inverse; nothing if ONNX has no such value. `second` is used for halves only.
  std::optional<AttributeValue> onnx_value(const ParamMapping& mapping, const AttributeValue& first,
                                           const AttributeValue& second) const;
  /// The parameter's value if ONNX's field is absent; nothing if the field is required.
  std::optional<AttributeValue> absent_value(const ParamMapping& mapping) const;

  /// Whether ONNX requires the field, so that it is written even if it has its default.
  bool is_required(const ParamMapping& mapping) const;
  /// The first opset with this field, or with this value of it; 1 if all forms have it.
  std::int64_t since(const OnnxField& field, const AttributeValue* value = nullptr) const;
  /// The types of an input of indices, if ONNX allows fewer than Tenon.
  std::optional<Types> index_types(std::size_t position) const;

 private:
  bool is_standard(std::string_view type) const {
    return form_.domain.empty() && form_.type == type;
  }

  const OperatorInfo& info_;
  const OnnxForm& form_;
  std::vector<ParamMapping> params_;
  std::vector<FixedParam> fixed_;
};

/// The value of a parameter that is an input in ONNX; the tensor itself if there is no other.
AttributeValue value_of(const Tensor& elements);
/// The inverse; nothing if no tensor holds the value exactly enough. `dtype`: of numbers, that of
/// the inputs that share one.
std::optional<Tensor> elements_of(const AttributeValue& value, std::optional<DType> dtype);

}  // namespace tenon::onnx
