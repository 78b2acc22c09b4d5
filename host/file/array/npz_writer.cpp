#include <zip.h>

#include <cerrno>
#include <deque>
#include <memory>
#include <string>
#include <tenon/failure.hpp>

#include "file/array/npy_header.hpp"
#include "file/array/npy_text.hpp"
#include "file/array/npz.hpp"
#include "file/array/sparse_npz.hpp"
#include "file/array/zip_archive.hpp"
#include "file/array/zip_sink.hpp"
#include "io/atomic_file.hpp"
#include "io/system_reason.hpp"

namespace tenon {
namespace {

class NpzWriter {
 public:
  explicit NpzWriter(const std::filesystem::path& path) : path_(path), file_(path), sink_(file_) {
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t* const source = sink_.source();
    if (source != nullptr) archive_.reset(zip_open_from_source(source, ZIP_CREATE | ZIP_TRUNCATE, &error));
    const std::string reason = zip_error_strerror(&error);
    zip_error_fini(&error);
    if (archive_ == nullptr) {
      zip_source_free(source);
      throw file_failure("write", path_, source == nullptr ? system_reason(ENOMEM) : reason);
    }
  }

  void add(const std::string& name, const Tensor& tensor) {
    if (name.empty() || name.find('\0') != std::string::npos) {
      throw Failure(FailureKind::usage, "an array in " + path_.string() + " needs a name without zero bytes");
    }
    add(name, members_.emplace_back(npy_header(tensor.dtype(), tensor.shape()), tensor.to("cpu").make_contiguous()));
  }

  void add_text(const std::string& name, const std::string& text) {
    add(name, members_.emplace_back(npy_of_text(text), Tensor::empty(u8, {0})));
  }

  void commit() {
    if (members_.empty()) {  // for which libzip would remove the file
      file_.write(std::string("PK\5\6") + std::string(18, '\0'));
    } else {
      if (zip_close(archive_.get()) != 0) fail();
      static_cast<void>(archive_.release());  // closing freed it
    }
    file_.commit();
  }

 private:
  struct Member {
    Member(std::string text, Tensor elements) : header(std::move(text)), tensor(std::move(elements)) {}
    std::string header;
    Tensor tensor;
  };

  void add(const std::string& name, const Member& member) {
    const zip_buffer_fragment_t fragments[] = {
        {reinterpret_cast<zip_uint8_t*>(const_cast<char*>(member.header.data())), member.header.size()},
        {static_cast<zip_uint8_t*>(member.tensor.data()), static_cast<zip_uint64_t>(member.tensor.bytes())}};
    zip_source_t* const source = zip_source_buffer_fragment(archive_.get(), fragments, 2, 0);
    if (source == nullptr) fail();
    const zip_int64_t index = zip_file_add(archive_.get(), (name + ".npy").c_str(), source, ZIP_FL_ENC_UTF_8);
    if (index < 0) {
      zip_source_free(source);
      throw Failure(FailureKind::usage,
                    "an array in " + path_.string() + " cannot be called '" + name + "' (" + zip_strerror(archive_.get()) + ")");
    }
    const auto at = static_cast<zip_uint64_t>(index);
    constexpr zip_uint16_t first_day = 0x21;  // 1980-01-01: the time of writing would make each file another
    if (zip_set_file_compression(archive_.get(), at, ZIP_CM_STORE, 0) != 0) fail();
    if (zip_file_set_dostime(archive_.get(), at, 0, first_day, 0) != 0) fail();
  }

  [[noreturn]] void fail() {
    sink_.rethrow();
    throw file_failure("write", path_, zip_strerror(archive_.get()));
  }

  const std::filesystem::path& path_;
  AtomicFile file_;
  ZipSink sink_;
  std::deque<Member> members_;  // the archive points into them until it is closed
  UnsavedArchive archive_;
};

}  // namespace

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
