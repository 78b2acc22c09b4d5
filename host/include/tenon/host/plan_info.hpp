// A plan's steps and memory layout, as plain data.
#pragma once
#include <cstdint>
#include <string>
#include <tenon/dtype.hpp>
#include <tenon/host/api.hpp>
#include <tenon/shape.hpp>
#include <vector>

namespace tenon {

/// The memory that a step writes an output to.
enum class OutputLocation : std::uint8_t {
  arena,     ///< the plan's own memory, at `offset`
  caller,    ///< an output of the graph: memory allocated for each run, or a Destination
  variable,  ///< the variable that it updates
  kernel,    ///< sparse: allocated by the kernel once it knows how much it stores
  nowhere,   ///< unused, and not computed by the step
};

using PlannedPlace [[deprecated("use OutputLocation; until 0.4")]] = OutputLocation;

#pragma GCC diagnostic push  // copies of outputs, steps and plans copy the deprecated members
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
struct PlannedOutput {
  std::string value;  ///< as accepted by Graph::find()
  std::string type;   ///< as text: `csr float32 [2, 3]`, `float32 [1, 64, 56, 56] channels-last`
  DType dtype = unknown_dtype;
  Shape shape{};
  Storage storage = Storage::dense;
  Write write = Write::to;
  OutputLocation location = OutputLocation::arena;
  std::int64_t offset = -1;    ///< bytes from the start of its arena; -1: not in an arena
  bool channels_last = false;  ///< [N, C, ...] with adjacent channels in memory
  /// the same as `location`, if the host made the plan
  [[deprecated("use location; until 0.4")]] OutputLocation place = OutputLocation::arena;
};

/// A packed constant: data that a kernel derives from a constant and caches.
struct PlannedPackedConstant {
  std::string value;  ///< the constant
  std::string key;    ///< the kernel's name for the data
  std::int64_t bytes = 0;
};

using PlannedKept [[deprecated("use PlannedPackedConstant; until 0.4")]] = PlannedPackedConstant;

struct PlannedStep {
  std::string node, op;         ///< op: with a suffix such as ` backward`, as plans print it
  std::string device;           ///< `cpu`, `cuda:0`; for a copy, the destination
  std::string copied_from{};    ///< for a copy between devices: the source; empty: not a copy
  std::int64_t copied = -1;     ///< for a copy: bytes; -1: as many as the sparse value stores
  std::int64_t reordered = -1;  ///< for a step that changes a value's layout: bytes
  std::string stream{};         ///< on a GPU: `kernels`, `copies to the device` or `copies from the
                                ///< device`; empty: runs on the CPU
  std::vector<std::size_t> after{};  ///< steps on other streams whose events it waits for
  bool captured = false;             ///< launched together with its neighbours as one CUDA graph
  bool sparse = false;               ///< runs a sparse kernel
  std::string variant{};  ///< the class of the kernel chosen by types (TENON_KERNEL_VARIANT);
                          ///< empty: the main kernel
  std::vector<PlannedOutput> outputs{};
  std::int64_t workspace = 0;  ///< scratch bytes
  /// outputs that a worker process omits, for isolated plugins; usually empty
  std::string without{};
  /// created before the first run, and shared with other users of the same data
  std::vector<PlannedPackedConstant> packed_constants{};
  /// the same, if the host made the plan
  [[deprecated("use packed_constants; until 0.4")]] std::vector<PlannedPackedConstant> kept{};
  /// For a step that replaces several nodes of the graph: these nodes. `node` is then their names
  /// joined by +, such as `conv1+bn1+relu1`.
  std::vector<std::string> nodes{};
  [[deprecated("always -1: steps run one after the other; until 0.4")]] std::int32_t lane = -1;
  /// The kernel's algorithm and the reason for it, such as `im2col: large weights, at most 64
  /// output positions`; empty if the kernel does not report it, as in isolated plugins.
  std::string algorithm{};
};

/// A node of the graph that does not run and is not part of a step.
struct RemovedNode {
  std::string node;
  std::string why;  ///< `the same as 'exp_1'`
};
using LeftOut [[deprecated("use RemovedNode; until 0.4")]] = RemovedNode;

/// The lifetime of a value, or of a step's workspace, in an arena.
struct MemoryUse {
  std::string name;         ///< of the value, or of the workspace's node
  std::string in_place_of;  ///< the value whose memory it reuses; empty: none
  std::uint32_t arena = 0;  ///< index into PlanInfo::arenas
  std::int64_t bytes = 0, offset = 0;
  std::uint32_t first = 0, last = 0;  ///< steps, inclusive
  bool workspace = false;
};

/// The plan's memory on one device; on the CPU also, for each isolated plugin, the memory that its
/// worker process writes to.
struct PlannedArena {
  std::string device;  ///< `cpu`, `cuda:0`; `cpu of half_square.so`: for that plugin's worker
  std::int64_t bytes = 0;
  /// the maximum over steps of the bytes of live buffers: no plan needs less
  std::int64_t lower_bound = 0;
  std::string strategy;  ///< the placement strategy that found these offsets
  double ratio() const {
    return lower_bound == 0 ? 1 : static_cast<double>(bytes) / static_cast<double>(lower_bound);
  }
};

struct PassCount {
  std::string what;  ///< `steps`, `bytes`
  std::int64_t count = 0;
};

/// The result of one planning pass.
struct PlannedPass {
  std::string name;               ///< `elementwise fusion`
  std::string doc;                ///< its purpose, as a phrase
  std::string changes;            ///< `5 nodes -> 2 steps`; empty: no changes
  std::vector<PassCount> counts;  ///< the same as numbers, including zeros
};

/// A plan as an independent value, which outlives the session.
struct TENON_API PlanInfo {
  std::vector<PlannedStep> steps;  ///< in execution order
  std::vector<MemoryUse> memory;   ///< by first step, then by offset; without inputs, variables and
                                   ///< outputs of the graph
  std::vector<PlannedArena> arenas;  ///< the CPU's first
  [[deprecated("always 0: steps run one after the other; until 0.4")]] std::int64_t alone = 0;
  [[deprecated("always 0: steps run one after the other; until 0.4")]] std::int64_t in_lanes = 0;
  std::vector<RemovedNode> removed{};  ///< by optimization
  /// the same, if the host made the plan
  [[deprecated("use removed; until 0.4")]] std::vector<RemovedNode> left_out{};
  std::vector<std::string>
      later{};  ///< nodes planned after these steps have run, since their shapes depend on elements
  std::vector<PlannedPass> passes{};  ///< in execution order

  std::int64_t bytes() const;  ///< of all arenas
  std::int64_t reordered_bytes() const;
  std::int64_t packed_bytes() const;  ///< of all packed constants; shared ones count once
  [[deprecated("use packed_bytes(); until 0.4")]] std::int64_t kept_bytes() const {
    return packed_bytes();
  }
};
#pragma GCC diagnostic pop

/// A line for each step (node, operator, device, outputs with type and location, workspace), then
/// the summary.
TENON_API std::string describe(const PlanInfo& plan);
/// A table of the values in the arenas, then the summary. Throws Failure (usage) if a value is in
/// an arena that the plan does not have.
TENON_API std::string describe_memory(const PlanInfo& plan);
/// A line for each pass: its name and its changes.
TENON_API std::string describe_passes(const PlanInfo& plan);
/// Steps, bytes, lower bound, ratio and strategy: a line for each device, the last one without a
/// newline.
TENON_API std::string summarize(const PlanInfo& plan);

}  // namespace tenon
