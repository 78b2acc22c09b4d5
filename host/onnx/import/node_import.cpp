#include "onnx/import/node_import.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <tenon/visit.hpp>

#include "graph/inference/type.hpp"
#include "io/counted.hpp"
#include "onnx/dtype.hpp"

namespace tenon::onnx {
namespace {

struct Entry {
  int since;
  Composition::Import import;
};
using Compositions = std::map<std::pair<std::string_view, std::string_view>, std::vector<Entry>>;

Compositions& compositions() {
  static Compositions all;
  return all;
}

template <class T>
std::vector<T> list_of(const List<T>& list) {
  return {list.begin(), list.end()};
}

}  // namespace

Composition::Composition(const char* type, Import import, int since, const char* domain) {
  compositions()[{domain, type}].push_back({since, import});
}

Composition::Import find_composition(std::string_view domain, std::string_view type,
                                     std::int64_t version) {
  const auto found = compositions().find({domain, type});
  if (found == compositions().end()) return nullptr;
  const Entry* best = nullptr;
  for (const auto& entry : found->second)
    if (entry.since <= version && (best == nullptr || entry.since > best->since)) best = &entry;
  return best == nullptr ? nullptr : best->import;
}

int first_composition(std::string_view domain, std::string_view type) {
  int first = 0;
  if (const auto found = compositions().find({domain, type}); found != compositions().end())
    for (const auto& entry : found->second)
      first = first == 0 ? entry.since : std::min(first, entry.since);
  return first;
}

NodeImport::NodeImport(Importer& importer, const proto::Node& node, std::int64_t version)
    : importer_(importer), node_(node), version_(version) {}

std::string NodeImport::label() const {
  auto type = node_.domain.empty() ? std::string(node_.type)
                                   : fmt::format("{}::{}", node_.domain, node_.type);
  if (!node_.name.empty()) return fmt::format("{} node '{}'", type, node_.name);
  for (const auto output : node_.outputs)
    if (!output.empty()) return fmt::format("{} node that produces '{}'", type, output);
  return type + " node without a name";
}

Failure NodeImport::refusal(const std::string& reason, const std::string& hint) const {
  return Failure(FailureKind::file,
                 fmt::format("{}: {}: {}", importer_.model().path.string(), label(), reason), hint);
}

void NodeImport::require_known(bool condition, const std::string& reason,
                               const std::string& hint) const {
  if (condition) return;
  note_unknown();
  refuse(reason, hint);
}

const proto::Attribute* NodeImport::attribute(std::string_view name) {
  for (const auto& attribute : node_.attributes)
    if (attribute.name == name) {
      used_.insert(attribute.name);
      return importer_.resolved(attribute);
    }
  return nullptr;
}

void NodeImport::refuse_kind(const proto::Attribute& attribute, const char* needed) const {
  refuse(fmt::format("its attribute '{}' is not {}", attribute.name, needed));
}

std::int64_t NodeImport::integer(std::string_view name, std::int64_t otherwise) {
  const auto* found = attribute(name);
  if (found == nullptr) return otherwise;
  const auto* value = std::get_if<std::int64_t>(&found->value);
  if (value == nullptr) refuse_kind(*found, "an integer");
  return *value;
}

double NodeImport::real(std::string_view name, double otherwise) {
  const auto* found = attribute(name);
  if (found == nullptr) return otherwise;
  if (const auto* integer = std::get_if<std::int64_t>(&found->value))
    return static_cast<double>(*integer);
  const auto* value = std::get_if<float>(&found->value);
  if (value == nullptr) refuse_kind(*found, "a number");
  return static_cast<double>(*value);
}

std::string NodeImport::text(std::string_view name, std::string_view otherwise) {
  const auto* found = attribute(name);
  if (found == nullptr) return std::string(otherwise);
  const auto* value = std::get_if<std::string_view>(&found->value);
  if (value == nullptr) refuse_kind(*found, "a string");
  return std::string(*value);
}

std::optional<std::vector<std::int64_t>> NodeImport::integers(std::string_view name) {
  const auto* found = attribute(name);
  if (found == nullptr) return {};
  const auto* value = std::get_if<List<std::int64_t>>(&found->value);
  if (value == nullptr) refuse_kind(*found, "a list of integers");
  return list_of(*value);
}

const List<std::string_view>* NodeImport::texts(std::string_view name) {
  const auto* found = attribute(name);
  if (found == nullptr) return nullptr;
  const auto* list = std::get_if<List<std::string_view>>(&found->value);
  if (list == nullptr) refuse_kind(*found, "a list of strings");
  return list;
}

Tensor NodeImport::tensor(std::string_view name) {
  const auto* found = attribute(name);
  if (found == nullptr) return {};
  const auto* const* value = std::get_if<const proto::Tensor*>(&found->value);
  if (value == nullptr) refuse_kind(*found, "a tensor");
  return importer_.elements_of(**value, name);
}

std::optional<AttributeValue> NodeImport::value_of(const proto::Attribute& attribute) {
  if (const auto* value = std::get_if<std::int64_t>(&attribute.value)) return *value;
  if (const auto* value = std::get_if<float>(&attribute.value)) return static_cast<double>(*value);
  if (const auto* value = std::get_if<std::string_view>(&attribute.value))
    return std::string(*value);
  if (const auto* value = std::get_if<List<std::int64_t>>(&attribute.value)) return list_of(*value);
  if (const auto* value = std::get_if<List<float>>(&attribute.value))
    return std::vector<double>(value->begin(), value->end());
  if (const auto* value = std::get_if<List<std::string_view>>(&attribute.value))
    return std::vector<std::string>(value->begin(), value->end());
  if (const auto* const* value = std::get_if<const proto::Tensor*>(&attribute.value))
    return importer_.elements_of(**value, attribute.name);
  return {};
}

Operand NodeImport::input(std::size_t i) {
  if (!has(i)) refuse(fmt::format("its input {} is missing", i));
  return importer_.find(node_.inputs[i]);
}

void NodeImport::require_elements(std::size_t i, const Operand& operand) const {
  require_known(operand.known(),
                fmt::format("its input {}, '{}', is not known when the model is imported", i,
                            node_.inputs[i]),
                "make that input a constant");
}

std::optional<std::vector<std::int64_t>> NodeImport::known_integers(std::size_t i) {
  if (!has(i)) return {};
  const auto operand = input(i);
  require_elements(i, operand);
  std::vector<std::int64_t> values;
  if (operand.elements.dtype() == i64)
    for (const auto value : operand.elements.values<std::int64_t>()) values.push_back(value);
  else if (operand.elements.dtype() == i32)
    for (const auto value : operand.elements.values<std::int32_t>()) values.push_back(value);
  else
    refuse(fmt::format("its input {}, '{}', is {} but must be int64", i, node_.inputs[i],
                       name_of(operand.elements.dtype())));
  return values;
}

std::optional<double> NodeImport::known_number(std::size_t i) {
  if (!has(i)) return {};
  const auto operand = input(i);
  require_elements(i, operand);
  if (operand.elements.size() != 1)
    refuse(fmt::format("its input {}, '{}', must be one number", i, node_.inputs[i]));
  return cast(operand, f64).elements.values<double>()[0];
}

DType NodeImport::dtype(const Operand& operand) const {
  const auto type = importer_.type_of(operand);
  if (type.dtype == TENON_DTYPE_UNKNOWN) refuse("the element type of one of its inputs is unknown");
  return static_cast<DType>(type.dtype);
}

Shape NodeImport::shape(const Operand& operand) const {
  return tenon::shape_of(importer_.type_of(operand));
}

int NodeImport::rank(const Operand& operand) const {
  const auto type = importer_.type_of(operand);
  require_known(type.rank >= 0, "the rank of one of its inputs is unknown",
                "give the inputs fully known shapes");
  return type.rank;
}

int NodeImport::axis(std::int64_t axis, int rank) const {
  if (axis < -rank || axis >= rank)
    refuse(fmt::format("its axis {} is out of range for {} dimensions", axis, rank));
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

// The first call gets the node's name; later ones get generated names.
std::string_view NodeImport::next_name() {
  if (std::exchange(named_, true)) return {};
  return node_.name;
}

Operand NodeImport::add(const std::string& op, const std::vector<Operand>& inputs,
                        const Attributes& attributes) {
  return importer_.call(op, inputs, attributes, next_name()).front();
}

Operand NodeImport::add(const std::string& op, const Importer::Named& inputs,
                        const Attributes& attributes) {
  return importer_.call(op, inputs, attributes, next_name()).front();
}

std::vector<Operand> NodeImport::add_all(const std::string& op, const std::vector<Operand>& inputs,
                                         const Attributes& attributes) {
  return importer_.call(op, inputs, attributes, next_name());
}

Operand NodeImport::constant(const std::vector<std::int64_t>& elements) const {
  return constant(Tensor::from(elements, {static_cast<std::int64_t>(elements.size())}));
}

void NodeImport::charge_bytes(std::int64_t bytes) const {
  require(importer_.may_make(bytes),
          fmt::format("it would create {} at import, too much for a file of this size",
                      counted(bytes, "byte")));
}

Operand NodeImport::arange(std::int64_t count) {
  require(count >= 0 && count <= INT64_MAX / 8, "one of its sizes is too large");
  charge_bytes(8 * count);
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return constant(numbers);
}

Operand NodeImport::scalar(double value, const Operand& like) const {
  auto made = Tensor::empty(dtype(like), Shape::scalar());
  require(!low_bit.has(made.dtype()),
          fmt::format("{} has no arithmetic in Tenon", name_of(made.dtype())));
  visit<every_type>(made.dtype(), [&]<class T>() {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
      require(value == std::trunc(value) &&
                  value >= static_cast<double>(std::numeric_limits<T>::min()) &&
                  value < std::ldexp(1.0, std::numeric_limits<T>::digits),
              fmt::format("{} is out of range for {}", value, name_of(made.dtype())));
    *static_cast<T*>(made.data()) = static_cast<T>(value);
  });
  return constant(made);
}

Operand NodeImport::shape_of(const Operand& operand) {
  const auto known = shape(operand);
  if (!known.known()) return add("tenon.shape", std::vector{operand});
  return constant(std::vector<std::int64_t>(known.begin(), known.end()));
}

Operand NodeImport::cast(const Operand& operand, DType to) {
  if (dtype(operand) == to) return operand;
  return add("tenon.cast", std::vector{operand}, {{"dtype", std::string(name_of(to))}});
}

Tensor NodeImport::converted(const Tensor& elements, DType to) const {
  if (elements.dtype() == to) return elements;
  return importer_.host_.call("tenon.cast", {elements}, {{"dtype", std::string(name_of(to))}});
}

bool NodeImport::is_read(std::size_t i) const {
  return has_output(i) && importer_.read_.contains(node_.outputs[i]);
}

Operand NodeImport::widened(const Operand& operand) {
  if (operand.empty()) return operand;
  const auto type = dtype(operand);
  return type == f16 || type == bf16 ? cast(operand, f32) : operand;
}

void NodeImport::output(std::size_t i, Operand operand) {
  if (has_output(i)) importer_.define(node_.outputs[i], std::move(operand));
}

void NodeImport::import_as(std::string_view type, const std::vector<Operand>& inputs) {
  auto& scope = importer_.scope_;
  struct Names {  // of the inputs, which the scope refers to until the node is imported
    ~Names() {
      for (const auto& name : all) scope.erase(name);
    }
    Importer::Scope& scope;
    std::deque<std::string> all{};
  } names{scope};
  std::vector<std::string_view> views;
  for (const auto& input : inputs) {
    if (input.empty()) {
      views.emplace_back();
      continue;
    }
    std::string name = fmt::format("{}.input_{}", label(), views.size());
    while (importer_.find_or_read(name) != nullptr) name += '_';
    views.emplace_back(names.all.emplace_back(std::move(name)));
    importer_.define(views.back(), input);
  }
  auto node = node_;
  node.domain = {}, node.type = type, node.overload = {};
  node.inputs = {views.data(), views.size()};
  importer_.import_node(node);
  for (const auto& attribute : node_.attributes) ignore(attribute.name);
}

void NodeImport::finish() const {
  for (const auto& attribute : node_.attributes)
    if (!used_.contains(attribute.name))
      refuse(fmt::format("its attribute '{}' is not supported", attribute.name));
  for (const auto output : node_.outputs)
    if (importer_.read_.contains(output) && !importer_.scope_.contains(output))
      refuse(fmt::format("its output '{}' is not supported", output));
}

}  // namespace tenon::onnx
