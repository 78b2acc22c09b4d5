#include "onnx/first_bytes.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "io/open_file.hpp"
#include "io/system_reason.hpp"
#include "onnx/fields.hpp"

namespace tenon::onnx {

std::string first_bytes(const std::filesystem::path& path) {
  const auto file = OpenFile::for_reading(path);
  std::string bytes(16, '\0');
  const auto count = ::pread(file.descriptor(), bytes.data(), bytes.size(), 0);
  if (count < 0) throw file_failure("read", path, system_reason(errno));
  bytes.resize(static_cast<std::size_t>(count));
  return bytes;
}

bool is_tenon_start(std::string_view bytes) {
  return bytes.starts_with("\x89TENON");
}

bool is_model_start(std::string_view bytes) {
  using namespace field::model;
  constexpr unsigned char varint = 0, length_delimited = 2;
  constexpr unsigned char starts[] = {ir_version << 3U | varint,
                                      producer_name << 3U | length_delimited,
                                      producer_version << 3U | length_delimited,
                                      domain << 3U | length_delimited,
                                      model_version << 3U | varint,
                                      graph << 3U | length_delimited,
                                      opset_import << 3U | length_delimited};
  return bytes.size() > 1 && std::find(std::begin(starts), std::end(starts),
                                       static_cast<unsigned char>(bytes[0])) != std::end(starts);
}

}  // namespace tenon::onnx
