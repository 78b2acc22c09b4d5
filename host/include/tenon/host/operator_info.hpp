// An operator, as described by its manifest.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tenon/dtype.hpp>
#include <tenon/host/api.hpp>
#include <tenon/host/attribute_map.hpp>
#include <utility>
#include <vector>

namespace tenon {

/// A set of dtypes: bit i stands for DType(i).
using DTypeMask = Types::Mask;
inline bool allows(DTypeMask mask, DType dtype) {
  return (mask >> static_cast<unsigned>(dtype) & 1U) != 0;
}

enum class ParamKind : std::uint8_t {
  boolean,
  int32,
  int64,
  float32,
  float64,
  text,
  ints,
  floats,
  choice,
  texts,
  tensor
};
/// The element types of tensor parameters.
inline constexpr Types table_types = {i32, i64, f32, f64};
TENON_API std::string_view name_of(ParamKind kind);    ///< for messages: `an integer`
TENON_API std::string_view kind_name(ParamKind kind);  ///< as in manifests: `int64`

// Each of these structs lists its fields with the manifest's keys: field("optional",
// self.optional). Reading manifests and printing JSON are based on these lists.

struct InputInfo {
  std::string name, doc;
  bool optional = false;
  bool variadic = false;  ///< stands for any number of tensors; the last input only
  /// the input's own dtypes; nothing: it shares one dtype with all such inputs
  std::optional<DTypeMask> types;
  /// initial value of each element of a variable created for the input; finite
  std::optional<double> initial;
  /// if omitted, the input becomes a variable; nothing: the plugin's SDK is older than 0.2 and does
  /// not declare this
  std::optional<bool> weight;
  bool on_cpu = false;      ///< kernels on all devices read it in CPU memory
  bool shape_only = false;  ///< kernels read only its shape and dtype, not its elements

  template <class Self, class Field>
  static void each_field(Self& self, Field&& field) {
    field("name", self.name), field("doc", self.doc), field("optional", self.optional),
        field("variadic", self.variadic);
    field("types", self.types), field("initial", self.initial), field("weight", self.weight);
    field("on_cpu", self.on_cpu), field("shape_only", self.shape_only);
  }
};
struct OutputInfo {
  std::string name, doc;
  bool hidden = false;  ///< only backward reads it
  std::string
      count;  ///< the parameter that holds the number of outputs of this name; empty: one output
  bool allocated = false;  ///< only the kernel determines the shape, so plans cannot
  bool left_out = false;   ///< hidden because of a parameter: written only if backward reads it

  template <class Self, class Field>
  static void each_field(Self& self, Field&& field) {
    field("name", self.name), field("doc", self.doc), field("hidden", self.hidden),
        field("count", self.count);
    field("allocated", self.allocated);
  }
};
struct StateInfo {
  std::string name, doc;
  double initial = 0;  ///< initial value of each element; finite

  template <class Self, class Field>
  static void each_field(Self& self, Field&& field) {
    field("name", self.name), field("doc", self.doc), field("initial", self.initial);
  }
};
struct ParamInfo {
  std::string name, doc;
  ParamKind kind = ParamKind::int64;
  AttributeValue default_value = std::int64_t{0};
  bool required = false;
  std::optional<double> min, max, above, below;
  std::vector<std::string> choices;
  std::optional<DType> dtype;  ///< for kind tensor: int32, int64, float32 or float64

  template <class Self, class Field>
  static void each_field(Self& self, Field&& field) {
    field("name", self.name), field("doc", self.doc), field("kind", self.kind),
        field("dtype", self.dtype);
    field("default", self.default_value);
    field("required", self.required), field("min", self.min), field("max", self.max),
        field("above", self.above);
    field("below", self.below), field("choices", self.choices);
  }
};

/// A property that holds while a parameter has one of these values: backward reads a tensor, an
/// output may use an input's memory, or an output is hidden.
struct ConditionInfo {
  std::string of;                  ///< backward_reads, inplace, backward_inplace or hidden
  std::vector<std::string> names;  ///< of inputs and outputs; a pair for in-place conditions
  std::string param;
  std::vector<AttributeValue> values;

