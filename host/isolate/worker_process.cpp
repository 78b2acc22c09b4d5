#include "isolate/worker_process.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "io/system_reason.hpp"
#include "isolate/turns.hpp"

namespace tenon {

using namespace isolate;

namespace {

/// Blocks signals: the application's signals are for its own threads.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  return name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

/// Makes folders in LD_LIBRARY_PATH absolute, because a worker changes its current folder. Other
/// variables are returned unchanged.
std::string with_absolute_folders(const std::string& variable) {
  constexpr std::string_view name = "LD_LIBRARY_PATH=";
  if (!variable.starts_with(name) || variable.size() == name.size()) return variable;
  std::string text(name);
  for (auto begin = name.size(); begin <= variable.size();) {
    const auto end = std::min(variable.find_first_of(":;", begin), variable.size());
    const auto folder = variable.substr(begin, end - begin);
    text += (begin == name.size() ? "" : ":") +
            std::filesystem::absolute(folder.empty() ? "." : folder).string();
    begin = end + 1;
  }
  return text;
}

/// Passes only the variables that the loader, the C library, kernel libraries and sanitizers read,
/// because an environment may contain passwords.
std::vector<std::string> environment_of_worker() {
  std::vector<std::string> found;
  for (char** variable = environ; *variable != nullptr; ++variable)
    for (const char* begin :
         {"LD_", "LC_", "LANG", "TZ=", "OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "ONEDNN_",
          "DNNL_", "MALLOC_", "GLIBC_TUNABLES=", "TENON_",
          "ASAN_OPTIONS=", "UBSAN_OPTIONS=", "TSAN_OPTIONS=", "LSAN_OPTIONS="})
      if (std::string_view(*variable).starts_with(begin)) {
        found.push_back(with_absolute_folders(*variable));
        break;
      }
  return found;
}

}  // namespace

WorkerProcess::WorkerProcess(const WorkerPlugin& plugin, const WorkerOptions& options)
    : options_(options),
      name_(plugin.path.filename()),
      crash_(sizeof(CrashRecord), SharedBlock::Access::write, "its crash report") {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    throw Failure(FailureKind::failed,
                  "cannot communicate with a worker process: " + system_reason(errno));
  socket_ = OpenFile(ends[0]);
  OpenFile worker_end(ends[1]);
  std::vector<std::string> arguments{
      options.program.string(),       std::to_string(getpid()),
      std::to_string(options.memory), std::to_string(options.threads),
      plugin.path.string(),           std::to_string(plugin.libraries.size())};
  for (const auto& path : plugin.readable) arguments.push_back(path.string());
  std::vector<int> descriptors{Child::dev_null,   Child::dev_null,         Child::dev_null,
                               plugin.descriptor, worker_end.descriptor(), crash_.descriptor()};
  descriptors.insert(descriptors.end(), plugin.libraries.begin(), plugin.libraries.end());
  std::promise<void> started;
  auto start = started.get_future();
  try {
    const SignalsBlocked blocked;
    guardian_ = std::thread(
        [this, arguments, descriptors, &started] { guard(arguments, descriptors, started); });
  } catch (const std::system_error& error) {
    throw Failure(
        FailureKind::failed,
        std::string("cannot start a thread that waits for a worker process: ") + error.what());
  }
  try {
    start.get();
    worker_end = OpenFile(-1);  // otherwise the socket would not signal the worker's end
    await_ready();
  } catch (...) {
    end("did not start");
    guardian_.join();
    throw;
  }
}

void WorkerProcess::await_ready() {
  pollfd wait{socket_.descriptor(), POLLIN, 0};
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(options_.start_timeout_ms);
  int poll_result = 0;
  do {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
                          deadline - std::chrono::steady_clock::now())
                          .count();
    poll_result = poll(&wait, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
  } while (poll_result < 0 && errno == EINTR);
  char text[4096];
  const auto bytes_read =
      poll_result > 0 ? recv(socket_.descriptor(), text, sizeof text, MSG_DONTWAIT) : 0;
  const std::string line(text, bytes_read > 0 ? static_cast<std::size_t>(bytes_read) : 0);
  const auto starts_with = [&](const std::string& word) { return line.starts_with(word + ' '); };
  if (starts_with(ready)) {
    limits_ = line.substr(std::strlen(ready) + 1);
    return;
  }
  if (line.starts_with("ready"))
    throw Failure(FailureKind::failed,
                  "cannot start a worker process: " + options_.program.string() +
                      " has a different version than the host");
  using Reason = WorkerStartError::Reason;
  if (starts_with(not_opened)) {
    end("was ended");
    end_.wait();
    throw WorkerStartError(Reason::not_opened, line.substr(std::strlen(not_opened) + 1));
  }
  if (poll_result == 0) {
    end("hung");
    end_.wait();
    throw WorkerStartError(Reason::hung, "hung: loading it in a worker process took more than " +
                                             std::to_string(options_.start_timeout_ms) + " ms");
  }
  if (end_.wait_for(std::chrono::seconds(1)) == std::future_status::timeout)
    end("closed its socket and was ended");
  end_.wait();
  throw WorkerStartError(Reason::crashed,
                         how_it_ended(0) + " while being loaded in a worker process");
}

// Runs in its own thread that lives as long as the process, because the process is signalled when
// the thread that started it ends.
void WorkerProcess::guard(const std::vector<std::string>& arguments,
                          const std::vector<int>& descriptors, std::promise<void>& started) {
  try {
    const auto environment = environment_of_worker();
    child_.emplace(arguments, descriptors,
                   Child::StartError{"cannot start a worker process: " + arguments[0], ""},
                   &environment);
  } catch (...) {
    started.set_exception(std::current_exception());
    return;
  }
  started.set_value();
  child_->wait_for_end();
  {
    const std::lock_guard lock(mutex_);
    status_ = child_->reap();
    ended_.store(true, std::memory_order_seq_cst);
    for (auto* control : controls_) {
      control->turn.store(static_cast<std::uint32_t>(Turn::ended), std::memory_order_seq_cst);
      wake(control->turn);
    }
  }
  end_promise_.set_value();
}

WorkerProcess::~WorkerProcess() {
  if (!guardian_.joinable()) return;
  end("is no longer needed");
  guardian_.join();
}

void WorkerProcess::end(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (ended() || !child_) return;
  if (ended_because_.empty()) ended_because_ = why;
  child_->end();
}

std::unique_ptr<Channel> WorkerProcess::borrow_channel() {
  const std::lock_guard lock(mutex_);
  if (!idle_.empty()) {
    auto channel = std::move(idle_.back());
    idle_.pop_back();
    return channel;
  }
  auto channel = std::make_unique<Channel>(++channels_, options_.memory);
  const int descriptors[] = {channel->control_descriptor(), channel->worker_socket()};
  // if sending fails, the worker has ended
  send_descriptors(socket_.descriptor(), {}, descriptors);
  channel->close_worker_socket();
  controls_.push_back(&channel->control());
  return channel;
}

void WorkerProcess::give_back(std::unique_ptr<Channel> channel) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(channel));
}

