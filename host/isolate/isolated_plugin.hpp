// A plugin whose code runs in a worker process, and proxies for its function tables.
#pragma once
#include <tenon/abi.h>

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "isolate/message.hpp"
#include "isolate/worker_process.hpp"

namespace tenon {

class IsolatedTable;

/// Restarts its worker if that has ended. Thread-safe.
class IsolatedPlugin : public std::enable_shared_from_this<IsolatedPlugin> {
 public:
  /// Takes ownership of the descriptor. Starts the worker; throws as WorkerProcess does.
  IsolatedPlugin(const WorkerPlugin& plugin, const WorkerOptions& options);
  ~IsolatedPlugin();
  IsolatedPlugin(const IsolatedPlugin&) = delete;
  IsolatedPlugin& operator=(const IsolatedPlugin&) = delete;

  std::string name() const { return plugin_.path.filename(); }
  /// Returns a worker that has not ended. Throws Failure whose text can follow an operator's name.
  std::shared_ptr<WorkerProcess> worker();
  /// Returns the proxy for the table returned by the symbol's function, with that table's size and
  /// version; null if the function returns null. Throws Failure if there is no such symbol or the
  /// worker ends.
  std::shared_ptr<const IsolatedTable> table(const std::string& symbol);

 private:
  const WorkerPlugin plugin_;
  const OpenFile bytes_;
  const WorkerOptions options_;
  std::mutex mutex_;
  std::shared_ptr<WorkerProcess> worker_;
};

/// A worker's conversation for one or several consecutive requests.
class Conversation {
 public:
  explicit Conversation(std::shared_ptr<WorkerProcess> worker)
      : worker_(std::move(worker)), channel_(worker_->borrow_channel()) {}
  ~Conversation() { worker_->give_back(std::move(channel_)); }
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  Channel& channel() const { return *channel_; }
  WorkerProcess& worker() const { return *worker_; }
  /// See Channel::exchange.
  const isolate::Report& exchange(isolate::Operation operation, std::uint64_t instance,
                                  std::span<const std::byte> message, std::uint64_t reply_bytes = 0,
                                  CallbackHandler* handler = nullptr) const {
    return channel_->exchange(*worker_, operation, instance, message, reply_bytes, handler);
  }
  /// Writes a message of requests.hpp and exchanges it.
  template <class Message>
  const isolate::Report& request(isolate::Operation operation, std::uint64_t instance,
                                 const Message& message, std::uint64_t reply_bytes = 0,
                                 CallbackHandler* handler = nullptr) const {
    std::vector<std::byte> bytes;
    isolate::Writer(bytes).put(message);
    return exchange(operation, instance, bytes, reply_bytes, handler);
  }
  /// Calls use(reply) with the last reply; `use` may throw ProtocolError. Throws Failure.
  template <class Reply, class Use>
  void read_reply(const Use& use) const {
    try {
      use(isolate::read_message<Reply>(channel_->reply()));
    } catch (const isolate::ProtocolError& error) {
      worker_->end(std::string("violated the protocol (") + error.what() + ") and was ended");
      throw Failure(FailureKind::failed, worker_->end_sentence(channel_->number()));
    }
  }

 private:
  std::shared_ptr<WorkerProcess> worker_;
  std::unique_ptr<Channel> channel_;
};

/// Functions for objects made by create_isolated(). Functions that the plugin's table lacks are
/// null. Its own create() always fails, because it has no access to the table.
class IsolatedTable {
 public:
  IsolatedTable(std::shared_ptr<IsolatedPlugin> plugin, std::string symbol,
                const isolate::TableRecord& record);
  IsolatedTable(const IsolatedTable&) = delete;
  IsolatedTable& operator=(const IsolatedTable&) = delete;

  const tenon_operator& functions() const { return functions_; }
  IsolatedPlugin& plugin() const { return *plugin_; }
  /// Returns whether the plugin's table has prepare(), which is never called: packed constants
  /// would need memory that the worker cannot change.
  bool prepares() const { return prepares_; }
  const std::string& symbol() const { return symbol_; }

 private:
  std::shared_ptr<IsolatedPlugin> plugin_;
  std::string symbol_;
  tenon_operator functions_;
  bool prepares_ = false;
};

/// Creates an object for the table's functions; destroy() frees it. The object keeps the table
/// alive. Throws Error with the plugin's reason, or Failure.
void* create_isolated(std::shared_ptr<const IsolatedTable> table,
                      std::span<const tenon_attribute> attributes);

}  // namespace tenon
