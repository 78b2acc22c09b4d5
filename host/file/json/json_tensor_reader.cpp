#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <tenon/host/catalog.hpp>
#include <tenon/visit.hpp>

#include "file/array/array_file.hpp"
#include "file/json/json_tensor.hpp"
#include "io/counted.hpp"
#include "io/json_text.hpp"
#include "io/utf8.hpp"
#include "plugin/discovery/manifest_readers.hpp"
#include "tensor/low_bit_tensor.hpp"
#include "tensor/number_fits.hpp"

namespace tenon {
namespace {

void read_shape(const JsonField& field, const std::string& what, tenon_type& type,
                std::vector<std::string>* names) {
  const auto dims = field.list(what);
  if (dims.size() > TENON_MAX_RANK)
    field.refuse("{} has {}, but at most {} are allowed", what, counted(dims.size(), "dimension"),
                 TENON_MAX_RANK);
  type.rank = static_cast<std::int32_t>(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (const auto* name = dims[i].get<std::string>(); name != nullptr && names != nullptr) {
      if (name->empty()) dims[i].refuse("a dimension's name is empty");
      names->resize(dims.size());
      (*names)[i] = *name;
      type.dims[i] = unknown;
      continue;
    }
    type.dims[i] = dims[i].integer("a dimension");
    if (type.dims[i] < -1)
      dims[i].refuse("a dimension is {} but must be at least 0, or -1 if unknown", type.dims[i]);
  }
}

std::uint8_t read_storage(const JsonField& field, const std::string& what) {
  for (const auto storage : {Storage::dense, Storage::row_sparse, Storage::csr})
    if (field.text(what) == name_of(storage)) return static_cast<std::uint8_t>(storage);
  field.refuse("{} is '{}' but must be dense, row_sparse or csr", what,
               printable(field.text(what)));
}

/// The shape of nested lists, from the first element of each.
Shape nested_shape(const JsonField& values) {
  std::vector<std::int64_t> dims;
  for (const auto* value = &values.value();
       const auto* list = std::get_if<JsonValue::List>(&value->content); value = &list->front()) {
    dims.push_back(static_cast<std::int64_t>(list->size()));
    if (dims.size() > TENON_MAX_RANK)
      values.refuse("the values have more than {} dimensions", TENON_MAX_RANK);
    if (list->empty()) break;
  }
  return Shape(dims.data(), static_cast<int>(dims.size()));
}

template <class T>
T element(const JsonField& field) {
  if constexpr (std::is_same_v<T, bool>) {
    const auto* flag = field.get<bool>();
    if (flag == nullptr) field.refuse("a bool element must be true or false");
    return *flag;
  } else if constexpr (is_complex<T>) {
    if (field.get<JsonValue::List>() == nullptr) return element<decltype(T::re)>(field);
    const auto components = field.list("an element");
    if (components.size() != 2)
      field.refuse("a complex element is a number or [real, imaginary], but this has {} numbers",
                   components.size());
    return {element<decltype(T::re)>(components[0]), element<decltype(T::re)>(components[1])};
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    if (const auto* text = field.get<std::string>()) {
      std::uint64_t large = 0;
      const auto* const end = text->data() + text->size();
      const auto [stop, error] = std::from_chars(text->data(), end, large);
      if (error != std::errc() || stop != end)
        field.refuse("the element {} is not a uint64 integer", printable(*text));
      return large;
    }
    if (const auto* real = field.get<double>(); real != nullptr && *real >= 0x1p63)
      field.refuse("an element is above 2^63 - 1: write it in quotes, as \"9223372036854775808\"");
    const auto whole = field.integer("an element");
    if (whole < 0) field.refuse("the element {} does not fit {}", whole, name_of(dtype_of<T>));
    return static_cast<T>(whole);
  } else if constexpr (std::is_integral_v<T>) {
    const auto whole = field.integer("an element");
    if (whole < std::numeric_limits<T>::min() || whole > std::numeric_limits<T>::max())
      field.refuse("the element {} does not fit {}", whole, name_of(dtype_of<T>));
    return static_cast<T>(whole);
  } else {
    const double number = field.number("an element");
    if (!fits<T>(number))
      field.refuse("the element {} does not fit {}", number, name_of(dtype_of<T>));
    return number_as<T>(number);
  }
}

/// Fills elements from lists nested as deep as the shape.
template <class T>
void fill(const JsonField& field, const Shape& shape, int axis, T*& next) {
  if (axis == shape.rank()) {
    *next++ = element<T>(field);
    return;
  }
  const auto items = field.list(fmt::format("dimension {} of the values", axis));
  if (static_cast<std::int64_t>(items.size()) != shape[axis])
    field.refuse("the list has {}, but the shape {} needs {}", counted(items.size(), "value"),
                 to_string(shape), shape[axis]);
  for (const auto& item : items) fill(item, shape, axis + 1, next);
}

Tensor read_values(const JsonField& values, const tenon_type& type) {
  const auto dtype = static_cast<DType>(type.dtype);
  if (type.rank < 0 && any_complex.has(dtype))
    values.refuse(
        "complex values need a 'shape', because [a, b] may be a dimension or one element");
  const auto shape = type.rank < 0 ? nested_shape(values) : shape_of(type);
  if (!shape.known())
    values.refuse("the values need a known shape, but it is {}", to_string(shape));
  // A shape can declare more elements than the text can hold; check before memory is allocated.
  const auto count = element_count(type_of(f32, shape));
  if (count < 0 || count > static_cast<std::int64_t>(values.document().text.size()))
    values.refuse("the shape {} needs more values than the text has", to_string(shape));
  auto tensor =
      Tensor::empty(type.dtype == TENON_DTYPE_UNKNOWN ? f32 : decoded_dtype(dtype), shape);
  visit<every_type>(tensor.dtype(), [&]<class T>() {
    auto* next = tensor.data<T>();
    const auto* list = values.get<JsonValue::List>();
    if (count == 0 && list != nullptr && list->empty()) return;
    fill(values, shape, 0, next);
  });
  if (!low_bit.has(dtype)) return tensor;
  try {
    return encoded(tensor, dtype);
  } catch (const Failure& failure) {
    values.refuse("{}", failure.what());
  }
}

Tensor read_indices(const JsonField& object, const std::string& what, const char* key,
                    const tenon_type& type) {
  const auto dtype = object.find("index_dtype");
  const auto field = object.need(key, what);
  tenon_type index_type =
      type_of(dtype ? read_dtype(*dtype, "the index_dtype of " + what) : i64,
              {static_cast<std::int64_t>(field.list(fmt::format("'{}' of {}", key, what)).size())});
  if (index_type.dtype != TENON_I32 && index_type.dtype != TENON_I64)
    dtype->refuse("the index_dtype of {} is {} but must be int32 or int64", what,
                  name_of(static_cast<DType>(index_type.dtype)));
  if (type.rank < 0) object.refuse("{} needs a 'shape'", what);
  return read_values(field, index_type);
}

Tensor read_sparse(const JsonField& object, const std::string& what, const JsonField& values,
                   const tenon_type& type) {
  const bool csr = type.storage == TENON_CSR;
  const Tensor indices = read_indices(object, what, csr ? "columns" : "row_ids", type);
  const Tensor row_starts = csr ? read_indices(object, what, "row_starts", type) : Tensor();
  Shape stored = csr ? Shape{0} : shape_of(type);
  if (stored.rank() > 0) stored.set(0, indices.size());
  const Tensor elements = read_values(values, type_of(static_cast<DType>(type.dtype), stored));
  try {
    return csr ? Tensor::csr(elements, indices, row_starts, shape_of(type))
               : Tensor::row_sparse(elements, indices, shape_of(type));
  } catch (const Failure& failure) {
    object.refuse("{}: {}", what, failure.what());
  }
}

void require_fit(const JsonField& field, const std::string& file, const Tensor& tensor,
                 const tenon_type& type) {
  if (static_cast<Storage>(type.storage) != tensor.storage())
    field.refuse("{} holds a {} tensor, but graph.json declares {}", file,
                 name_of(tensor.storage()), name_of(static_cast<Storage>(type.storage)));
  auto joined = type_of(tensor);
  if (merge(joined, type) == Merge::contradiction)
    field.refuse("{} holds {} {}, but graph.json declares {}", file, name_of(tensor.dtype()),
                 to_string(tensor.shape()), to_string(type));
}

/// Index arrays require values of the storage that they belong to.
void require_no_strangers(const JsonField& object, const std::string& what, const tenon_type& type,
                          bool values) {
  const auto storage = values ? static_cast<Storage>(type.storage) : Storage::dense;
  const struct {
    const char* key;
    bool known;
  } keys[] = {{"columns", storage == Storage::csr},
              {"row_starts", storage == Storage::csr},
              {"row_ids", storage == Storage::row_sparse},
              {"index_dtype", storage != Storage::dense}};
  for (const auto& [key, known] : keys)
    if (const auto field = object.find(key); field && !known)
      field->refuse("{} has '{}', which does not apply to {}", what, key,
                    values ? name_of(storage) + std::string(" values") : "files");
}

struct InitName {
  Init::Kind kind;
  std::string_view name;
  std::size_t numbers;
};
constexpr std::array init_names = {
    InitName{Init::Kind::zeros, "zeros", 0},     InitName{Init::Kind::ones, "ones", 0},
    InitName{Init::Kind::xavier, "xavier", 0},   InitName{Init::Kind::he, "he", 0},
    InitName{Init::Kind::uniform, "uniform", 2}, InitName{Init::Kind::normal, "normal", 2},
    InitName{Init::Kind::value, "value", 1},
};
constexpr const char* choices = R"("zeros", "ones", "xavier", "he", {"uniform": [a, b]}, )"
                                R"({"normal": [mean, sd]} or {"value": v})";

Init read_numbers(const JsonField& field, const InitName& name, const JsonField& content) {
  Init init{name.kind, 0, 0};
  if (name.numbers == 1) {
    init.a = content.number("the value");
    return init;
  }
  const auto numbers = content.list(fmt::format("the arguments of \"{}\"", name.name));
  if (numbers.size() != 2)
    field.refuse("\"{}\" needs two numbers but has {}", name.name, numbers.size());
  init.a = numbers[0].number("the first number");
  init.b = numbers[1].number("the second number");
  return init;
}

}  // namespace

tenon_type read_json_type(const JsonField& object, const std::string& what,
                          std::vector<std::string>* dim_names) {
  auto type = unknown_type();
  if (const auto dtype = object.find("dtype"))
    type.dtype =
        static_cast<std::uint8_t>(read_dtype(*dtype, fmt::format("the dtype of {}", what)));
  if (const auto shape = object.find("shape"))
    read_shape(*shape, fmt::format("the shape of {}", what), type, dim_names);
  if (const auto storage = object.find("storage"))
    type.storage = read_storage(*storage, fmt::format("the storage of {}", what));
  return type;
}

Tensor read_json_values(const JsonField& values, const tenon_type& type) {
  return read_values(values, type);
}

Tensor read_json_tensor(const JsonField& object, const std::string& what, const tenon_type& type,
                        const std::filesystem::path& folder) {
  const auto values = object.find("values");
  const ArrayFormat* format = nullptr;
  for (const auto& known : array_formats()) {
    const auto field = known.key == nullptr ? std::nullopt : object.find(known.key);
    if (field && values) field->refuse("{} has both values and an {} file", what, known.key);
    if (field && format != nullptr)
      field->refuse("{} has both an {} and an {} file", what, format->key, known.key);
    if (field) format = &known;
  }
  require_no_strangers(object, what, type, values.has_value());
  if (values)
    return type.storage == TENON_DENSE ? read_values(*values, type)
                                       : read_sparse(object, what, *values, type);
  if (format == nullptr) return {};
  const auto field = object[format->key];
  const std::filesystem::path path = field.text(fmt::format("the file of {}", what));
  const auto arrays = format->read({(folder / path).string()}, type);
  if (arrays.size() != 1)
    field.refuse("{} holds {} but must hold one", path.filename().string(),
                 counted(arrays.size(), "array"));
  require_fit(field, path.string(), arrays.begin()->second, type);
  return arrays.begin()->second;
}

Init read_init(const JsonField& field, std::string_view what) {
  const auto find = [&](std::string_view name, bool numbers) {
    const auto* found = std::find_if(init_names.begin(), init_names.end(),
                                     [&](const auto& known) { return known.name == name; });
    if (found == init_names.end() || (found->numbers != 0) != numbers)
      field.refuse("{} is \"{}\" but must be {}", what, printable(name), choices);
    return *found;
  };
  if (const auto* name = field.get<std::string>()) return {find(*name, false).kind, 0, 0};
  if (field.get<JsonValue::Object>() == nullptr) field.refuse("{} must be {}", what, choices);
  const auto entries = field.object(what);
  if (entries.size() != 1)
    field.refuse("{} has {} but must be {}", what, counted(entries.size(), "key"), choices);
  return read_numbers(field, find(entries[0].key, true), entries[0].value);
}

void append_init(std::string& to, const Init& init) {
  const auto* name = std::find_if(init_names.begin(), init_names.end(),
                                  [&](const auto& known) { return known.kind == init.kind; });
  if (name->numbers == 0) return append_json_text(to, name->name);
  to += fmt::format("{{\"{}\": {}", name->name, name->numbers == 2 ? "[" : "");
  append_json_number(to, init.a);
  if (name->numbers == 2) to += ", ", append_json_number(to, init.b), to += ']';
  to += '}';
}

}  // namespace tenon
