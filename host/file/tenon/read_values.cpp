// Values without a producer: inputs, variables, constants and states.
#include "file/tenon/read_context.hpp"
#include "graph/declarations.hpp"
#include "io/utf8.hpp"

namespace tenon {
namespace {

static_assert(static_cast<int>(Role::input) == static_cast<int>(format::Role::input) &&
              static_cast<int>(Role::variable) == static_cast<int>(format::Role::variable) &&
              static_cast<int>(Role::state) == static_cast<int>(format::Role::state) &&
              static_cast<int>(Role::constant) == static_cast<int>(format::Role::constant));
static_assert(static_cast<int>(Init::Kind::value) == static_cast<int>(format::Initial::value) &&
              static_cast<int>(Init::Kind::xavier) == static_cast<int>(format::Initial::xavier));

struct ValueColumns {
  ValueColumns(const ReadContext& from, const format::Values& values, std::size_t count)
      : names(from, values.names(), count, "values.names"),
        roles(from, values.roles(), count, "values.roles"),
        types(from, values.types(), count, "values.types"),
        tensors(from, values.tensors(), count, "values.tensors"),
        initials(from, values.initials(), count, "values.initials"),
        numbers(from, values.initial_numbers(), 2 * count, "values.initial_numbers") {}
  Column<std::uint32_t> names;
  Column<format::Role> roles;
  Column<std::uint32_t> types, tensors;
  Column<format::Initial> initials;
  Column<double> numbers;
};

void assign_tensor(const ReadContext& reading, ValueRecord& value, std::uint32_t number,
                   std::vector<bool>& used) {
  const auto name = reading.text(value.name);
  value.tensor = reading.index(number, used.size(), "the tensor of '{}'", name);
  if (used[number])
    reading.refuse("tensor {} belongs to two values; the second is '{}'", number, name);
  used[number] = true;
  if (value.role == Role::input)
    reading.refuse("the input '{}' has a tensor, but inputs are passed to each run", name);
  const auto& tensor = reading.model.tensors[number];
  if (value.type.dtype != static_cast<std::uint8_t>(tensor.dtype()) ||
      !(shape_of(value.type) == tensor.shape()))
    reading.refuse("'{}' is {}, but its tensor is {} {}", name, to_string(value.type),
                   name_of(tensor.dtype()), to_string(tensor.shape()));
  if (static_cast<Storage>(value.type.storage) != tensor.storage())
    reading.refuse("'{}' is {}, but its tensor is {}", name,
                   name_of(static_cast<Storage>(value.type.storage)), name_of(tensor.storage()));
}

ValueRecord read_value(const ReadContext& reading, const ValueColumns& columns, std::uint32_t i,
                       std::vector<bool>& used) {
  ValueRecord value;
  value.name =
      reading.index(columns.names[i], reading.model.strings.size(), "the name of value {}", i);
  require_name(reading, value.name, "value", i);
  const auto role = static_cast<unsigned>(columns.roles[i]),
             initial = static_cast<unsigned>(columns.initials[i]);
  if (role > static_cast<unsigned>(Role::constant))
    reading.refuse("'{}': unknown role {}", reading.text(value.name), role);
  if (initial > static_cast<unsigned>(Init::Kind::value))
    reading.refuse("'{}': unknown initializer {}", reading.text(value.name), initial);
  value.role = static_cast<Role>(role);
  value.type = reading.types[reading.index(columns.types[i], reading.types.size(),
                                           "the type of '{}'", reading.text(value.name))];
  value.init = {static_cast<Init::Kind>(initial), columns.numbers[2 * std::size_t{i}],
                columns.numbers[2 * std::size_t{i} + 1]};
  try {
    check_storage(reading.text(value.name), value.role, value.type);
    check_init(reading.text(value.name), value.init, value.type);
  } catch (const Failure& failure) {
    reading.refuse("{}", failure.what());
  }
  if (const auto tensor = columns.tensors[i]; tensor != 0)
    assign_tensor(reading, value, tensor - 1, used);
  if (value.role == Role::constant && value.tensor == none)
    reading.refuse("the constant '{}' has no tensor", reading.text(value.name));
  return value;
}

void add_input(ReadContext& reading, std::uint32_t i, std::uint32_t type) {
  auto& model = reading.model;
  model.inputs.push_back(i);
  const auto names = reading.dim_names.find(type);
  if (names == reading.dim_names.end()) return;
  model.values[i].dims = static_cast<std::uint32_t>(model.dim_names.size());
  model.dim_names.push_back(names->second);
}

}  // namespace

void require_name(const ReadContext& reading, StringId name, const char* what, std::uint32_t i) {
  const auto text = reading.text(name);
  if (!is_name(text) || text.find(':') != std::string_view::npos)
    reading.refuse(
        "{} {} has the name '{}'; names are not empty and have neither colons nor control "
        "characters",
        what, i, printable(text));
}

void read_values(ReadContext& reading, const format::Graph& graph) {
  auto& model = reading.model;
  if (graph.values() == nullptr) reading.refuse("its graph has no values");
  const auto count = count_of(graph.values()->names());
  const ValueColumns columns(reading, *graph.values(), count);
  std::vector<bool> used(model.tensors.size());
  model.values.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto& value = model.values.emplace_back(read_value(reading, columns, i, used));
    if (value.role == Role::input) add_input(reading, i, columns.types[i]);
    if (!model.value_names.add(value.name, i))
      reading.refuse("two values have the name '{}'", reading.text(value.name));
  }
}

}  // namespace tenon
