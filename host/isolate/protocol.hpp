// The protocol between host and worker. Both sides are built from one source tree and installed
// together; the host refuses a worker of another version. Neither side trusts what it reads: the
// host because the worker runs a plugin's code, the worker so that it fails at the right place.
//
// Each conversation has a Control page. The host writes `request`, passes the turn and waits; the
// worker replies, or first makes a callback, to which the host writes `resume` and passes the turn
// back. Messages are in SharedBlocks, whose descriptors go through a socket. A message is a record
// of this header or one of requests.hpp.
#pragma once
#include <tenon/abi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tenon::isolate {

inline constexpr std::uint64_t text_capacity = 2048;
/// in bytes, of the nodes that a gradient or composed operator adds
inline constexpr std::uint64_t gradient_message_limit = 1u << 20;
inline constexpr std::uint32_t callback_limit = 1u << 20;

// The worker's descriptors. 0, 1 and 2 are /dev/null.
inline constexpr int plugin_descriptor = 3, socket_descriptor = 4, crash_descriptor = 5,
                     first_library_descriptor = 6;

// Sent once by the worker on its first socket: a word, followed by a space and a text.
inline constexpr const char* ready =
    "ready-4";  // protocol version 4; followed by the limits in force
inline constexpr const char* not_opened = "not_opened";  // followed by the loader's message
inline constexpr int no_more_threads = 71;               // the worker's exit code

enum class Turn : std::uint32_t { none, request, callback, resume, reply, ended };

enum class Operation : std::uint32_t {
  find_table,     // for a table: a symbol's name -> TableRecord
  create,         // CreateRequest -> Report::number, the instance
  destroy,        // Request::instance
  infer,          // InferRequest -> InferReply
  infer_storage,  // StorageRequest -> storages, Report::number: whether the sparse kernel runs
  workspace,      // InferRequest -> Report::number, bytes
  gradient,       // GradientRecord
  compose,        // like gradient
  call,           // CallRequest

  // callbacks
  allocate_sparse,  // SparseCallback
  allocate,         // DenseCallback
  gradient_value,   // GradientCallback, like those below
  gradient_add,     // AddCallback -> Resume::number: the outputs, text: as many of them as fit
  gradient_set,
  gradient_set_output,
  gradient_connected,
  gradient_type,  // -> Resume::text: a tenon_type
};

/// Position in a block; block 0 means none.
struct BlockPosition {
  std::uint64_t block, offset;
};

struct Request {
  std::uint32_t new_blocks;  // number of blocks to receive from the socket first
  Operation operation;
  std::uint64_t instance;
  BlockPosition message;
  std::uint64_t bytes;
  BlockPosition reply;  // buffer for the arrays of the reply and of callbacks
  std::uint64_t reply_capacity;
  std::uint64_t float_modes;
};

/// Sent by the host after a callback.
struct Resume {
  std::uint32_t new_blocks;
  std::int32_t status, error_kind;
  std::uint32_t reserved;
  std::uint64_t number;
  BlockPosition values, indices, row_starts;
  char text[text_capacity];
};

/// Sent by the worker: a reply or a callback.
struct Report {
  Operation operation;
  std::int32_t status, error_kind;
  std::uint32_t changed_modes;  // whether the function left floating-point modes changed
  std::uint64_t number;
  std::uint64_t bytes;  // of the arrays
  char text[text_capacity];
};

struct Control {
  std::atomic<std::uint32_t> turn;
  std::atomic<std::uint32_t> worker_sleeps, host_sleeps;
  std::uint32_t spin_ns;  // how long a side polls `turn` before it sleeps
  Request request;
  Resume resume;
  Report report;
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

/// Sent through the socket with the block's descriptor.
struct BlockNotice {
  std::uint64_t block, bytes;
  // forget: there is no descriptor, and the block is no longer used
  std::uint32_t writable, forget;
};

/// Bit i of `functions` is set if function i of each_function() is not null.
struct TableRecord {
  std::uint64_t size, traits;
  std::uint32_t abi_major, abi_minor;
  // missing: 1 if there is no such symbol, 2 if the table is null
  std::uint32_t functions, missing;
};

struct GradientRecord {
  std::uint32_t input_count, output_count;
};

struct GradientCallback {
  std::int32_t source;
  std::uint32_t index;
  std::uint64_t value;
};

struct SparseCallback {
  std::uint32_t output, reserved;
  std::int64_t stored;
};

struct DenseCallback {
  std::uint32_t output;
  std::int32_t rank;
  std::int64_t dims[TENON_MAX_RANK];
};

struct TensorRecord {
  std::uint8_t present, dtype, storage, index_dtype, type_code, type_bits, reserved[2];
  std::int64_t rank;
  std::int64_t dims[TENON_MAX_RANK];
  std::int64_t stored;
  BlockPosition data, indices, row_starts;
};

struct CallRecord {
  std::int32_t dispatch;
  std::uint32_t flags;
  std::uint32_t input_count, output_count, state_count;
  std::int32_t threads;
  std::uint64_t seed, step, node;
  BlockPosition workspace;
  std::uint64_t workspace_bytes;
};

/// Filled in by a signal handler of the worker before it dies.
struct CrashFrame {
  char module[64];
  std::uint64_t offset;
};
struct CrashRecord {
  static constexpr std::uint32_t max_frames = 24;
  std::atomic<std::uint32_t> signal;
  std::uint32_t conversation;  // conversation of the crashing thread; 0 for other threads
  std::atomic<std::uint32_t> frame_count;
  std::uint32_t reserved;
  CrashFrame frames[max_frames];
};

}  // namespace tenon::isolate
