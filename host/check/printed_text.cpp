#include "check/printed_text.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace tenon::checks {

PrintedText::PrintedText() {
  std::fflush(nullptr);
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    auto& stream = streams_[i];
    const int descriptor = i == 0 ? STDOUT_FILENO : STDERR_FILENO;
    stream.real = fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
    stream.memory = memfd_create("printed", MFD_CLOEXEC);
    if (stream.real >= 0 && stream.memory >= 0 && dup2(stream.memory, descriptor) == descriptor)
      stream.descriptor = descriptor;
  }
}

PrintedText::~PrintedText() {
  take();
  for (const auto& stream : streams_) {
    if (stream.descriptor >= 0) dup2(stream.real, stream.descriptor);
    if (stream.real >= 0) close(stream.real);
    if (stream.memory >= 0) close(stream.memory);
  }
}

PrintedText::Texts PrintedText::take() {
  std::fflush(nullptr);
  return {take(streams_[0]), take(streams_[1])};
}

std::string PrintedText::take(const Stream& stream) const {
  if (stream.descriptor < 0) return {};
  std::string text(
      std::min<std::size_t>(
          static_cast<std::size_t>(std::max<off_t>(lseek(stream.memory, 0, SEEK_END), 0)), 65536),
      '\0');
  const auto bytes_read = pread(stream.memory, text.data(), text.size(), 0);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(bytes_read, 0)));
  if (ftruncate(stream.memory, 0) == 0) lseek(stream.memory, 0, SEEK_SET);
  const int err = streams_[1].real;
  [[maybe_unused]] const auto shown = err < 0 ? 0 : write(err, text.data(), text.size());
  return text;
}

}  // namespace tenon::checks
