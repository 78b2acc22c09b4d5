// An object of an isolated plugin, as this process knows it.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "isolate/isolated_plugin.hpp"
#include "isolate/kernel_message.hpp"

namespace tenon {

/// Made again, from its attributes, where its worker has ended. Threads: as abi.h says of the functions.
class RemoteObject {
 public:
  RemoteObject(std::shared_ptr<const IsolatedTable> table, std::span<const tenon_attribute> attributes);
  ~RemoteObject();
  RemoteObject(const RemoteObject&) = delete;
  RemoteObject& operator=(const RemoteObject&) = delete;

  static RemoteObject& of(const void* instance) { return *static_cast<RemoteObject*>(const_cast<void*>(instance)); }

  /// Its worker and its number there. Throws Failure, and Error with the reason why it cannot be made again.
  struct Home {
    std::shared_ptr<WorkerProcess> worker;
    std::uint64_t number;
  };
  Home home();

  KernelMessage& kernel_message() { return kernel_message_; }  ///< for the one thread that calls a kernel

 private:
  std::uint64_t create_in(const std::shared_ptr<WorkerProcess>& worker) const;

  std::shared_ptr<const IsolatedTable> table_;
  std::vector<std::byte> create_message_;
  std::mutex mutex_;
  Home home_{};
  KernelMessage kernel_message_;
};

/// Throws what the worker's function failed with.
void require_success(const isolate::Report& report);

}  // namespace tenon
