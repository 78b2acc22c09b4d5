#include "file/array/npz.hpp"

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <tenon/host/failure.hpp>
#include <utility>
#include <vector>

#include "device/memory.hpp"
#include "file/array/npy.hpp"
#include "file/array/npy_header.hpp"
#include "file/array/zip_format.hpp"
#include "file/array/zip_reader.hpp"
#include "file/array/zip_writer.hpp"
#include "io/atomic_file.hpp"
#include "io/system_reason.hpp"
#include "io/utf8.hpp"

namespace tenon {
namespace {

constexpr std::string_view ending = ".npy";
constexpr std::uint64_t best_deflate_ratio = 1032;  // 258 bytes from two bits

class NpzReader {
 public:
  explicit NpzReader(const std::filesystem::path& path)
      : path_(path), archive_(path), unread_(archive_.size()) {}

  std::map<std::string, Tensor> read() {
    std::map<std::string, Tensor> arrays;
    for (const auto& member : archive_.members()) {
      auto [name, tensor] = read_member(member);
      if (!tensor) continue;
      if (!arrays.emplace(name, std::move(tensor)).second)
        throw file_failure("read", label(name), "the name occurs twice");
    }
    if (format_) return {{"", csr_from_npz(path_, *format_, arrays)}};
    return arrays;
  }

 private:
  // Returns an empty tensor for the `format` member of a sparse matrix.
  std::pair<std::string, Tensor> read_member(const ZipMember& member) {
    std::string name = member.name;
    if (!name.ends_with(ending))
      throw file_failure("read", label(name), "it is not an array: its name does not end in .npy");
    name.resize(name.size() - ending.size());
    check(label(name), member);

    const std::shared_ptr<std::byte[]> memory = allocate(member.size);
    const std::span bytes(memory.get(), static_cast<std::size_t>(member.size));
    archive_.read(member, label(name), bytes);
    if (name == "format" && read_format(bytes)) return {std::move(name), Tensor()};
    Tensor tensor = tensor_from_npy(label(name), bytes, memory);
    return {std::move(name), std::move(tensor)};
  }

  bool read_format(std::span<const std::byte> bytes) {
    auto text = text_from_npy(label("format"), bytes);
    if (!text) return false;
    if (format_) throw file_failure("read", label("format"), "the name occurs twice");
    format_ = std::move(text);
    return true;
  }

  // A member's declared size is bounded by the file's size before memory is allocated for it.
  void check(const std::string& label, const ZipMember& member) {
    if ((member.flags & zip::encrypted_flag) != 0)
      throw file_failure("read", label, "it is encrypted");
    const bool stored = member.method == zip::stored;
    if (!stored && member.method != zip::deflated) {
      throw file_failure("read", label,
                         "it is compressed by method " + std::to_string(member.method) +
                             ", not stored or deflated",
                         "numpy.savez and numpy.savez_compressed write supported archives");
    }
    // The sum of all members is bounded, too: members of broken archives may overlap.
    if (member.stored_size > unread_)
      throw file_failure("read", label, "the archive is shorter than its members' sizes");
    unread_ -= member.stored_size;
    if (stored ? member.size != member.stored_size
               : member.size / best_deflate_ratio > member.stored_size) {
      throw file_failure("read", label, "its declared size is larger than the archive can hold");
    }
  }

  std::string label(std::string_view name) const {
    return path_.string() + ", array '" + std::string(name) + "'";
  }

  const std::filesystem::path& path_;
  const ZipReader archive_;
  std::uint64_t unread_;
  std::optional<std::string> format_;  // of a sparse matrix
};

class NpzWriter {
 public:
  explicit NpzWriter(const std::filesystem::path& path) : path_(path), file_(path) {}

  void add(const std::string& name, const Tensor& tensor) {
    const auto elements = tensor.to("cpu").make_contiguous();
    add(name, npy_header(tensor.dtype(), tensor.shape()),
        {static_cast<const std::byte*>(elements.data()),
         static_cast<std::size_t>(elements.bytes())});
  }
  void add_text(const std::string& name, const std::string& text) {
    add(name, npy_of_text(text), {});
  }
  void commit() {
    archive_.finish();
    file_.commit();
  }

 private:
  void add(const std::string& name, const std::string& head, std::span<const std::byte> rest) {
    if (!is_name(name) || name.size() + ending.size() > zip::longest_name)
      throw Failure(FailureKind::usage,
                    "an array in " + path_.string() + " cannot be named '" + printable(name) + "'",
                    "a name is UTF-8 without control characters, has at least one character and at "
                    "most 65531 bytes");
    archive_.add(name + std::string(ending), head, rest);
  }

  const std::filesystem::path& path_;
  AtomicFile file_;
  ZipWriter archive_{file_};
};

}  // namespace

std::map<std::string, Tensor> read_npz(const std::filesystem::path& path) {
  return NpzReader(path).read();
}

NamedArrays read_npz_source(const ArraySource& source, const tenon_type&) {
  return read_npz(source.file);
}

void write_npz(const std::filesystem::path& path, const std::map<std::string, Tensor>& arrays) {
  NpzWriter writer(path);
  if (arrays.size() == 1 && arrays.begin()->second &&
      arrays.begin()->second.storage() == Storage::csr) {
    for (const auto& [name, tensor] : npz_of_csr(arrays.begin()->second)) writer.add(name, tensor);
    writer.add_text("format", "csr");
    return writer.commit();
  }
  for (const auto& [name, tensor] : arrays) {
    if (!tensor || tensor.storage() == Storage::dense) continue;
    throw Failure(FailureKind::usage,
                  join("'", name, "' is ", tensor.storage(),
                       ", but an archive holds dense arrays or one csr matrix"),
                  "convert it with cast_storage(tensor, Storage::dense)");
  }
  for (const auto& [name, tensor] : arrays) writer.add(name, tensor);
  writer.commit();
}

}  // namespace tenon
