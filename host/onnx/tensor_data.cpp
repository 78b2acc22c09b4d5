#include "onnx/tensor_data.hpp"

#include <bit>
#include <cstring>
#include <limits>
#include <tenon/visit.hpp>
#include <vector>

#include "onnx/dtype.hpp"
#include "onnx/fields.hpp"
#include "onnx/packed.hpp"
#include "onnx/wire.hpp"
#include "tensor/element_count.hpp"
#include "tensor/tensor_impl.hpp"
#include "tensor/tracked_tensor.hpp"

namespace tenon::onnx {

static_assert(std::endian::native == std::endian::little, "raw data is used as stored in the file");

/// The tensor being read, with its name for error messages.
struct TensorReader::SourceTensor {
  const Model& model;
  const proto::Tensor& tensor;
  std::string_view name;
  DType dtype = unknown_dtype;
  Shape shape{};
  std::size_t size = 0;    // in bytes
  std::size_t stored = 0;  // in bytes in the file: less than `size` if it packs elements

  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) const {
    refuse_file(model.path, "tensor '{}' {}", shown(name),
                fmt::format(text, std::forward<Args>(args)...));
  }

  SourceTensor(const Model& whole, const proto::Tensor& one, std::string_view otherwise)
      : model(whole), tensor(one), name(one.name.empty() ? otherwise : one.name) {
    dtype = element_type(tensor.dtype)->dtype;
    if (dtype == unknown_dtype)
      refuse("has elements of type {}, which Tenon does not support",
             element_type_name(tensor.dtype));
    if (tensor.dims.size() > max_rank)
      refuse("has {} dimensions; at most {} are supported", tensor.dims.size(), max_rank);
    shape = Shape(tensor.dims.data(), static_cast<int>(tensor.dims.size()));
    // the model's reader has checked that this does not overflow
    size = static_cast<std::size_t>(byte_count(dtype, shape).value());
    stored = static_cast<std::size_t>(element_type(tensor.dtype)->raw_bytes(shape.size()));
  }
};

namespace {

/// Converts a number in a typed field to an element; returns false if it is out of range.
template <class T>
bool store(std::uint64_t number, T& to) {
  const auto narrow = static_cast<std::int32_t>(number);  // int32_data, as protobuf decodes it
  if constexpr (std::is_same_v<T, bool>) {
    to = narrow == 1;
    return narrow == 0 || narrow == 1;
  } else if constexpr (is_half<T>) {
    const auto bits = static_cast<decltype(to.bits())>(narrow);
    to = T::from_bits(bits);
    return narrow == bits;
  } else if constexpr (std::is_same_v<T, std::uint32_t>) {
    to = static_cast<T>(number);
    return number <= std::numeric_limits<T>::max();
  } else if constexpr (sizeof(T) == 8) {
    to = static_cast<T>(number);
    return true;
  } else {
    to = static_cast<T>(narrow);
    return narrow == static_cast<std::int32_t>(to);
  }
}

/// Floating-point components of an element: two for complex types.
template <class T>
struct Reals {
  using type = T;
};
template <class P>
struct Reals<Complex<P>> {
  using type = P;
};

template <class T>
constexpr bool in_reals = std::is_floating_point_v<typename Reals<T>::type>;

}  // namespace

Tensor TensorReader::empty(const SourceTensor& source) {
  model_.arena->budget().charge(source.size, 1, "bytes of a tensor");
  return Tensor::empty(source.dtype, source.shape);
}

// Bools are copied, because bytes other than 0 and 1 must not become bools.
Tensor TensorReader::at(const SourceTensor& source, std::byte* bytes,
                        const std::shared_ptr<const void>& owner, bool lent) {
  if (source.stored != source.size) {
    auto unpacked = empty(source);
    unpack({bytes, source.stored}, unpacked);
    return unpacked;
  }
  const bool aligned = is_aligned(bytes, source.dtype);
  if (aligned && lent && source.dtype != boolean && source.size != 0)
    return TrackedTensor::exclusive(Tensor::borrow(bytes, source.dtype, source.shape, {}, owner));
  auto tensor = empty(source);
  auto* const to = static_cast<std::byte*>(tensor.data());
  if (source.dtype == boolean)
    for (std::size_t i = 0; i < source.size; ++i)
      to[i] = bytes[i] == std::byte{0} ? std::byte{0} : std::byte{1};
  else if (source.size != 0)
    std::memcpy(to, bytes, source.size);
  return tensor;
}

// Each number is a byte of raw data.
Tensor TensorReader::typed_bytes(const SourceTensor& source) {
  auto tensor = empty(source);
  std::vector<std::byte> bytes(source.stored);
  std::size_t found = 0;
  const WireFile file{model_.path, model_.bytes.data()};
  Wire wire(file, source.tensor.bytes, "a tensor");
  while (wire.next()) {
    if (wire.field() != static_cast<std::uint32_t>(TypedField::int32_data)) continue;
    wire.integers("data", [&](std::uint64_t number) {
      if (found == bytes.size())
        source.refuse("has more than the {} numbers that its dimensions need", bytes.size());
      if (number > 255)
        source.refuse("has {} as number {}, which is out of range for a byte of {}",
                      static_cast<std::int64_t>(number), found, name_of(source.dtype));
      bytes[found++] = static_cast<std::byte>(number);
    });
  }
  if (found != bytes.size())
    source.refuse("has {} numbers, but its dimensions need {}", found, bytes.size());
  if (source.stored != source.size)
    unpack(bytes, tensor);
  else if (source.size != 0)
    std::memcpy(tensor.data(), bytes.data(), source.size);
  return tensor;
}