  template <class Self, class Field>
  static void each_field(Self& self, Field&& field) {
    field("of", self.of), field("names", self.names), field("param", self.param),
        field("values", self.values);
  }
};
/// A relation that two parameters must satisfy. The operator itself rejects violations.
struct RuleInfo {
  std::string left, relation, right;

  template <class Self, class Field>
  static void each_field(Self& self, Field&& field) {
    field("left", self.left), field("relation", self.relation), field("right", self.right);
  }
};
/// A rewrite rule, validated as far as the manifest alone allows: sessions may run `replacement`
/// for matches of `pattern`.
struct RewriteInfo {
  std::string name, pattern, replacement;
  bool exact = false;  ///< the results are bit-identical

  template <class Self, class Field>
  static void each_field(Self& self, Field&& field) {
    field("name", self.name), field("pattern", self.pattern),
        field("replacement", self.replacement), field("exact", self.exact);
  }
};
/// An ONNX operator that computes the same, for some versions of its domain, as declared by
/// `op.onnx(...)` in describe(). A node of that type matches if each of its attributes is listed
/// here, each of its inputs and outputs has a counterpart, and all values are known; it is then
/// exactly equivalent to a node of this operator. All names of inputs, outputs, states and
/// parameters are valid. A parameter that counts an output and is not set otherwise is the node's
/// number of outputs.
struct OnnxForm {
  struct Attribute {
    std::string name, param;
    /// ONNX's value if the attribute is absent; nothing: the parameter's default
    std::optional<AttributeValue> absent;

    template <class Self, class Field>
    static void each_field(Self& self, Field&& field) {
      field("name", self.name), field("param", self.param), field("absent", self.absent);
    }
  };
  struct Value {
    std::string param;
    AttributeValue theirs = false,
                   ours = false;  ///< ONNX's integer or text, and the parameter's value

    template <class Self, class Field>
    static void each_field(Self& self, Field&& field) {
      field("param", self.param), field("theirs", self.theirs), field("ours", self.ours);
    }
  };
  struct InputAs {
    std::size_t place;  ///< index of ONNX's input
    std::string param;
    std::optional<AttributeValue> absent;  ///< as for attributes

    template <class Self, class Field>
    static void each_field(Self& self, Field&& field) {
      field("place", self.place), field("param", self.param), field("absent", self.absent);
    }
  };
  /// A list whose halves are two parameters; if both are the same parameter, the halves must be
  /// equal.
  struct Halves {
    std::string name;                  ///< the attribute's name, or
    std::optional<std::size_t> place;  ///< the input's index
    std::string first, second;

    template <class Self, class Field>
    static void each_field(Self& self, Field&& field) {
      field("name", self.name), field("place", self.place), field("first", self.first),
          field("second", self.second);
    }
  };
  struct Constant {
    std::string param;
    AttributeValue value = false;

    template <class Self, class Field>
    static void each_field(Self& self, Field&& field) {
      field("param", self.param), field("value", self.value);
    }
  };
  struct Without {
    std::string input, param;
    AttributeValue value = false;

    template <class Self, class Field>
    static void each_field(Self& self, Field&& field) {
      field("input", self.input), field("param", self.param), field("value", self.value);
    }
  };
  struct Only {
    std::string name;
    std::vector<AttributeValue> values;

    template <class Self, class Field>
    static void each_field(Self& self, Field&& field) {
      field("name", self.name), field("values", self.values);
    }
  };

