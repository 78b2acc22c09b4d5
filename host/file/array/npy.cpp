#include "file/array/npy.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <tenon/host/failure.hpp>
#include <vector>

#include "file/array/array_file.hpp"
#include "file/array/npy_header.hpp"
#include "io/atomic_file.hpp"
#include "io/counted.hpp"
#include "io/file_memory.hpp"
#include "io/system_reason.hpp"
#include "tensor/element_count.hpp"
#include "tensor/tensor_impl.hpp"
#include "tensor/tracked_tensor.hpp"

namespace tenon {

static void check_size(const std::string& name, const NpyHeader& header, std::size_t available) {
  const std::optional<std::int64_t> byte_size = byte_count(header.dtype, header.shape);
  const auto type = [&] { return join(header.dtype, " ", header.shape); };
  if (!byte_size)
    throw file_failure(
        "read", name,
        "its shape " + to_string(header.shape) + " has more bytes than can be counted");
  const auto needed = static_cast<std::size_t>(*byte_size);
  if (available < needed) {
    throw file_failure("read", name,
                       join("it is truncated: it has ", available, " of the ",
                            counted(needed, "byte"), " of ", type()));
  }
  if (available > needed)
    throw file_failure(
        "read", name,
        join("it has ", counted(available - needed, "byte"), " after its array of ", type()));
}

// C++ allows only the bytes 0 and 1 in a bool.
static void check_booleans(const std::string& name, std::span<const std::byte> elements) {
  const auto wrong = std::find_if(elements.begin(), elements.end(),
                                  [](std::byte element) { return element > std::byte{1}; });
  if (wrong == elements.end()) return;
  throw file_failure("read", name,
                     join("element ", wrong - elements.begin(), " is ",
                          std::to_integer<int>(*wrong), ", but a bool is 0 or 1"));
}

static void swap_bytes(const Tensor& tensor) {
  auto* const bytes = static_cast<std::byte*>(tensor.data());
  const auto element = static_cast<std::int64_t>(size_of(tensor.dtype())) /
                       (any_complex.has(tensor.dtype()) ? 2 : 1);  // each part
  for (std::int64_t at = 0; at < tensor.bytes(); at += element)
    std::reverse(bytes + at, bytes + at + element);
}

// Elements as stored in the file; in Fortran order the first axis has the smallest stride.
static Tensor view(const NpyHeader& header, std::byte* elements,
                   std::shared_ptr<const void> owner) {
  std::vector<std::int64_t> strides;
  if (header.fortran_order && element_count(header.shape) != 0) {
    std::int64_t stride = 1;
    for (const std::int64_t dim : header.shape) {
      strides.push_back(stride);
      stride *= dim;
    }
  }
  return TrackedTensor::exclusive(
      Tensor::borrow(elements, header.dtype, header.shape, strides, std::move(owner)));
}

Tensor tensor_from_npy(const std::string& name, std::span<std::byte> bytes,
                       const std::shared_ptr<const void>& owner) {
  const NpyHeader header = parse_npy_header(name, bytes);
  const std::span<std::byte> elements = bytes.subspan(header.size);
  check_size(name, header, elements.size());
  if (header.dtype == boolean) check_booleans(name, elements);

  if (is_aligned(elements.data(), header.dtype) && !header.big_endian)
    return view(header, elements.data(), owner).make_contiguous();
  const Tensor copy = Tensor::empty(u8, {static_cast<std::int64_t>(elements.size())});
  std::copy(elements.begin(), elements.end(), static_cast<std::byte*>(copy.data()));
  Tensor result = view(header, static_cast<std::byte*>(copy.data()), std::make_shared<Tensor>(copy))
                      .make_contiguous();
  if (header.big_endian) swap_bytes(result);
  return result;
}

Tensor read_npy(const std::filesystem::path& path, std::uint64_t map_above) {
  const std::shared_ptr<const FileMemory> file = FileMemory::open(path, map_above);
  Tensor tensor = tensor_from_npy(path.string(), {file->data(), file->bytes().size()}, file);
  file->require_unchanged();  // a copy above may have read the file
  return tensor;
}

NamedArrays read_npy_source(const ArraySource& source, const tenon_type&) {
  return {{"", read_npy(source.file)}};
}

void write_npy(const std::filesystem::path& path, const Tensor& tensor) {
  if (tensor.storage() != Storage::dense) {
    throw Failure(FailureKind::usage,
                  join("a .npy file holds a dense array, but the tensor for ", path.string(),
                       " is ", tensor.storage()),
                  "save csr tensors to .npz files");
  }
  const Tensor elements = tensor.to("cpu").make_contiguous();
  AtomicFile file(path);
  file.write(npy_header(elements.dtype(), elements.shape()));
  file.write(
      {static_cast<const std::byte*>(elements.data()), static_cast<std::size_t>(elements.bytes())});
  file.commit();
}

std::optional<std::string> text_from_npy(const std::string& name,
                                         std::span<const std::byte> bytes) {
  const NpyFields fields = parse_npy_fields(name, bytes);
  const std::string& type =
      fields.dtype;  // `|S3`: three bytes; `<U3`: three code points of four bytes
  const bool wide = type.size() > 2 && type[1] == 'U' && (type[0] == '<' || type[0] == '>');
  if (!wide && !type.starts_with("|S")) return std::nullopt;
  std::size_t length = 0;
  const auto [end, error] = std::from_chars(type.data() + 2, type.data() + type.size(), length);
  if (error != std::errc() || end != type.data() + type.size() || fields.shape != Shape::scalar())
    return std::nullopt;

  const std::span<const std::byte> content = bytes.subspan(fields.size);
  const std::size_t unit = wide ? 4 : 1;
  if (content.size() % unit != 0 || content.size() / unit != length)
    throw file_failure("read", name,
                       join("its text of ", counted(length, "character"), " has ",
                            counted(content.size(), "byte")));
  std::string text;
  for (std::size_t i = 0; i < length; ++i) {
    unsigned letter = 0;
    for (std::size_t k = 0; k < unit; ++k) {
      const std::size_t at = type[0] == '>' ? k : unit - 1 - k;  // most significant byte first
      letter = letter << 8 | std::to_integer<unsigned>(content[i * unit + at]);
    }
    if (letter != 0)
      text += letter >= ' ' && letter <= '~' ? static_cast<char>(letter)
                                             : '?';  // numpy pads with zeros
  }
  return text;
}

std::string npy_of_text(const std::string& text) {
  return npy_header("|S" + std::to_string(text.size()), Shape::scalar()) + text;
}

}  // namespace tenon