Tensor TensorReader::typed(const SourceTensor& source) {
  if (low_bit.has(source.dtype)) return typed_bytes(source);
  auto tensor = empty(source);
  const auto& type = *element_type(source.tensor.dtype);
  const auto count =
      static_cast<std::size_t>(tensor.size()) * static_cast<std::size_t>(type.numbers);
  const WireFile file{model_.path, model_.bytes.data()};
  Wire wire(file, source.tensor.bytes, "a tensor");
  std::size_t found = 0;
  visit<every_type>(source.dtype, [&]<class T>() {
    using Real = typename Reals<T>::type;
    auto* const to = static_cast<Real*>(tensor.data());
    const auto next = [&]() -> Real& {
      if (found == count)
        source.refuse("has more than the {} numbers that its dimensions need", count);
      return to[found++];
    };
    while (wire.next()) {
      if (wire.field() != static_cast<std::uint32_t>(type.typed)) continue;
      if constexpr (in_reals<T>) {
        wire.reals<Real>("data", [&](Real value) { next() = value; });
      } else {
        wire.integers("data", [&](std::uint64_t number) {
          const auto index = found;
          if (!store(number, next()))
            source.refuse("has {} as element {}, which is out of range for {}",
                          static_cast<std::int64_t>(number), index, type.name);
        });
      }
    }
  });
  if (found != count) source.refuse("has {} numbers, but its dimensions need {}", found, count);
  return tensor;
}

Tensor TensorReader::external(const SourceTensor& source) {
  const auto& range = *source.tensor.external;
  bool added = false;
  auto& file = files_.open(range.location, added);
  const auto bytes = file.memory->bytes();
  if (added) model_.arena->budget().add(bytes.size());
  if (range.offset > bytes.size() || source.stored > bytes.size() - range.offset)
    source.refuse("has {} bytes at offset {} of '{}', which has only {} bytes", source.stored,
                  range.offset, shown(range.location), bytes.size());
  return at(source, file.memory->data() + range.offset, file.memory,
            file.lend(range.offset, source.stored));
}

Tensor TensorReader::read(const proto::Tensor& tensor, std::string_view name) {
  const SourceTensor source(model_, tensor, name);
  switch (tensor.data) {
    case proto::TensorData::none:
      return empty(source);
    case proto::TensorData::raw:
      // The file's bytes are writable, though the model's views are const.
      return at(source, reinterpret_cast<std::byte*>(const_cast<char*>(tensor.bytes.data())),
                model_.owner, model_.owner != nullptr);
    case proto::TensorData::typed:
      return typed(source);
    case proto::TensorData::external:
      return external(source);
  }
  source.refuse("has no data");
}

// ONNX requires ascending indices without duplicates, so nothing has to be sorted or added up.
Tensor TensorReader::read(const proto::SparseTensor& sparse, std::string_view name) {
  const SourceTensor source(model_, *sparse.values, name);
  if (sparse.dims.size() != 2)
    source.refuse("is sparse and has {} dimensions; only sparse matrices are supported",
                  sparse.dims.size());
  if (low_bit.has(source.dtype))
    source.refuse("is sparse and {}, a dtype of dense tensors only", name_of(source.dtype));
  const auto rows = sparse.dims[0], columns = sparse.dims[1];
  const auto values = read(*sparse.values, source.name);
  const auto stored = values.size();
  if (rows == INT64_MAX) source.refuse("has too many rows");
  model_.arena->budget().charge(static_cast<std::uint64_t>(rows) + 1, sizeof(std::int64_t),
                                "rows of a sparse tensor");
  const auto starts = Tensor::zeros(i64, {rows + 1}), column_indices = Tensor::empty(i64, {stored});
  if (sparse.indices != nullptr) {
    const auto indices = read(*sparse.indices, source.name);
    const bool by_axis = indices.shape().rank() == 2;
    const auto* from = indices.data<std::int64_t>();
    std::int64_t last = -1;
    for (std::int64_t i = 0; i < stored; ++i) {
      const auto first = *from++;
      const auto row = by_axis ? first : first / columns,
                 column = by_axis ? *from++ : first % columns;
      if (row < 0 || row >= rows || column < 0 || column >= columns)
        source.refuse("has value {} at [{}, {}], outside of its shape [{}, {}]", i, row, column,
                      rows, columns);
      if (row * columns + column <= last)
        source.refuse("has value {} at [{}, {}], not in ascending order", i, row, column);
      last = row * columns + column;
      column_indices.data<std::int64_t>()[i] = column;
      ++starts.data<std::int64_t>()[row + 1];
    }
  }
  auto* const start = starts.data<std::int64_t>();
  for (std::int64_t row = 0; row < rows; ++row) start[row + 1] += start[row];
  return Tensor::csr(values, TrackedTensor::frozen(column_indices), TrackedTensor::frozen(starts),
                     {rows, columns});
}

}  // namespace tenon::onnx
