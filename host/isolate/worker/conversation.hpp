// A thread of the worker that executes the requests of one conversation; one host thread at a time
// uses it.
#pragma once
#include <mutex>
#include <span>
#include <vector>

#include "isolate/message.hpp"
#include "isolate/worker/blocks.hpp"
#include "isolate/worker/kernel_call.hpp"
#include "isolate/worker/plugin.hpp"

namespace tenon::isolate {

class Conversation {
 public:
  Conversation(Plugin& plugin, Control& control, int socket)
      : plugin_(plugin), control_(control), socket_(socket) {}
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  [[noreturn]] void serve();

  /// Makes a callback to the host from within a function of the plugin and waits for the answer,
  /// whose error it copies. One thread at a time: hold callback_mutex().
  template <class Callback>
  const Resume& call_host(Operation operation, const Callback& callback, tenon_error& error) {
    Writer(outgoing_).put(callback);
    return call_host(operation, error);
  }
  std::mutex& callback_mutex() { return callback_mutex_; }
  const Blocks& blocks() const { return blocks_; }

 private:
  void answer();
  std::int32_t work(std::span<const std::byte> message, tenon_error& error);
  std::int32_t find_table(std::span<const std::byte> message);
  std::int32_t create(std::span<const std::byte> message, tenon_error& error);
  void destroy();
  std::int32_t infer(std::span<const std::byte> message, tenon_error& error);
  std::int32_t infer_storage(std::span<const std::byte> message, tenon_error& error);
  std::int32_t workspace(std::span<const std::byte> message, tenon_error& error);
  using GraphFunction = std::int32_t (*tenon_operator::*)(const void* instance, tenon_gradient* io);
  std::int32_t build_graph(GraphFunction function, std::span<const std::byte> message,
                           tenon_error& error);
  Object object();
  const Resume& call_host(Operation operation, tenon_error& error);
  /// Copies a message, or outgoing_, to the host's reply buffer.
  void send(const auto& message) {
    Writer(outgoing_).put(message);
    send();
  }
  void send();

  Plugin& plugin_;
  Control& control_;
  const int socket_;
  std::mutex callback_mutex_;
  Blocks blocks_;
  KernelCall kernel_call_;
  std::vector<std::byte> outgoing_;
};

}  // namespace tenon::isolate
