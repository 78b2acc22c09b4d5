#include "run/session/trace.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "io/atomic_file.hpp"
#include "io/json_text.hpp"
#include "io/system_reason.hpp"
#include "io/utf8.hpp"

namespace tenon {
namespace {

constexpr std::string_view head = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", tail = "\n]}\n";

std::string quoted(const std::string& text) {
  std::string json;
  append_json_text(json, well_formed(text));
  return json;
}

double microseconds(Trace::Clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

}  // namespace

void Trace::begin_run() {
  if (!events_.empty()) failed_ = std::exchange(events_, {});
  if (file_.descriptor() >= 0) return;
  AtomicFile empty(path_);
  empty.write(head);
  empty.write(tail);
  empty.commit();
  file_ = OpenFile(open(path_.c_str(), O_WRONLY | O_CLOEXEC));
  if (file_.descriptor() < 0) throw file_failure("write", path_, system_reason(errno));
  end_ = head.size();
}

// Writes names of devices and streams when they first appear.
int Trace::process_of(const PlannedStream& stream) {
  const auto [process, new_process] =
      processes_.try_emplace(stream.device->name(), static_cast<int>(processes_.size()) + 1);
  const int pid = process->second, tid = static_cast<int>(stream.role) + 1;
  const auto describe = [&](const char* what, const std::string& name) {
    names_ += fmt::format(
        ",\n{{\"name\":\"{}\",\"ph\":\"M\",\"pid\":{},\"tid\":{},\"args\":{{\"name\":{}}}}}", what,
        pid, tid, quoted(name));
  };
  if (new_process) describe("process_name", stream.device->name());
  if (threads_.try_emplace({pid, stream.role}, true).second)
    describe("thread_name", name_of(stream.role));
  return pid;
}

void Trace::add(const std::string& name, const std::string& category, const PlannedStream& stream,
                Clock::time_point begin, Clock::time_point end) {
  const int pid = process_of(stream);
  events_ += fmt::format(
      ",\n{{\"name\":{},\"cat\":{},\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{:.3f},\"dur\":{:.3f}}"
      "}",
      quoted(name), quoted(category), pid, static_cast<int>(stream.role) + 1,
      microseconds(begin - start_), microseconds(end - begin));
}

void Trace::end_run() {
  const auto all = names_ + std::exchange(failed_, {}) + std::exchange(events_, {});
  if (all.empty()) return;
  const auto events = std::string_view(all).substr(empty_ ? 1 : 0);  // no comma before the first
  try {
    write_at(end_, std::string(events).append(tail));
  } catch (...) {  // restores the file to its state before this run
    if (ftruncate(file_.descriptor(), static_cast<off_t>(end_)) == 0) write_at(end_, tail);
    throw;
  }
  end_ += events.size();
  empty_ = false;
  names_.clear();
}

void Trace::write_at(std::uint64_t offset, std::string_view text) const {
  while (!text.empty()) {
    const auto written =
        pwrite(file_.descriptor(), text.data(), text.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw write_failure(path_, errno);
    text.remove_prefix(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
}

}  // namespace tenon
