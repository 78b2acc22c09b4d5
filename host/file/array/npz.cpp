#include "file/array/npz.hpp"

#include <zip.h>

#include <cerrno>
#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string_view>
#include <tenon/host/failure.hpp>
#include <utility>

#include "device/memory.hpp"
#include "file/array/npy.hpp"
#include "file/array/npy_header.hpp"
#include "io/atomic_file.hpp"
#include "io/open_file.hpp"
#include "io/system_reason.hpp"

namespace tenon {
namespace {

constexpr zip_int64_t most_members = 100000;
constexpr zip_uint64_t best_deflate_ratio = 1032;  // 258 bytes from two bits

struct DiscardArchive {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
/// Its changes are forgotten unless zip_close() was called on what release() gives.
using UnsavedArchive = std::unique_ptr<zip_t, DiscardArchive>;

/// libzip's way to write into a file under construction: it would make files of other names beside it, which a kill leaves there.
class ZipDraft {
 public:
  explicit ZipDraft(AtomicFile& file) : file_(file) { zip_error_init(&error_); }
  static zip_int64_t call(void* self, void* data, zip_uint64_t size, zip_source_cmd_t command) {
    return static_cast<ZipDraft*>(self)->answer(data, size, command);
  }
  /// What the file threw.
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  zip_int64_t answer(void* data, zip_uint64_t size, zip_source_cmd_t command) {
    switch (command) {
      case ZIP_SOURCE_SUPPORTS:
        return ZIP_SOURCE_SUPPORTS_WRITABLE;
      case ZIP_SOURCE_STAT:
        zip_stat_init(static_cast<zip_stat_t*>(data));
        return sizeof(zip_stat_t);
      case ZIP_SOURCE_ERROR:
        return zip_error_to_data(&error_, data, size);
      case ZIP_SOURCE_TELL_WRITE:
        return at_;
      case ZIP_SOURCE_SEEK_WRITE:
        return seek(data, size);
      case ZIP_SOURCE_WRITE:
        return write({static_cast<const std::byte*>(data), static_cast<std::size_t>(size)});
      default:
        return 0;  // begin, commit, roll back and free: AtomicFile's business
    }
  }
  zip_int64_t seek(void* data, zip_uint64_t size) {
    const auto at = zip_source_seek_compute_offset(static_cast<zip_uint64_t>(at_), file_.size(), data, size, &error_);
    if (at >= 0) at_ = at;
    return at < 0 ? -1 : 0;
  }
  zip_int64_t write(std::span<const std::byte> bytes) {
    try {
      file_.write_at(static_cast<std::uint64_t>(at_), bytes);
    } catch (...) {  // no exception may cross libzip
      failure_ = std::current_exception();
      zip_error_set(&error_, ZIP_ER_WRITE, EIO);
      return -1;
    }
    at_ += static_cast<zip_int64_t>(bytes.size());
    return static_cast<zip_int64_t>(bytes.size());
  }

  AtomicFile& file_;
  zip_error_t error_;
  zip_int64_t at_ = 0;
  std::exception_ptr failure_;
};

struct Close {
  void operator()(zip_file_t* member) const { zip_fclose(member); }
};

class NpzReader {
 public:
  explicit NpzReader(const std::filesystem::path& path) : path_(path), file_(OpenFile::for_reading(path)), unread_(file_.size()) {
    if (unread_ == 0) throw file_failure("read", path_, "it is empty");
    int code = 0;
    archive_.reset(zip_fdopen(file_.descriptor(), 0, &code));
    if (archive_ == nullptr) throw not_opened(code);
    file_.release();  // now the archive's
  }

  std::map<std::string, Tensor> read() {
    std::map<std::string, Tensor> arrays;
    const zip_int64_t count = zip_get_num_entries(archive_.get(), 0);
    if (count > most_members) {
      throw file_failure("read", path_, "it has " + std::to_string(count) + " members, and at most 100000 are read");
    }
    for (zip_int64_t i = 0; i < count; ++i) {
      auto [name, tensor] = read_member(static_cast<zip_uint64_t>(i));
      if (!tensor) continue;
      if (!arrays.emplace(name, std::move(tensor)).second) throw file_failure("read", label(name), "there are two of that name");
    }
    if (format_) return {{"", csr_from_npz(path_, *format_, arrays)}};
    return arrays;
  }

