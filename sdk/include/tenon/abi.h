/* The C boundary between Tenon and its plugins, the only shared header. C11, also C++ and CUDA.
 *
 *  - A struct that begins with `size` may grow at its end. The side that fills it sets size to
 *    sizeof(its version); the side that reads it accesses only fields within size. Structs without
 *    `size` are elements of arrays or parts of other structs and never change.
 *  - Pointers are borrowed for the duration of the call. The side that allocated memory frees it.
 *  - Functions return 0 on success, or nonzero after writing the reason into the given tenon_error.
 *    No exception crosses the boundary.
 *  - Text is UTF-8 and NUL-terminated.
 *  - [thread] tags: [any] any thread, concurrently; [one] one thread at a time per object; [caller]
 *    only during the call that passed the pointer.
 */
#ifndef TENON_ABI_H
#define TENON_ABI_H

#include <stdint.h>

#define TENON_ABI_MAJOR 1
#define TENON_ABI_MINOR 1
#define TENON_MAX_RANK 8
#define TENON_MAX_TABLE 65536 /* elements of a tensor that is a parameter */

#ifdef __cplusplus
extern "C" {
#endif

/* ---- enumerations
 * ----------------------------------------------------------------------------
 */

enum tenon_dtype {
  TENON_BOOLEAN = 0,
  TENON_U8 = 1,
  TENON_I8 = 2,
  TENON_I32 = 3,
  TENON_I64 = 4,
  TENON_F16 = 5,
  TENON_BF16 = 6,
  TENON_F32 = 7,
  TENON_F64 = 8,
  /* Since 0.2. Manifests that use one of these list "dtypes" under needs, for older hosts. */
  TENON_I16 = 9,
  TENON_U16 = 10,
  TENON_U32 = 11,
  TENON_U64 = 12,
  TENON_C64 = 13,  /* complex: two floats, the real part first */
  TENON_C128 = 14, /* two doubles */
  /* Floats of 8 bits, then dtypes of 4 and 2 bits, whose elements take a byte each: the lower bits.
   * Manifests that use one of these list "low_bit" under needs. */
  TENON_F8E4M3FN = 15,
  TENON_F8E4M3FNUZ = 16,
  TENON_F8E5M2 = 17,
  TENON_F8E5M2FNUZ = 18,
  TENON_F8E8M0FNU = 19,
  TENON_F4E2M1FN = 20,
  TENON_I4 = 21,
  TENON_U4 = 22,
  TENON_I2 = 23,
  TENON_U2 = 24,
  TENON_DTYPE_COUNT = 25,
  TENON_DTYPE_UNKNOWN = 255
};
/* Layout of a dense tensor of rank 3 to 5. channels_last: [N, C, H, W], strided as N, H, W, C. */
enum tenon_layout { TENON_LAYOUT_PLAIN = 0, TENON_LAYOUT_CHANNELS_LAST = 1 };
enum tenon_storage {
  TENON_DENSE = 0,
  TENON_ROW_SPARSE = 1,
  TENON_CSR = 2,
  TENON_STORAGE_UNKNOWN = 255
};

/* How a kernel must write an output. in_place: to the memory of the input it is paired with. */
enum tenon_write {
  TENON_WRITE_NONE = 0,
  TENON_WRITE_TO = 1,
  TENON_WRITE_IN_PLACE = 2,
  TENON_WRITE_ADD = 3
};

/* DLPack's device types. */
enum tenon_device { TENON_CPU = 1, TENON_CUDA = 2 };

/* Which of a kernel's functions a step calls. */
enum tenon_dispatch {
  TENON_FORWARD = 0,
  TENON_FORWARD_SPARSE = 1,
  TENON_BACKWARD = 2,
  TENON_BACKWARD_SPARSE = 3
};

enum tenon_attribute_kind {
  TENON_ATTR_BOOL = 1,   /* i: 0 or 1 */
  TENON_ATTR_INT = 2,    /* i */
  TENON_ATTR_FLOAT = 3,  /* f */
  TENON_ATTR_TEXT = 4,   /* text, count bytes; also the name of an enum's value */
  TENON_ATTR_INTS = 5,   /* ints, count */
  TENON_ATTR_FLOATS = 6, /* floats, count */
  /* Since 0.2. Manifests of operators with such parameters list "parameters" under needs. */
  TENON_ATTR_TEXTS =
      7, /* text: concatenated NUL-terminated texts; count: total bytes, including the NULs */
  TENON_ATTR_TENSOR = 8 /* tensor: dense, contiguous, in the CPU's memory, of the declared dtype; at
                           most TENON_MAX_TABLE elements */
};

enum tenon_error_kind {
  TENON_ERROR_FAILED = 1,    /* a reason of the operator's author */
  TENON_ERROR_PARAMETER = 2, /* a parameter is missing, unknown or out of range */
  TENON_ERROR_TYPE = 3,      /* a shape, dtype or storage does not fit */
  TENON_ERROR_MEMORY = 4,
  TENON_ERROR_UNKNOWN = 5 /* an exception other than std::exception */
};

/* ---- errors
 * ----------------------------------------------------------------------------
 */

/* A buffer owned by the caller and filled by the callee. */
typedef struct tenon_error {
  uint64_t size;
  int32_t kind;
  int32_t reserved;
  char* text;        /* out: the reason, cut to capacity - 1 bytes */
  uint64_t capacity; /* in: bytes at text, at least 1 */
} tenon_error;

/* ---- tensors
 * ----------------------------------------------------------------------------
 */

/* Laid out as DLPack's DLTensor; a test compares it with dlpack.h. */
typedef struct tenon_dense {
  void* data;
  int32_t device_type; /* enum tenon_device */
  int32_t device_id;
  int32_t ndim;
  uint8_t type_code;   /* DLPack: 0 int, 1 uint, 2 float, 4 bfloat, 5 complex, 6 bool, 10 to 14
                        float8, 17 float4 */
  uint8_t type_bits;   /* 4 and 2: one element per byte */
  uint16_t type_lanes; /* always 1 */
  int64_t* shape;
  int64_t* strides; /* in elements; null: contiguous in row-major order */
  uint64_t byte_offset;
} tenon_dense;

/* A tensor in any storage. For csr and row_sparse, dense.shape is the shape of the whole tensor and
 * dense.data points to the stored values. */
typedef struct tenon_tensor {
  uint64_t size;
  tenon_dense dense;
  uint8_t storage;     /* enum tenon_storage */
  uint8_t dtype;       /* enum tenon_dtype, the same as dense.type_* */
  uint8_t index_dtype; /* of indices and row_starts: TENON_I32 or TENON_I64 */
  uint8_t reserved[5];
  int64_t stored;         /* csr: values; row_sparse: rows; dense: 0 */
  const void* indices;    /* csr: column of each value, ascending within a row; row_sparse: row ids,
                             ascending */
  const void* row_starts; /* csr: [rows + 1], from 0 to stored */
} tenon_tensor;

/* Everything known about a tensor before it exists. 72 bytes; never grows (an array element). */
typedef struct tenon_type {
  int64_t dims[TENON_MAX_RANK]; /* -1: unknown; entries from rank on are 0 */
  int32_t rank;                 /* -1: unknown */
  uint8_t dtype;                /* TENON_DTYPE_UNKNOWN if unknown */
  uint8_t storage;
  uint8_t present; /* 0: an optional input that is not connected; infer() may give it a type, and a
                      graph then makes a variable of it */
  uint8_t layout;  /* enum tenon_layout, in what workspace(), prepare(), supports() and algorithm
                      see; else 0 */
} tenon_type;

/* ---- parameters
 * ----------------------------------------------------------------------------
 */

/* 56 bytes; never grows. kind determines which fields are set. */
typedef struct tenon_attribute {
  const char* name;
  uint32_t kind; /* enum tenon_attribute_kind */
  uint32_t reserved;
  uint64_t count;
  int64_t i;
  double f;
  union {
    const char* text;
    const int64_t* ints;
    const double* floats;
    const tenon_tensor* tensor;
  };
  uint64_t reserved2;
} tenon_attribute;

/* ---- functions of the host
 * ------------------------------------------------------------------------------------------- */

typedef struct tenon_call tenon_call;
typedef void (*tenon_body)(void* body_context, int64_t begin, int64_t end);
typedef void (*tenon_function)(void); /* cast it to its own type before it is called */

typedef struct tenon_host {
  uint64_t size;
  uint32_t abi_major, abi_minor;

  /* [caller] Calls body for chunks of [0, n), each of about `grain` indices, on the host's threads
   * and the calling thread; returns when all are done. The chunks depend only on n and grain, never
   * on the number of threads. body must not throw. */
  void (*parallel_for)(const tenon_call* call, int64_t n, int64_t grain, tenon_body body,
                       void* body_context);

  /* [caller] Allocates a csr output of `stored` values or a row_sparse output of `stored` rows,
   * with int64 indices; in backward, the gradient of that input. out receives the call's own
   * tensor, whose values, indices and row_starts may be written until the call returns. Every
   * sparse output that the plan requests must be allocated in each call. */
  int32_t (*allocate_sparse)(const tenon_call* call, uint32_t output, int64_t stored,
                             tenon_tensor** out, tenon_error* error);

  /* [any] Since minor 1. Returns an optional function of the host by its name and version, or null
   * if this host lacks it: "allocate/1"          tenon_allocate              "log/1" tenon_log
   *   "allocate_scratch/1"  tenon_allocate_scratch      "cancelled/1"   tenon_cancelled
   *   "free_scratch/1"      tenon_free_scratch          "at_end/1"      tenon_at_end */
  tenon_function (*query)(const char* name);
} tenon_host;

/* [caller] Allocates a dense output whose size the plan does not know (`allocate` in the manifest's
 * needs); called once per such output in each call. The shape must be compatible with the result of
 * infer(). out receives the call's own tensor, whose elements may be written until the call
 * returns. */
typedef int32_t (*tenon_allocate)(const tenon_call* call, uint32_t output, const int64_t* dims,
                                  int32_t rank, tenon_tensor** out, tenon_error* error);

/* [caller] Allocates memory of the call's GPU, aligned to at least 64 bytes, for work that the call
 * enqueues on its stream, if workspace() cannot know the size. Not allowed in a captured kernel. It
 * must be freed before the call returns; work enqueued by then may still use it. */
typedef int32_t (*tenon_allocate_scratch)(const tenon_call* call, uint64_t bytes, void** out,
                                          tenon_error* error);
typedef void (*tenon_free_scratch)(const tenon_call* call, void* memory);

/* [any thread of the call] Logs a line of text, to which the host adds node and operator. */
enum tenon_log_level { TENON_LOG_INFO = 1, TENON_LOG_WARNING = 2 };
typedef void (*tenon_log)(const tenon_call* call, int32_t level, const char* text);

/* [any thread of the call] Returns 1 if the run was cancelled: the kernel may fail early. */
typedef int32_t (*tenon_cancelled)(const tenon_call* call);

/* [any] Registers `end`, which is called once with the exit status when the process exits normally,
 * before static objects are destroyed: for plugins with connections to other processes. Not
 * available in a worker process. */
typedef void (*tenon_end)(int32_t status);
typedef void (*tenon_at_end)(tenon_end end);

/* ---- kernel calls
 * ----------------------------------------------------------------------------
 */

enum tenon_call_flag { TENON_CALL_TRAINING = 1 };

/* An invalid element that a CUDA kernel found. The kernel can no longer fail: it skips the element,
 * and the host reports the fault when the device is done. 24 bytes; never grows. */
enum tenon_fault_kind {
  TENON_FAULT_NONE = 0,
  TENON_FAULT_INDEX = 1 /* index `value` is not in [0, limit) */
};
typedef struct tenon_fault {
  int64_t kind; /* enum tenon_fault_kind */
  int64_t value, limit;
} tenon_fault;

struct tenon_call {
  uint64_t size;
  const tenon_host* host;
  void* context; /* the host's own */
  tenon_error* error;
  uint32_t input_count, output_count, state_count;
  uint32_t flags; /* enum tenon_call_flag */

  /* Null if an optional input is not connected or an output is not requested. In backward, inputs
   * and outputs that the operator did not declare to read have no elements: storage is
   * TENON_STORAGE_UNKNOWN and data is null; shape and dtype are set. */
  const tenon_tensor* const* inputs;
  tenon_tensor* const* outputs; /* forward: to write; backward: what forward wrote */
  tenon_tensor* const* states;
  const tenon_tensor* const* output_grads; /* backward only; null: that gradient is zero */
  tenon_tensor* const* input_grads;        /* backward only */
  const uint8_t*
      writes; /* enum tenon_write of each output (forward) or input gradient (backward) */

  void* workspace; /* the size that workspace() requested, aligned to 64 bytes; uninitialized */
  uint64_t workspace_size;

  uint64_t seed, step, node; /* key of the random numbers: seed of the session, number of the run,
                                number of the node */
  void* stream;              /* cudaStream_t of a CUDA kernel */
  int32_t threads;           /* threads that parallel_for may use; 1: it runs the body in place */
  int32_t dispatch;          /* enum tenon_dispatch */
  tenon_fault*
      fault; /* CUDA: device memory for the first fault that is found; null: not requested */

  /* Since minor 1: [kept_count] pointers to the memory that prepare() filled, by slot, or null. */
  const void* const* kept;
  uint32_t kept_count;
  uint32_t reserved2;
};

/* ---- inference
 * ----------------------------------------------------------------------------
 */

/* infer() reads what is known and adds what follows from it; the host then checks every entry. */
typedef struct tenon_infer {
  uint64_t size;
  tenon_error* error;
  uint32_t input_count, output_count, state_count;
  uint32_t precision; /* in supports(): enum tenon_dtype that products of f32 may be computed in,
                         TENON_BF16; 0: that of the types */
  tenon_type* inputs;
  tenon_type* outputs;
  tenon_type* states;

  /* Since minor 1. Elements of inputs, dense and in CPU memory; an entry is null if they are not
   * known, and the array is null if none are. infer() sets wanted[i] to 1 if it would use the
   * elements of input i: the host may compute them and call again. */
  const tenon_tensor* const* values;
  uint8_t* wanted;
} tenon_infer;

typedef struct tenon_infer_storage {
  uint64_t size;
  tenon_error* error;
  uint32_t input_count, output_count;
  const uint8_t* inputs; /* enum tenon_storage of each input; of the output gradients, then the
                            inputs, for backward */
  uint8_t* outputs;      /* out; preset to dense */
  int32_t device_type;
  int32_t dispatch;      /* TENON_FORWARD or TENON_BACKWARD: the queried direction */
  int32_t sparse_kernel; /* out: 1 = run the sparse function with these storages; 0 = make the
                            inputs dense */
  int32_t reserved;
  const tenon_type*
      input_types; /* in the order of inputs, with fully known shapes; null if they are not known */
} tenon_infer_storage;

/* ---- gradient as a graph
 * --------------------------------------------------------------------------------------------- */

typedef struct tenon_gradient tenon_gradient;
typedef uint64_t tenon_value;     /* a value of the backward graph under construction */
#define TENON_NO_VALUE UINT64_MAX /* omits an optional input; hosts before 0.2 reject it */
enum tenon_gradient_source {
  TENON_GRADIENT_INPUT = 0,
  TENON_GRADIENT_OUTPUT = 1,
  TENON_GRADIENT_OUTPUT_GRAD = 2
};

struct tenon_gradient {
  uint64_t size;
  tenon_error* error;
  void* context;
  uint32_t input_count, output_count;
  int32_t (*value)(tenon_gradient* self, int32_t source, uint32_t index, tenon_value* out);
  int32_t (*add)(tenon_gradient* self, const char* op, const tenon_value* inputs,
                 uint32_t input_count, const tenon_attribute* attributes, uint32_t attribute_count,
                 tenon_value* out); /* out: the new node's first output */
  int32_t (*set_input_grad)(tenon_gradient* self, uint32_t input, tenon_value value);

  /* Since minor 1. */
  int32_t (*connected)(tenon_gradient* self, int32_t source,
                       uint32_t index); /* 0: no such input, or a gradient that is zero */
  int32_t (*type)(tenon_gradient* self, tenon_value value,
                  tenon_type* out); /* as far as it is known */
  /* Like add(), for all outputs: out has room for `capacity` values, *count receives their number.
   */
  int32_t (*add_all)(tenon_gradient* self, const char* op, const tenon_value* inputs,
                     uint32_t input_count, const tenon_attribute* attributes,
                     uint32_t attribute_count, tenon_value* out, uint32_t capacity,
                     uint32_t* count);
  int32_t (*set_output)(tenon_gradient* self, uint32_t output,
                        tenon_value value); /* only in compose() */
};

/* ---- tracing of scalar functions
 * -------------------------------------------------------------------------------------- */

typedef struct tenon_trace tenon_trace;

/* Records the scalar computation of an elementwise operator. Each function below returns a value;
 * the inputs are values 0, 1 and so on. Operations have the names of Tenon's operators: add sub mul
 * div neg abs exp log sqrt sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh erf floor
 * ceil round pow minimum maximum where less less_equal greater greater_equal equal not_equal
 * logical_and logical_or logical_xor logical_not; and expm1, log1p and normal_cdf. Operands have
 * one dtype; conditions are booleans. */
struct tenon_trace {
  uint64_t size;
  tenon_error* error;
  void* context; /* the host's own */
  uint32_t input_count;
  uint32_t dtype;     /* of all inputs, and what the operator computes in: TENON_F32 or TENON_F64 */
  tenon_value result; /* out */

  /* [caller] A failure ends the trace; the operator returns it. */
  int32_t (*number)(tenon_trace* self, uint32_t dtype, double value, tenon_value* out);
  int32_t (*apply)(tenon_trace* self, const char* operation, const tenon_value* operands,
                   uint32_t operand_count, tenon_value* out);
  int32_t (*cast)(tenon_trace* self, uint32_t dtype, tenon_value value, tenon_value* out);
  /* [caller] Returns the branch (1 or 0) that this trace takes; the operator is traced per path. */
  int32_t (*decide)(tenon_trace* self, tenon_value condition, int32_t* out);
};

/* ---- packed constants
 * ----------------------------------------------------------------------------
 */

typedef int32_t (*tenon_fill)(void* fill_context, void* memory, tenon_error* error);
typedef struct tenon_prepare tenon_prepare;

/* prepare() is called once while a plan is made, when memory is only counted, and again before the
 * plan runs. The result must depend only on parameters, types, dispatch and threads. */
struct tenon_prepare {
  uint64_t size;
  tenon_error* error;
  void* context; /* the host's own */
  uint32_t input_count, output_count;
  int32_t dispatch; /* enum tenon_dispatch: of the function that will find the memory; the inputs
                       are those of forward in any case */
  int32_t threads;  /* as in tenon_call */
  const tenon_type *inputs, *outputs;   /* fully known, as planned */
  const tenon_tensor* const* constants; /* dense; null for an input that is not constant */

  /* [caller] Requests memory (aligned to 64 bytes) for what the kernel computes from constant
   * `input`; the call finds it as kept[slot]. `key` identifies the content, including sizes and
   * layout: plans and sessions that read the same tensor share memory of the same plugin, operator
   * and key. `fill` is called before keep() returns, unless the memory is already filled or is only
   * counted. The reason of a failure goes to self->error. */
  int32_t (*keep)(tenon_prepare* self, uint32_t slot, uint32_t input, const char* key,
                  uint64_t bytes, tenon_fill fill, void* fill_context);
};
#define TENON_MAX_KEPT 64 /* slots of a kernel */

/* ---- operators
 * ----------------------------------------------------------------------------
 */

typedef int32_t (*tenon_kernel_function)(void* instance, const tenon_call* call);

enum tenon_trait {
  TENON_TRAIT_CAPTURABLE =
      1, /* the CUDA kernel only enqueues work on the stream: safe to capture */
  /* The CPU kernel computes each element of its dense outputs from the corresponding elements of
   * its inputs, which broadcast as in numpy. The host may call forward and backward for segments of
   * the tensors, as tensors of one or two dimensions, on several threads at once with one instance.
   * Such a kernel needs no workspace, has no state and draws no random numbers. */
  TENON_TRAIT_BLOCKWISE = 2
};

/* An operator (with its CPU kernel, if any) or a separate kernel. Missing functions are null. */
typedef struct tenon_operator {
  uint64_t size;
  uint32_t abi_major, abi_minor;
  uint64_t traits; /* enum tenon_trait */

  /* [any] Creates an independent object: defaults, then attributes by name, then configure(). */
  int32_t (*create)(const tenon_attribute* attributes, uint64_t count, void** instance,
                    tenon_error* error);
  void (*destroy)(void* instance); /* [one] */

  /* [any] These functions do not change the object. */
  int32_t (*infer)(const void* instance, tenon_infer* io);
  int32_t (*infer_storage)(const void* instance, tenon_infer_storage* io);
  int32_t (*workspace)(const void* instance, const tenon_infer* io, int32_t dispatch,
                       uint64_t* bytes);
  int32_t (*gradient)(const void* instance, tenon_gradient* io);

  /* [one] The reason of a failure goes to call->error. */
  tenon_kernel_function forward, forward_sparse, backward, backward_sparse;

  /* Since minor 1. */
  int32_t (*compose)(const void* instance,
                     tenon_gradient* io); /* [any] the outputs as a graph of other operators */
  /* [any] Returns whether this kernel supports these types, some of which may be unknown: 1 or 0,
   * or -1 with the reason in types->error. Null: it supports all types of the operator. */
  int32_t (*supports)(const void* instance, const tenon_infer* types);
  int32_t priority; /* of several kernels of one operator for one device, the highest that supports
                       the types runs */
  int32_t reserved;
  int32_t (*prepare)(const void* instance,
                     tenon_prepare* io); /* [any] requests packed constants for a CPU kernel */
  /* [any] Floating-point operations of a call with these known types; a multiply-add is two. */
  int32_t (*flops)(const void* instance, const tenon_infer* io, int32_t dispatch, double* flops);
  int32_t (*trace)(const void* instance,
                   tenon_trace* io); /* [any] traces an elementwise operator's function */

  /* [any] Returns an optional function of the kernel by name and version, or null. Tables may end
   * before this field, and older hosts ignore it:
   *   "algorithm/1"  tenon_algorithm */
  tenon_function (*query)(const char* name);
} tenon_operator;

/* [any] Writes which algorithm a call with these types (fully known, with layouts) runs and why, in
 * one line, truncated to capacity - 1 bytes: `im2col: large weights and at most 64 output
 * positions`. Empty if the function has a single algorithm. For plans that people read. */
typedef int32_t (*tenon_algorithm)(const void* instance, const tenon_infer* io, int32_t dispatch,
                                   char* text, uint64_t capacity);

/* ---- exports of a plugin
 * ---------------------------------------------------------------------------------------------- */

/* tenon_op_v1__NAME               object in section .tenon_ops: the manifest, CBOR
 * tenon_plugin_v1                 object in section .tenon_ops: tenon_plugin
 * tenon_get_v1__NAME              function: tenon_get_function
 * tenon_kernel_v1__DEVICE__NAME   function: tenon_get_function
 * tenon_variant_v1__DEVICE__NAME__CLASS
 *                                 same, for an additional kernel chosen by supports and priority
 * (since 0.2) */
#define TENON_MANIFEST_SYMBOL_PREFIX "tenon_op_v1__"
#define TENON_GET_SYMBOL_PREFIX "tenon_get_v1__"
#define TENON_KERNEL_SYMBOL_PREFIX "tenon_kernel_v1__"
#define TENON_VARIANT_SYMBOL_PREFIX "tenon_variant_v1__"
#define TENON_PLUGIN_SYMBOL "tenon_plugin_v1"
#define TENON_MANIFEST_SECTION ".tenon_ops"

/* [any] Returns the table. Plugins are never unloaded, so it stays valid. `host` may be kept. */
typedef const tenon_operator* (*tenon_get_function)(const tenon_host* host);

/* Plain bytes without pointers, which the host reads from the file. */
typedef struct tenon_plugin {
  uint64_t size;
  uint32_t abi_major, abi_minor; /* minor: the lowest that the plugin needs */
  uint32_t sdk_version;          /* major * 10000 + minor * 100 + patch */
  uint32_t cuda_version;         /* CUDART_VERSION, 0 without CUDA */
  char name[64];                 /* empty: the file's name without extension */
  char version[32];
  char compiler[64];
} tenon_plugin;

#ifdef __cplusplus
}
#endif
#endif