  std::string domain;  ///< empty for standard ONNX, which files also write as ai.onnx
  std::string type;
  int since = 1;
  std::optional<int> until;  ///< the last version; nothing: no upper limit
  /// of the inputs that share one dtype, if fewer than the operator supports; nothing:
  /// OperatorInfo::types
  std::optional<DTypeMask> types;
  /// For each ONNX input, the input or state of this operator. Empty: the position may belong to
  /// inputs_as or halves, or else the input must be absent, as must all inputs after the last
  /// position. A variadic input is the last one and takes all that follow.
  std::vector<std::string> inputs;
  /// the same for ONNX's outputs; outputs that are empty or after the last must be unused
  std::vector<std::string> outputs;
  std::vector<Attribute> attributes;
  std::vector<Value>
      values;  ///< all possible values of their parameters; other parameters have ONNX's own values
  std::vector<InputAs> inputs_as;  ///< inputs that become parameters, if their values are known
  std::vector<Halves> halves;
  std::vector<Constant> constants;   ///< set in every node of this form
  std::vector<Without> without;      ///< set if the optional input is absent
  std::vector<Only> only;            ///< attributes that, if present, must have one of these values
  std::vector<std::string> ignored;  ///< attributes without effect

  bool covers(int version) const { return version >= since && (!until || version <= *until); }
  /// Converts ONNX's value of an attribute or input to the parameter's; nothing if there is no
  /// equivalent. An integer converts to a bool if it is 0 or 1, to a list of one for a list
  /// parameter, and to a number; a list of one converts to a number.
  TENON_API std::optional<AttributeValue> value_of(const ParamInfo& param,
                                                   const AttributeValue& onnx_value) const;
  /// The inverse; nothing if ONNX has no such value.
  TENON_API std::optional<AttributeValue> onnx_value_of(const ParamInfo& param,
                                                        const AttributeValue& value) const;

  template <class Self, class Field>
  static void each_field(Self& self, Field&& field) {
    field("domain", self.domain), field("type", self.type), field("since", self.since),
        field("until", self.until);
    field("types", self.types), field("inputs", self.inputs), field("outputs", self.outputs),
        field("attributes", self.attributes);
    field("values", self.values), field("inputs_as", self.inputs_as), field("halves", self.halves),
        field("constants", self.constants);
    field("without", self.without), field("only", self.only), field("ignored", self.ignored);
  }
};
/// Inputs and parameters that the operator accepts, as declared by its author.
struct ExampleInfo {
  struct Input {
    std::string name;
    std::optional<std::string> dtype;
    std::vector<std::int64_t> shape;
    std::vector<double> values;  ///< all elements; empty: arbitrary

    template <class Self, class Field>
    static void each_field(Self& self, Field&& field) {
      field("name", self.name), field("dtype", self.dtype), field("shape", self.shape),
          field("values", self.values);
    }
  };
  struct Param {
    std::string name;
    AttributeValue value;

    template <class Self, class Field>
    static void each_field(Self& self, Field&& field) {
      field("name", self.name), field("value", self.value);
    }
  };
  std::vector<Input> inputs;
  std::vector<Param> params;

