// What host and worker say to each other. Both sides are built from one source tree and installed together; a worker of another version
// refuses to start. Neither side believes what it reads: the host because the worker runs a plugin's code, the worker to end where it is.
//
// Each conversation has a Control page. The host writes `request`, hands the turn over and waits; the worker answers with a reply, or asks
// something of the host first (a callback), who then writes `resume` and hands the turn back. Messages lie in SharedBlocks, whose
// descriptors go through a socket. A message is a record of this header, then arrays of records, each at the next multiple of 8.
#pragma once
#include <tenon/abi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tenon::isolate {

inline constexpr std::uint32_t protocol_version = 3;
inline constexpr std::uint64_t text_capacity = 2048;
inline constexpr std::uint64_t gradient_message_limit = 1u << 20;  ///< bytes of the nodes that a gradient or a composed operator adds
inline constexpr std::uint32_t callback_limit = 1u << 20;

// The worker's descriptors. 0, 1 and 2 are /dev/null.
inline constexpr int plugin_descriptor = 3, socket_descriptor = 4, crash_descriptor = 5, first_library_descriptor = 6;

// What the worker sends once on its first socket: a line of a word, and for all but the first a blank and a text.
inline constexpr const char* ready = "ready";            // then which limits are in force
inline constexpr const char* not_opened = "not_opened";  // what the loader says
inline constexpr int no_more_threads = 71;               // its exit code

enum class Turn : std::uint32_t { nobody, request, callback, resume, reply, ended };

enum class Operation : std::uint32_t {
  look,           // at a table: a symbol's name -> TableRecord
  create,         // a symbol's name and attributes -> Report::number, the instance
  destroy,        // Request::instance
  infer,          // types -> types
  infer_storage,  // StorageRecord, types, storages -> storages, Report::number: whether the sparse kernel runs
  workspace,      // types -> Report::number, bytes
  gradient,       // GradientRecord
  compose,        // the same
  call,           // CallRecord, tensors, writes

  // callbacks
  allocate_sparse,  // SparseCallback
  allocate,         // DenseCallback
  gradient_value,
  gradient_add,
  gradient_set,
  gradient_set_output,
  gradient_connected,
  gradient_type,  // -> Resume::text: a tenon_type
};

/// Bytes of a block; block 0: nowhere.
struct Place {
  std::uint64_t block, offset;
};

struct Request {
  std::uint32_t new_blocks;  // to take from the socket first
  Operation operation;
  std::uint64_t instance;
  Place message;
  std::uint64_t bytes;
  Place reply;  // for arrays of the reply and of callbacks
  std::uint64_t reply_capacity;
  std::uint64_t float_modes;
};

/// From the host, after a callback.
struct Resume {
  std::uint32_t new_blocks;
  std::int32_t status, error_kind;
  std::uint32_t reserved;
  std::uint64_t number;
  Place values, indices, row_starts;
  char text[text_capacity];
};

/// From the worker: a reply or a callback.
struct Report {
  Operation operation;
  std::int32_t status, error_kind;
  std::uint32_t left_modes;  // the function left floating-point modes changed
  std::uint64_t number;
  std::uint64_t bytes;  // of the arrays
  char text[text_capacity];
};

struct Control {
  std::atomic<std::uint32_t> turn;
  std::atomic<std::uint32_t> worker_sleeps, host_sleeps;
  std::uint32_t spin_ns;  // how long a side looks at `turn` before it sleeps
  Request request;
  Resume resume;
  Report report;
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

/// Through the socket, with its descriptor.
struct BlockNotice {
  std::uint64_t block, bytes;
  std::uint32_t writable, forget;  // forget: there is no descriptor, and the block is of no use any more
};

/// Which of the table's functions are not null: bit i is the i-th of tenon_operator's, from create on.
struct TableRecord {
  std::uint64_t size, traits;
  std::uint32_t abi_major, abi_minor;
  std::uint32_t functions, missing;  // missing: 1 no such symbol, 2 the table is null
};

struct AttributeRecord {
  std::uint32_t kind, name_bytes;
  std::uint64_t count;
  std::int64_t i;
  double f;
};  // then the name, then count bytes, integers or doubles; of a tensor a TensorParameterRecord, then count bytes of elements

struct TensorParameterRecord {
  std::uint32_t dtype, rank;
  std::int64_t dims[TENON_MAX_RANK];
};

inline constexpr std::uint64_t no_values = UINT64_MAX;

struct InferRecord {
  std::uint32_t input_count, output_count, state_count;
  std::int32_t dispatch;  // of workspace
};  // then inputs, outputs and states as tenon_type; of infer also for each input the bytes of its elements (no_values: not known),
    // then these bytes -> types, then for each input a byte: whether infer() would use its elements

struct StorageRecord {
  std::uint32_t input_count, output_count;
  std::int32_t device_type, dispatch;
  std::uint32_t has_types, reserved;
};  // then storages of inputs, then types of inputs where it has them

struct GradientRecord {
  std::uint32_t input_count, output_count;
};

struct GradientCallback {
  std::int32_t source;
  std::uint32_t index;
  std::uint64_t value;
  std::uint32_t name_bytes, input_count, attribute_count, reserved;
};  // gradient_add: then the name, the inputs as uint64, the attributes -> Resume::number: how many outputs, text: as many of them as fit

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
  Place data, indices, row_starts;
};

struct CallRecord {
  std::int32_t dispatch;
  std::uint32_t flags;
  std::uint32_t input_count, output_count, state_count;
  std::int32_t threads;
  std::uint64_t seed, step, node;
  Place workspace;
  std::uint64_t workspace_bytes;
};  // then inputs, outputs, states; of backward also output and input gradients; then a byte for each output (of backward: input) to write

/// Filled by a signal handler of the worker before it dies.
struct CrashFrame {
  char module[64];
  std::uint64_t offset;
};
struct CrashRecord {
  static constexpr std::uint32_t most_frames = 24;
  std::atomic<std::uint32_t> signal;
  std::uint32_t conversation;  // whose thread it was; 0: another one
  std::atomic<std::uint32_t> frame_count;
  std::uint32_t reserved;
  CrashFrame frames[most_frames];
};

}  // namespace tenon::isolate
