#include "file/array/zip_sink.hpp"

#include <cerrno>
#include <cstddef>
#include <span>

namespace tenon {

zip_int64_t ZipSink::write(const void* data, zip_uint64_t length) {
  try {
    file_.write_at(at_, {static_cast<const std::byte*>(data), static_cast<std::size_t>(length)});
  } catch (...) {
    failure_ = std::current_exception();
    zip_error_set(&error_, ZIP_ER_WRITE, EIO);
    return -1;
  }
  at_ += length;
  return static_cast<zip_int64_t>(length);
}

zip_int64_t ZipSink::run(void* data, zip_uint64_t length, zip_source_cmd_t what) {
  switch (what) {
    case ZIP_SOURCE_SUPPORTS:
      return ZIP_SOURCE_SUPPORTS_WRITABLE;
    case ZIP_SOURCE_STAT: {
      auto* const status = static_cast<zip_stat_t*>(data);
      zip_stat_init(status);
      status->size = 0;
      status->valid |= ZIP_STAT_SIZE;
      return sizeof(zip_stat_t);
    }
    case ZIP_SOURCE_WRITE:
      return write(data, length);
    case ZIP_SOURCE_SEEK_WRITE: {
      const zip_int64_t position = zip_source_seek_compute_offset(at_, file_.size(), data, length, &error_);
      if (position < 0) return -1;
      at_ = static_cast<std::uint64_t>(position);
      return 0;
    }
    case ZIP_SOURCE_TELL_WRITE:
      return static_cast<zip_int64_t>(at_);
    case ZIP_SOURCE_OPEN:
    case ZIP_SOURCE_CLOSE:
    case ZIP_SOURCE_BEGIN_WRITE:
    case ZIP_SOURCE_COMMIT_WRITE:
    case ZIP_SOURCE_ROLLBACK_WRITE:
    case ZIP_SOURCE_FREE:
      return 0;
    case ZIP_SOURCE_ERROR:
      return zip_error_to_data(&error_, data, length);
    default:  // reading: a new archive has nothing to read
      zip_error_set(&error_, ZIP_ER_OPNOTSUPP, 0);
      return -1;
  }
}

}  // namespace tenon