  template <class Self, class Field>
  static void each_field(Self& self, Field&& field) {
    field("inputs", self.inputs), field("params", self.params);
  }
};

/// The validated content of a manifest: names are unique and valid identifiers, and every reference
/// has a target.
struct TENON_API OperatorInfo {
  std::string name, doc;
  /// The part of the full name before the dot. If the author declares none, catalogs use the
  /// plugin's name, or `app` for operators of the application; empty in a manifest that was just
  /// read.
  std::string space;
  bool own_space = false;  ///< declared by the author
  int version = 1;
  std::vector<std::string> aliases;
  DTypeMask types = 0;
  std::vector<InputInfo> inputs;
  std::vector<OutputInfo> outputs;
  std::vector<StateInfo> states;
  std::vector<ParamInfo> params;
  std::vector<std::pair<int, int>> inplace;           ///< (input, output)
  std::vector<std::pair<int, int>> backward_inplace;  ///< (output, input)
  std::vector<std::pair<int, int>> linear;  ///< terms of the output: the input, or the two, that
                                            ///< each is linear in; -1: no second
  std::vector<bool> backward_reads_input,
      backward_reads_output;  ///< one entry for each of inputs and outputs
  bool accumulates = false, strides = false, random = false, elementwise = false,
       kernels_elsewhere = false;
  bool derivative = false;  ///< nodes may have the parameter `derivative`, which is not in params:
                            ///< the input to differentiate by
  /// inputs and outputs that may have that layout, all of them or none
  std::vector<std::string> channels_last;
  std::vector<bool> channels_last_input,
      channels_last_output;            ///< the same, one entry for each of inputs and outputs
  bool prefers_channels_last = false;  ///< the kernel is faster with channels last
  /// the gradient intentionally differs from the derivative of forward
  bool surrogate_gradient = false;
  bool communicates = false;  ///< kernels wait for other processes that run the same graph
  /// subset of forward, forward_sparse, backward, backward_sparse, gradient, infer_storage
  std::vector<std::string> functions;
  struct Renamed {
    int version;
    std::string from, to;
  };
  struct Removed {
    int version;
    std::string name;
    std::optional<AttributeValue> was;  ///< the only value that may be dropped; nothing: any value
  };
  using Added = std::vector<std::pair<int, std::string>>;  ///< with the version that added it
  std::vector<Renamed> renamed;
  std::vector<Removed> removed;
  Added added, added_inputs, added_outputs, added_states;
  std::vector<std::pair<std::string, AttributeValue>>
      was;  ///< values in older files of parameters in `added`, if not the default
  std::vector<ConditionInfo> conditions;
  std::vector<RuleInfo> rules;
  std::vector<RewriteInfo> rewrites;
  std::vector<OnnxForm> onnx;  ///< forms of the same type have disjoint versions
  std::vector<ExampleInfo> examples;
  std::vector<std::byte> manifest;  ///< the bytes that this was read from

  std::string full_name() const {
    return space.empty() ? name : space + '.' + name;
  }  ///< `acme.rope`
  bool variadic() const { return !inputs.empty() && inputs.back().variadic; }
  bool has(std::string_view function) const;
  std::vector<std::string> read_by_backward()
      const;  ///< names of inputs and outputs, including conditional ones
  /// Whether the kernel allocates output i, or any output.
  bool allocates() const;
  bool allocates(std::size_t i) const {
    if (i < outputs.size()) return outputs[i].allocated;
    return !outputs.empty() && outputs.back().allocated && !outputs.back().count.empty();
  }
  /// the index, or -1 if no input has this name; the same for the two below
  int find_input(std::string_view name) const;
  int find_output(std::string_view name) const;
  int find_param(std::string_view name) const;

  /// Lists all fields except those derived from others. Traits have a phrase for messages, which
  /// may be empty.
  template <class Self, class Field>
  static void each_field(Self& self, Field&& field) {
    field("name", self.name), field("doc", self.doc), field("version", self.version),
        field("aliases", self.aliases);
    field("types", self.types), field("inputs", self.inputs), field("outputs", self.outputs),
        field("states", self.states);
    field("params", self.params),
        field("elementwise", self.elementwise, "elementwise, with broadcasting");
    field("accumulates", self.accumulates, "supports accumulation into outputs"),
        field("strides", self.strides, "supports non-contiguous inputs");
    field("random", self.random, "random"), field("kernels_elsewhere", self.kernels_elsewhere, "");
    field("derivative", self.derivative, "supports second derivatives (attribute derivative)");
    field("surrogate_gradient", self.surrogate_gradient,
          "surrogate gradient: intentionally not the derivative of forward");
    field("communicates", self.communicates, "waits for other processes");
    field("channels_last", self.channels_last);
    field("prefers_channels_last", self.prefers_channels_last, "prefers channels-last");
    field("functions", self.functions), field("space", self.space),
        field("conditions", self.conditions);
    field("rules", self.rules), field("rewrites", self.rewrites), field("onnx", self.onnx);
    field("examples", self.examples);
  }
};

/// Reads an untrusted manifest. Throws Failure (plugin) that says what is wrong and where.
TENON_API OperatorInfo read_manifest(std::span<const std::byte> bytes);

}  // namespace tenon
