// A bound on what a small file can make its reader do.
#pragma once
#include "file/tenon/reading.hpp"

namespace tenon {

/// Many entries of a file may share the same bytes. Together they may not be longer than the metadata, so that the work stays linear.
class Budget {
 public:
  explicit Budget(const Reading& reading) : reading_(reading), left_(reading.metadata_size) {}
  void take(std::uint64_t bytes, const char* what) {
    if (bytes > left_) reading_.refuse("its {} are together longer than the file", what);
    left_ -= bytes;
  }

 private:
  const Reading& reading_;
  std::uint64_t left_;
};

}  // namespace tenon