 private:
  // No tensor: the format of a sparse matrix was read.
  std::pair<std::string, Tensor> read_member(zip_uint64_t index) {
    zip_stat_t status;
    zip_stat_init(&status);
    constexpr zip_uint64_t needed = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
    if (zip_stat_index(archive_.get(), index, 0, &status) != 0 || (status.valid & needed) != needed) {
      throw file_failure("read", path_, "its list of members is broken (" + std::string(zip_strerror(archive_.get())) + ")");
    }
    std::string name = status.name;
    if (!name.ends_with(".npy")) throw file_failure("read", label(name), "it is not an array: its name does not end in .npy");
    name.resize(name.size() - 4);
    check(label(name), status);

    std::shared_ptr<std::byte[]> bytes = allocate(status.size);
    inflate(label(name), index, {bytes.get(), static_cast<std::size_t>(status.size)});
    if (name == "format" && read_format({bytes.get(), static_cast<std::size_t>(status.size)})) return {std::move(name), Tensor()};
    Tensor tensor = tensor_from_npy(label(name), {bytes.get(), static_cast<std::size_t>(status.size)}, bytes);
    return {std::move(name), std::move(tensor)};
  }

  bool read_format(std::span<const std::byte> bytes) {
    auto text = text_from_npy(label("format"), bytes);
    if (!text) return false;
    if (format_) throw file_failure("read", label("format"), "there are two of that name");
    format_ = std::move(text);
    return true;
  }

  // What a member says of itself is bounded by the file's size before memory is set aside for it.
  void check(const std::string& label, const zip_stat_t& status) {
    if (status.encryption_method != ZIP_EM_NONE) throw file_failure("read", label, "it is encrypted");
    const bool stored = status.comp_method == ZIP_CM_STORE;
    if (!stored && status.comp_method != ZIP_CM_DEFLATE) {
      throw file_failure("read", label, "it is compressed by method " + std::to_string(status.comp_method) + ", not stored or deflated",
                         "numpy.savez and numpy.savez_compressed write what is read here");
    }
    // All members together, too: broken archives may let them overlap.
    if (status.comp_size > unread_) throw file_failure("read", label, "the archive is shorter than its members say");
    unread_ -= status.comp_size;
    if (stored ? status.size != status.comp_size : status.size / best_deflate_ratio > status.comp_size) {
      throw file_failure("read", label, "it says that it has more bytes than the archive holds");
    }
  }

  void inflate(const std::string& label, zip_uint64_t index, std::span<std::byte> bytes) {
    const std::unique_ptr<zip_file_t, Close> member(zip_fopen_index(archive_.get(), index, 0));
    if (member == nullptr) throw broken(label, zip_get_error(archive_.get()));
    while (!bytes.empty()) {
      const zip_int64_t count = zip_fread(member.get(), bytes.data(), bytes.size());
      if (count < 0) throw broken(label, zip_file_get_error(member.get()));
      if (count == 0) throw file_failure("read", label, "it has fewer bytes than the archive says");
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
    std::byte more{};  // the checksum is looked at when the end is read
    const zip_int64_t count = zip_fread(member.get(), &more, 1);
    if (count < 0) throw broken(label, zip_file_get_error(member.get()));
    if (count > 0) throw file_failure("read", label, "it has more bytes than the archive says");
  }

  Failure not_opened(int code) const {
    if (code == ZIP_ER_NOZIP) return file_failure("read", path_, "it is not a zip archive, as .npz files are");
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    Failure failure = broken(path_.string(), &error);
    zip_error_fini(&error);
    return failure;
  }
  static Failure broken(const std::string& label, zip_error_t* error) {
    return file_failure("read", label, "the archive is broken (" + std::string(zip_error_strerror(error)) + ")");
  }

  // Names come from the file: control characters could play with a terminal.
  std::string label(std::string_view name) const {
    std::string text = path_.string() + ", array '";
    for (const char letter : name) text += static_cast<unsigned char>(letter) < ' ' || letter == '\x7f' ? '?' : letter;
    return text + "'";
  }

  const std::filesystem::path& path_;
  OpenFile file_;
  UnsavedArchive archive_;
  zip_uint64_t unread_;
  std::optional<std::string> format_;  // of a sparse matrix
};

class NpzWriter {
 public:
  explicit NpzWriter(const std::filesystem::path& path) : path_(path), file_(path) {}

