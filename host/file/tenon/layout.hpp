// The layout of a .tenon file: header, metadata, zeros up to a multiple of 64 KiB, data.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

namespace tenon::layout {

inline constexpr std::size_t header_size = 64;
inline constexpr std::uint64_t segment_alignment =
    65536;  // the largest common page size, so that segments can be mapped separately
inline constexpr std::uint64_t tensor_alignment = 64;  // a cache line and the widest SIMD vector
inline constexpr std::uint64_t metadata_limit = 0x7fff0000;  // FlatBuffers' offsets have 31 bits
inline constexpr std::uint32_t version = 1;
// Features that a reader must support; those of dtypes are in <tenon/dtype.hpp>.
inline constexpr std::string_view gradient_feature =
    "gradient";  // backward nodes and updates of variables
inline constexpr std::string_view sparse_feature = "sparse";  // csr and row_sparse tensors
inline constexpr std::string_view parameters_feature =
    "parameters";  // parameters that are lists of texts, or tensors
inline constexpr std::string_view dim_names_feature = "dim_names";    // names of inputs' dimensions
inline constexpr std::string_view categories_feature = "categories";  // names of elements
inline constexpr std::string_view micro_batches_feature =
    "lanes";  // a training with several micro-batches per step
inline constexpr std::string_view training_feature = "training";  // a training state

constexpr std::uint64_t align(std::uint64_t offset, std::uint64_t alignment) {
  return (offset + alignment - 1) / alignment * alignment;
}

/// Byte  0  "\x89TENON\r\n"; its first and last bytes reveal text-mode transfers
///       8  version, 32 bits; 12  header_size, 32 bits
///      16  metadata_size        24  metadata_checksum
///      32  data_offset; 0: no data              40  file_size
///      48  zero                 56  checksum of the 56 bytes before
/// Numbers are little-endian and have 64 bits unless stated otherwise; checksums are XXH3, 64 bits.
/// The metadata follows the header.
struct Header {
  std::uint64_t metadata_size = 0, metadata_checksum = 0, data_offset = 0, file_size = 0;
  friend bool operator==(const Header&, const Header&) = default;
};

std::array<std::byte, header_size> encode(const Header& header);

/// Throws Failure (file) unless the bytes of the file begin with a valid header that matches their
/// size.
Header decode(std::span<const std::byte> file, const std::filesystem::path& path);

std::uint64_t checksum(std::span<const std::byte> bytes);

}  // namespace tenon::layout
