// Lets libzip write into a file of ours.
#pragma once
#include <zip.h>

#include <cstdint>
#include <exception>

#include "io/atomic_file.hpp"

namespace tenon {

/// A new archive's bytes go through this into an AtomicFile, which must be committed afterwards. Lives as long as the archive.
class ZipSink {
 public:
  explicit ZipSink(AtomicFile& file) : file_(file) { zip_error_init(&error_); }
  ~ZipSink() { zip_error_fini(&error_); }
  ZipSink(const ZipSink&) = delete;
  ZipSink& operator=(const ZipSink&) = delete;

  /// For zip_open_from_source, which takes it over. Null where memory is out.
  zip_source_t* source() { return zip_source_function_create(&ZipSink::command, this, &error_); }

  /// What the file threw, if anything: exceptions do not pass through libzip.
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  static zip_int64_t command(void* self, void* data, zip_uint64_t length, zip_source_cmd_t what) {
    return static_cast<ZipSink*>(self)->run(data, length, what);
  }
  zip_int64_t run(void* data, zip_uint64_t length, zip_source_cmd_t what);
  zip_int64_t write(const void* data, zip_uint64_t length);

  AtomicFile& file_;
  std::uint64_t at_ = 0;
  std::exception_ptr failure_;
  zip_error_t error_;
};

}  // namespace tenon
