// Types, buffers, tensors: from untrusted offsets in a file to memory that kernels can rely on.
#include "file/tenon/read_context.hpp"
#include "graph/inference/type.hpp"
#include "tensor/element_count.hpp"
#include "tensor/tracked_tensor.hpp"

namespace tenon {
namespace {

tenon_type read_type(const ReadContext& reading, const format::TensorType& from, std::uint32_t i) {
  auto type = unknown_type();
  type.dtype = static_cast<std::uint8_t>(from.dtype());
  type.storage = static_cast<std::uint8_t>(from.storage());
  const auto rank = count_of(from.dims());
  if (rank > TENON_MAX_RANK)
    reading.refuse("type {} has {} dimensions, but at most {} are allowed", i, rank,
                   TENON_MAX_RANK);
  if (from.unranked() && rank != 0)
    reading.refuse("type {} has {} dimensions, but declares an unknown rank", i, rank);
  require_aligned(reading, from.dims(), "type.dims");
  type.rank = from.unranked() ? -1 : static_cast<std::int32_t>(rank);
  if (rank != 0) std::copy(from.dims()->begin(), from.dims()->end(), type.dims);
  if (type.dtype >= TENON_DTYPE_COUNT && type.dtype != TENON_DTYPE_UNKNOWN)
    reading.refuse("type {}: unknown dtype {}", i, type.dtype);
  if (type.storage > TENON_CSR) reading.refuse("type {}: unknown storage {}", i, type.storage);
  if (!is_sound(type)) reading.refuse("type {} has a dimension below -1 (unknown)", i);
  return type;
}

/// The type's byte count, with unknown dimensions counted as 1, must fit 64 bits for all later
/// computations.
void require_countable(const ReadContext& reading, tenon_type type, std::uint32_t i) {
  for (int axis = 0; axis < type.rank; ++axis)
    type.dims[axis] = std::max<std::int64_t>(type.dims[axis], 1);
  if (type.dtype == TENON_DTYPE_UNKNOWN) type.dtype = TENON_F64;
  if (byte_count(type) < 0)
    reading.refuse("type {}, {}, has a byte count beyond 64 bits", i, to_string(type));
}

std::vector<std::span<std::byte>> read_segments(const ReadContext& reading) {
  std::vector<std::span<std::byte>> segments;
  std::uint64_t end = 0;
  for (std::uint32_t i = 0; i < count_of(reading.file.segments()); ++i) {
    const auto* segment = reading.file.segments()->Get(i);
    reading.index(segment->purpose(), reading.model.strings.size(), "the purpose of segment {}", i);
    if (segment->offset() % layout::segment_alignment != 0)
      reading.refuse("segment {} begins at byte {} of the data, not at a multiple of {}", i,
                     segment->offset(), layout::segment_alignment);
    if (segment->offset() < end)
      reading.refuse("segment {} begins at byte {} of the data, before the previous one ends at {}",
                     i, segment->offset(), end);
    if (segment->offset() > reading.data.size() ||
        segment->size() > reading.data.size() - segment->offset())
      reading.refuse("segment {} has {} bytes at byte {} of the data, which has {} bytes", i,
                     segment->size(), segment->offset(), reading.data.size());
    segments.push_back(reading.data.subspan(segment->offset(), segment->size()));
    end = segment->offset() + segment->size();
  }
  if (end != reading.data.size())
    reading.refuse("the data has {} bytes, but the segments end at byte {}", reading.data.size(),
                   end);
  return segments;
}

std::span<std::byte> buffer(const ReadContext& reading, std::uint32_t number, std::uint32_t tensor,
                            std::vector<bool>& used, const char* array_name) {
  reading.index(number, reading.buffers.size(), "the buffer of tensor {}'s {}", tensor, array_name);
  if (used[number])
    reading.refuse("buffer {} belongs to two tensors; the second is tensor {}", number, tensor);
  used[number] = true;
  return reading.buffers[number];
}

void require_size(const ReadContext& reading, std::size_t found, std::int64_t needed,
                  std::uint32_t tensor, const tenon_type& type, const char* array_name) {
  if (needed < 0)
    reading.refuse("tensor {}, {}, has {} with a byte count beyond 64 bits", tensor,
                   to_string(type), array_name);
  if (found != static_cast<std::uint64_t>(needed))
    reading.refuse("tensor {}, {}, has a buffer of {} bytes for its {} but needs {}", tensor,
                   to_string(type), found, array_name, needed);
}

/// An array in the file's memory, after a check of its size.
Tensor array(const ReadContext& reading, std::span<std::byte> bytes, DType dtype,
             const Shape& shape, std::uint32_t tensor, const tenon_type& type,
             const char* array_name) {
  require_size(reading, bytes.size(), byte_count(dtype, shape).value_or(-1), tensor, type,
               array_name);
  return Tensor::borrow(bytes.data(), dtype, shape, {}, reading.owner);
}

/// Values are not read. Indices are validated once, so that no kernel reads out of bounds.
Tensor read_sparse(const ReadContext& reading, const format::Tensor& from, const tenon_type& type,
                   std::uint32_t i, std::vector<bool>& used) {
  const bool csr = type.storage == TENON_CSR;
  const auto dtype = static_cast<DType>(type.dtype),
             index_dtype = static_cast<DType>(from.index_dtype());
  const Shape shape = shape_of(type);
  if (shape.rank() < 1 || (csr && shape.rank() != 2))
    reading.refuse("tensor {} is {}, but {}", i, to_string(type),
                   csr ? "csr needs two dimensions" : "row_sparse needs rows");
  if (index_dtype != i32 && index_dtype != i64)
    reading.refuse("tensor {} has indices of dtype {}, but only int32 and int64 are allowed", i,
                   static_cast<int>(index_dtype));
  if (csr && shape[0] == INT64_MAX) reading.refuse("tensor {} has too many rows", i);
  if (!csr && from.row_starts() != none)
    reading.refuse("tensor {} is row_sparse, but has the row starts of csr", i);
  if (!names_feature(reading, layout::sparse_feature))
    reading.refuse("tensor {} is {}, but the file does not name \"sparse\" as a feature", i,
                   name_of(static_cast<Storage>(type.storage)));
  const auto stored = static_cast<std::int64_t>(std::min<std::uint64_t>(from.stored(), INT64_MAX));
  Shape values_shape = csr ? Shape{stored} : shape;
  values_shape.set(0, stored);
  const auto read = [&](std::uint32_t number, DType kind, const Shape& expected,
                        const char* array_name) {
    return array(reading, buffer(reading, number, i, used, array_name), kind, expected, i, type,
                 array_name);
  };
  const Tensor values = read(from.values(), dtype, values_shape, "values");
  const auto read_frozen = [&](std::uint32_t number, const Shape& expected,
                               const char* array_name) {
    const Tensor mapped = read(number, index_dtype, expected, array_name);
    return TrackedTensor::frozen(reading.data_may_change ? mapped.clone() : mapped);
  };
  const Tensor indices = read_frozen(from.indices(), {stored}, "indices");
  const Tensor row_starts =
      csr ? read_frozen(from.row_starts(), {shape[0] + 1}, "row starts") : Tensor();
  try {
    return csr ? Tensor::csr(values, indices, row_starts, shape)
               : Tensor::row_sparse(values, indices, shape);
  } catch (const Failure& failure) {
    reading.refuse("tensor {}: {}", i, failure.what());
  }
}

std::vector<StringId> read_dim_names(const ReadContext& reading, const format::TensorType& from,
                                     std::uint32_t i) {
  if (count_of(from.dim_names()) != count_of(from.dims()))
    reading.refuse("type {} has {} dimensions but {} dimension names", i, count_of(from.dims()),
                   count_of(from.dim_names()));
  std::vector<StringId> names;
  for (const auto name : *from.dim_names()) {
    names.push_back(
        reading.index(name, reading.model.strings.size(), "a name of a dimension of type {}", i));
    if (name == 0) continue;
    require_name(reading, name, "a dimension of type", i);
    if (is_placeholder(reading.text(name))) names.back() = 0;  // written by older versions
  }
  return names;
}

}  // namespace

void read_types(ReadContext& reading) {
  for (std::uint32_t i = 0; i < count_of(reading.file.types()); ++i) {
    const auto* from = reading.file.types()->Get(i);
    reading.types.push_back(read_type(reading, *from, i));
    if (count_of(from->dim_names()) != 0)
      reading.dim_names.emplace(i, read_dim_names(reading, *from, i));
    require_countable(reading, reading.types.back(), i);
  }
}

void read_buffers(ReadContext& reading) {
  const auto segments = read_segments(reading);
  std::uint32_t last_segment = 0;
  std::uint64_t end = 0;
  for (std::uint32_t i = 0; i < count_of(reading.file.buffers()); ++i) {
    const auto* from = reading.file.buffers()->Get(i);
    const auto segment =
        segments[reading.index(from->segment(), segments.size(), "the segment of buffer {}", i)];
    if (from->segment() != last_segment) end = 0;
    if (from->segment() < last_segment || from->offset() < end)
      reading.refuse("buffer {} begins at byte {} of segment {}, before the previous one ends", i,
                     from->offset(), from->segment());
    if (from->offset() % layout::tensor_alignment != 0)
      reading.refuse("buffer {} begins at byte {}, not at a multiple of {}", i, from->offset(),
                     layout::tensor_alignment);
    if (from->offset() > segment.size() || from->size() > segment.size() - from->offset())
      reading.refuse("buffer {} has {} bytes at byte {} of segment {}, which has {} bytes", i,
                     from->size(), from->offset(), from->segment(), segment.size());
    reading.buffers.push_back(segment.subspan(from->offset(), from->size()));
    last_segment = from->segment();
    end = from->offset() + from->size();
  }
}

void read_tensors(ReadContext& reading) {
  std::vector<bool> used(reading.buffers.size());
  for (std::uint32_t i = 0; i < count_of(reading.file.tensors()); ++i) {
    const auto* from = reading.file.tensors()->Get(i);
    const auto& type =
        reading
            .types[reading.index(from->type(), reading.types.size(), "the type of tensor {}", i)];
    if (!is_known(type))
      reading.refuse("tensor {} is {}, but a tensor's type must be fully known", i,
                     to_string(type));
    if (type.storage != TENON_DENSE) {
      reading.model.tensors.push_back(read_sparse(reading, *from, type, i, used));
      continue;
    }
    if (from->indices() != none || from->row_starts() != none || from->stored() != 0)
      reading.refuse("tensor {} is dense, but has the indices of a sparse one", i);
    const auto bytes = buffer(reading, from->values(), i, used, "values");
    const auto tensor =
        array(reading, bytes, static_cast<DType>(type.dtype), shape_of(type), i, type, "values");
    reading.model.tensors.push_back(TrackedTensor::track(TrackedTensor::exclusive(tensor)));
  }
}

}  // namespace tenon