  void add(const std::string& name, const Tensor& tensor) {
    if (name.empty() || name.find('\0') != std::string::npos)
      throw Failure(FailureKind::usage, "an array in " + path_.string() + " needs a name without zero bytes");
    members_.push_back({name, npy_header(tensor.dtype(), tensor.shape()), tensor.to("cpu").make_contiguous()});
  }
  void add_text(const std::string& name, const std::string& text) { members_.push_back({name, npy_of_text(text), Tensor::empty(u8, {0})}); }

  void commit() {
    if (members_.empty())  // for which libzip writes nothing
      file_.write(std::string("PK\5\6").append(18, '\0'));
    else
      write();
    file_.commit();
  }

 private:
  struct Member {
    std::string name, header;
    Tensor tensor;
  };

  void write() {
    auto* const source = zip_source_function_create(&ZipDraft::call, &draft_, nullptr);
    if (source != nullptr) archive_.reset(zip_open_from_source(source, ZIP_CREATE | ZIP_TRUNCATE, nullptr));
    if (archive_ == nullptr) {
      zip_source_free(source);
      throw std::bad_alloc();
    }
    for (const auto& member : members_) write(member);
    const bool closed = zip_close(archive_.get()) == 0;
    draft_.rethrow();
    if (!closed) fail();
    static_cast<void>(archive_.release());  // closing freed it
  }

  void write(const Member& member) {
    const zip_buffer_fragment_t fragments[] = {
        {reinterpret_cast<zip_uint8_t*>(const_cast<char*>(member.header.data())), member.header.size()},
        {static_cast<zip_uint8_t*>(member.tensor.data()), static_cast<zip_uint64_t>(member.tensor.bytes())}};
    zip_source_t* const source = zip_source_buffer_fragment(archive_.get(), fragments, 2, 0);
    if (source == nullptr) fail();
    const zip_int64_t index = zip_file_add(archive_.get(), (member.name + ".npy").c_str(), source, ZIP_FL_ENC_UTF_8);
    if (index < 0) {
      zip_source_free(source);
      throw Failure(FailureKind::usage,
                    "an array in " + path_.string() + " cannot be called '" + member.name + "' (" + zip_strerror(archive_.get()) + ")");
    }
    const auto at = static_cast<zip_uint64_t>(index);
    constexpr zip_uint16_t first_day = 0x21;  // 1980-01-01: the time of writing would make each file another
    if (zip_set_file_compression(archive_.get(), at, ZIP_CM_STORE, 0) != 0) fail();
    if (zip_file_set_dostime(archive_.get(), at, 0, first_day, 0) != 0) fail();
  }

  [[noreturn]] void fail() {
    zip_error_t* const error = zip_get_error(archive_.get());
    const int code = zip_error_system_type(error) == ZIP_ET_SYS ? zip_error_code_system(error) : 0;
    throw file_failure("write", path_, code != 0 ? system_reason(code) : zip_error_strerror(error));
  }

  const std::filesystem::path& path_;
  AtomicFile file_;
  ZipDraft draft_{file_};
  std::vector<Member> members_;  // the archive points into them until it is closed
  UnsavedArchive archive_;
};

}  // namespace

std::map<std::string, Tensor> read_npz(const std::filesystem::path& path) {
  return NpzReader(path).read();
}

void write_npz(const std::filesystem::path& path, const std::map<std::string, Tensor>& arrays) {
  NpzWriter writer(path);
  if (arrays.size() == 1 && arrays.begin()->second && arrays.begin()->second.storage() == Storage::csr) {
    for (const auto& [name, tensor] : npz_of_csr(arrays.begin()->second)) writer.add(name, tensor);
    writer.add_text("format", "csr");
    return writer.commit();
  }
  for (const auto& [name, tensor] : arrays) {
    if (!tensor || tensor.storage() == Storage::dense) continue;
    throw Failure(FailureKind::usage, join("'", name, "' is ", tensor.storage(), ", and an archive holds dense arrays or one csr matrix"),
                  "cast_storage(tensor, Storage::dense) gives a dense array");
  }
  for (const auto& [name, tensor] : arrays) writer.add(name, tensor);
  writer.commit();
}

}  // namespace tenon
