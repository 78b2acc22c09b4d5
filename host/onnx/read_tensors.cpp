// Reads tensors without their elements.
#include <charconv>

#include "onnx/dtype.hpp"
#include "onnx/fields.hpp"
#include "onnx/reader.hpp"

namespace tenon::onnx {
namespace {

constexpr std::uint32_t typed_fields =
    1U << field::tensor::float_data | 1U << field::tensor::int32_data |
    1U << field::tensor::string_data | 1U << field::tensor::int64_data |
    1U << field::tensor::double_data | 1U << field::tensor::uint64_data;

// Accepts decimal digits only.
std::uint64_t read_size(const Wire& wire, std::string_view key, std::string_view text) {
  std::uint64_t size = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (error != std::errc() || end != text.data() + text.size() || size > INT64_MAX)
    wire.refuse("the {} of its external data is '{}', not a number of bytes", key, shown(text));
  return size;
}

std::size_t count_dims(Wire wire, std::uint32_t field) {
  std::size_t count = 0;
  while (wire.next())
    if (wire.field() == field) count += wire.count_integers("dims");
  return count;
}

}  // namespace

std::int64_t elements_of(const Wire& wire, List<std::int64_t> dims) {
  std::int64_t count = 1, without_zeros = 1;
  for (const auto dim : dims) {
    if (dim < 0) wire.refuse("a dimension is {}", dim);
    if (dim != 0 && __builtin_mul_overflow(without_zeros, dim, &without_zeros))
      wire.refuse("the number of elements overflows 64 bits");
    if (dim == 0) count = 0;
  }
  return count == 0 ? 0 : without_zeros;
}

proto::External* MessageReader::read_external(Wire& wire, proto::External* external) {
  if (external == nullptr)
    external = arena_.make<proto::External>(1, "references to external data");
  proto::Metadata entry;
  read(wire.message("external_data", "an entry"), entry);
  if (entry.key == "location") {
    external->location = entry.value;
  } else if (entry.key == "offset") {
    external->offset = read_size(wire, entry.key, entry.value);
  } else if (entry.key == "length") {
    external->length = read_size(wire, entry.key, entry.value);
    external->has_length = true;
  }
  return external;
}

void MessageReader::read(Wire wire, proto::Tensor& tensor) {
  auto dims = fill<std::int64_t>(wire, count_dims(wire, field::tensor::dims), "dimensions");
  std::uint32_t seen = 0;  // the typed data fields that are present, as bits
  bool raw = false;
  std::int64_t dtype = 0, location = 0;
  proto::External* external = nullptr;
  while (wire.next()) {
    switch (const auto number = wire.field()) {
      case field::tensor::dims:
        wire.integers("dims",
                      [&](std::uint64_t dim) { dims.next() = static_cast<std::int64_t>(dim); });
        break;
      case field::tensor::data_type:
        dtype = wire.integer("data_type");
        break;
      case field::tensor::segment:
        wire.refuse("it is a segment of a tensor, which this version of Tenon does not support");
      case field::tensor::name:
        tensor.name = wire.text("name");
        break;
      case field::tensor::raw_data:
        tensor.bytes = wire.bytes("raw_data");
        raw = true;
        break;
      case field::tensor::external_data:
        external = read_external(wire, external);
        break;
      case field::tensor::data_location:
        location = wire.integer("data_location");
        break;
      default:
        if (number < 32) seen |= (1U << number) & typed_fields;
    }
  }
  tensor.dims = dims;
  const auto what = tensor.name.empty() ? std::string("it") : "tensor '" + shown(tensor.name) + "'";
  if (dtype <= 0 || dtype > INT32_MAX || element_type(static_cast<std::int32_t>(dtype)) == nullptr)
    wire.refuse("{} has unknown data_type {}", what, dtype);
  tensor.dtype = static_cast<std::int32_t>(dtype);
  if (location != 0 && location != 1)
    wire.refuse("{} has data_location {}; only 0 and 1 are valid", what, location);
  if (location == 1 && external == nullptr)
    wire.refuse("{} has external data without a location", what);
  if (location == 0 && external != nullptr)
    wire.refuse("{} has an external data location, but its data_location is not EXTERNAL", what);
  if ((location == 1) + raw + (seen != 0) > 1)
    wire.refuse("{} has data in more than one field", what);
  tensor.external = external;
  tensor.data = location == 1 ? proto::TensorData::external
                : raw         ? proto::TensorData::raw
                : seen != 0   ? proto::TensorData::typed
                              : proto::TensorData::none;
  if (seen != 0) tensor.bytes = wire.message();
  check(wire, tensor, seen);
}

void MessageReader::check(const Wire& wire, const proto::Tensor& tensor,
                          std::uint32_t typed) const {
  const auto& type = *element_type(tensor.dtype);
  const auto what = [&] {
    return (tensor.name.empty() ? "a tensor" : "tensor '" + shown(tensor.name) + "'") + ", " +
           type.name + ",";
  };
  const auto count = elements_of(wire, tensor.dims);
  if (count > INT64_MAX / 16) wire.refuse("the size of {} overflows 64 bits", what());
  const auto needed = type.raw_bytes(count);
  switch (tensor.data) {
    case proto::TensorData::none:
      if (count != 0) wire.refuse("{} has no data for its {} elements", what(), count);
      break;
    case proto::TensorData::raw:
      if (tensor.dtype == string_type)
        wire.refuse("{} has raw data, which is invalid for strings", what());
      if (tensor.bytes.size() != needed)
        wire.refuse("{} has {} bytes of raw data, but {} elements need {}", what(),
                    tensor.bytes.size(), count, needed);
      break;
    case proto::TensorData::typed:
      if (typed != 1U << static_cast<unsigned>(type.typed))
        wire.refuse("{} has its data in a field for another element type", what());
      if (tensor.dtype == string_type) check_strings(wire, tensor, count);
      break;
    case proto::TensorData::external:
      if (tensor.external->location.empty())
        wire.refuse("{} has external data without a location", what());
      if (tensor.dtype == string_type)
        wire.refuse("{} has external data, which is invalid for strings", what());
      if (tensor.external->has_length && tensor.external->length != needed)
        wire.refuse("{} has {} bytes of external data, but {} elements need {}", what(),
                    tensor.external->length, count, needed);
      if (tensor.external->offset > INT64_MAX - needed)
        wire.refuse("{} has an out-of-range external data offset: {}", what(),
                    tensor.external->offset);
      break;
  }
}

void MessageReader::check_strings(const Wire& wire, const proto::Tensor& tensor,
                                  std::int64_t count) {
  std::int64_t found = 0;
  Wire strings(wire.again());
  while (strings.next())
    if (strings.field() == field::tensor::string_data) {
      strings.text("string_data");
      ++found;
    }
  if (found != count)
    strings.refuse("tensor '{}' has {} strings, but its dimensions need {}", shown(tensor.name),
                   found, count);
}

void MessageReader::read(Wire wire, proto::SparseTensor& tensor) {
  auto dims = fill<std::int64_t>(wire, count_dims(wire, field::sparse_tensor::dims), "dimensions");
  while (wire.next()) {
    if (wire.field() == field::sparse_tensor::dims)
      wire.integers("dims",
                    [&](std::uint64_t dim) { dims.next() = static_cast<std::int64_t>(dim); });
    else if (wire.field() == field::sparse_tensor::values)
      tensor.values = read_one(wire, tensor.values, "values", "a tensor");
    else if (wire.field() == field::sparse_tensor::indices)
      tensor.indices = read_one(wire, tensor.indices, "indices", "a tensor");
  }
  tensor.dims = dims;
  const auto elements = elements_of(wire, tensor.dims);
  if (tensor.values == nullptr) wire.refuse("it has no values");
  const auto what = shown(tensor.values->name);
  if (tensor.values->dims.size() != 1)
    wire.refuse("the values of sparse tensor '{}' have {} dimensions instead of 1", what,
                tensor.values->dims.size());
  const auto stored = tensor.values->dims[0];
  if (stored > elements)
    wire.refuse("sparse tensor '{}' has {} values for {} elements", what, stored, elements);
  if (tensor.indices == nullptr) {
    if (stored != 0) wire.refuse("sparse tensor '{}' has values but no indices", what);
    return;
  }
  const auto& indices = *tensor.indices;
  if (indices.dtype != int64_type)
    wire.refuse("the indices of sparse tensor '{}' are {} instead of int64", what,
                element_type_name(indices.dtype));
  const bool flat = indices.dims.size() == 1, by_axis = indices.dims.size() == 2;
  if ((!flat && !by_axis) || indices.dims[0] != stored ||
      (by_axis && static_cast<std::uint64_t>(indices.dims[1]) != tensor.dims.size()))
    wire.refuse(
        "the shape of the indices of sparse tensor '{}' does not match its {} values in {} "
        "dimensions",
        what, stored, tensor.dims.size());
}

}  // namespace tenon::onnx