std::string WorkerProcess::end_sentence(std::uint32_t channel) {
  end_.wait();
  const std::lock_guard lock(mutex_);
  return "its worker process " + how_it_ended(channel) + " (" + name_ + ")" + backtrace();
}

std::string WorkerProcess::how_it_ended(std::uint32_t channel) const {
  if (!ended_because_.empty()) return ended_because_;
  if (!status_) return "ended";
  if (WIFEXITED(*status_) && WEXITSTATUS(*status_) == no_more_threads)
    return "could not start more threads and ended";
  if (!WIFSIGNALED(*status_))
    return "ended with exit code " + std::to_string(WEXITSTATUS(*status_));
  const auto& crash = *reinterpret_cast<const CrashRecord*>(crash_.data());
  const auto at = crash.conversation;
  const auto signal = WTERMSIG(*status_);
  const bool others = crash.signal.load() == static_cast<std::uint32_t>(signal) && at != 0 &&
                      channel != 0 && at != channel;
  if (signal == SIGKILL) return "was killed with SIGKILL; the system may have run out of memory";
  return (others ? "ended because another call in it crashed with " : "crashed with ") +
         signal_name(signal);
}

// The worker controls the record, so numbers are read once and names may contain anything. Frames
// of the worker program below the plugin's are omitted.
std::string WorkerProcess::backtrace() const {
  const auto& crash = *reinterpret_cast<const CrashRecord*>(crash_.data());
  if (!ended_because_.empty() || crash.signal.load() == 0) return {};
  constexpr std::uint32_t max_shown = 8;
  const auto count = std::min(crash.frame_count.load(), max_shown);
  std::string text;
  for (std::uint32_t i = 0; i < count; ++i) {
    CrashFrame frame;
    std::memcpy(&frame, &crash.frames[i], sizeof frame);
    frame.module[sizeof frame.module - 1] = '\0';
    if (!text.empty() && std::string_view(frame.module) == "tenon-worker") break;
    for (char& letter : frame.module)
      if (letter != '\0' && (letter < ' ' || letter > '~')) letter = '?';
    char number[24];
    std::snprintf(number, sizeof number, "%s0x%llx", frame.module[0] == '\0' ? "" : "+",
                  static_cast<unsigned long long>(frame.offset));
    text += (text.empty() ? "; backtrace: " : ", ") + std::string(frame.module) + number;
  }
  return text;
}

}  // namespace tenon
