// An operator as its manifest describes it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tenon/attribute_map.hpp>
#include <tenon/dtype.hpp>
#include <utility>
#include <vector>

namespace tenon {

/// A set of dtypes: bit i stands for DType(i).
using DTypeMask = std::uint16_t;
inline bool allows(DTypeMask mask, DType dtype) {
  return (mask >> static_cast<unsigned>(dtype) & 1U) != 0;
}

enum class ParamKind : std::uint8_t { boolean, int32, int64, float32, float64, text, ints, floats, choice };

struct InputInfo {
  std::string name, doc;
  bool optional = false;
  bool variadic = false;           ///< only the last: stands for any number of tensors
  std::optional<DTypeMask> types;  ///< a dtype of its own; nothing: the dtype shared by all such inputs
  std::optional<double> initial;   ///< finite: what each element of a variable made for it begins with
};
struct OutputInfo {
  std::string name, doc;
  bool hidden = false;  ///< for backward only
  std::string count;    ///< the parameter that says how many outputs of this name there are; empty: one
};
struct StateInfo {
  std::string name, doc;
  double initial = 0;  ///< of each element; finite
};
struct ParamInfo {
  std::string name, doc;
  ParamKind kind = ParamKind::int64;
  AttributeValue default_value = std::int64_t{0};
  bool required = false;
  std::optional<double> min, max, above, below;
  std::vector<std::string> choices;
};

/// Everything a manifest says, checked. Names are unique and valid identifiers, every reference points at something.
struct OperatorInfo {
  std::string name, doc;
  int version = 1;
  std::vector<std::string> aliases;
  DTypeMask types = 0;
  std::vector<InputInfo> inputs;
  std::vector<OutputInfo> outputs;
  std::vector<StateInfo> states;
  std::vector<ParamInfo> params;
  std::vector<std::pair<int, int>> inplace;                       ///< (input, output)
  std::vector<std::pair<int, int>> backward_inplace;              ///< (output, input)
  std::vector<bool> backward_reads_input, backward_reads_output;  ///< one entry for each of inputs and outputs
  bool accumulates = false, strides = false, random = false, elementwise = false, kernels_elsewhere = false;
  std::vector<std::string> functions;  ///< of forward, forward_sparse, backward, backward_sparse, gradient, infer_storage
  struct Renamed {
    int version;
    std::string from, to;
  };
  std::vector<Renamed> renamed;
  std::vector<std::pair<int, std::string>> added;
  std::vector<std::byte> manifest;  ///< the bytes all this was read from

  bool variadic() const { return !inputs.empty() && inputs.back().variadic; }
  bool has(std::string_view function) const;
  int find_input(std::string_view name) const;  ///< -1 where there is none; so the others
  int find_output(std::string_view name) const;
  int find_param(std::string_view name) const;
};

/// Reads a manifest. Throws Failure (plugin) that says what is wrong with it and where; never trusts a byte of it.
OperatorInfo read_manifest(std::span<const std::byte> bytes);

}  // namespace tenon
