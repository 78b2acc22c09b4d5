// What a plan does and where its values lie, as plain data.
#pragma once
#include <cstdint>
#include <string>
#include <tenon/dtype.hpp>
#include <tenon/host/api.hpp>
#include <tenon/shape.hpp>
#include <vector>

namespace tenon {

/// Where a step puts an output.
enum class PlannedPlace : std::uint8_t {
  arena,     ///< in the plan's own memory, at `offset`
  caller,    ///< an output of the graph: in memory that is made for each run, or a Destination
  variable,  ///< over the variable that it updates
  kernel,    ///< sparse: in memory that the kernel asks for when it knows how much it stores
  nowhere,   ///< nothing reads it, and the step does not compute it
};

struct PlannedOutput {
  std::string value;  ///< as Graph::find() takes it
  std::string type;   ///< as text: `csr float32 [2, 3]`, `float32 [1, 64, 56, 56] channels-last`
  DType dtype = unknown_dtype;
  Shape shape{};
  Storage storage = Storage::dense;
  Write write = Write::to;
  PlannedPlace place = PlannedPlace::arena;
  std::int64_t offset = -1;    ///< bytes from the start of its arena; -1: not in an arena
  bool channels_last = false;  ///< [N, C, ...] with the channels side by side in memory
};

/// What a kernel keeps of a constant.
struct PlannedKept {
  std::string value;  ///< of which it is made
  std::string key;    ///< what it is, in the kernel's words
  std::int64_t bytes = 0;
};

struct PlannedStep {
  std::string node, op;              ///< op: with ` backward` or the like behind it, as plans print it
  std::string device;                ///< `cpu`, `cuda:0`; of a copy, the one it copies to
  std::string copied_from{};         ///< of a copy between devices: the other one; empty: no copy
  std::int64_t copied = -1;          ///< of a copy: bytes; -1: as many as the sparse value stores
  std::int64_t reordered = -1;       ///< of a step that brings a value into another layout: bytes
  std::string stream{};              ///< on a GPU: `kernels`, `copies to the device` or `copies from the device`; empty: the CPU runs it
  std::vector<std::size_t> after{};  ///< steps on other streams that it waits for by an event
  bool captured = false;             ///< with its neighbours, as one CUDA graph
  bool sparse = false;               ///< by a sparse kernel
  std::string variant{};             ///< the class of the kernel that types chose (TENON_KERNEL_VARIANT); empty: the one kernel
  std::vector<PlannedOutput> outputs{};
  std::int64_t workspace = 0;       ///< scratch bytes
  std::string without{};            ///< what a worker process leaves out, for isolated plugins; mostly empty
  std::vector<PlannedKept> kept{};  ///< made before the first run, and shared with others that keep the same
  /// Of a step that stands for several nodes of the graph: those, and `node` is their names with + between, such as `conv1+bn1+relu1`.
  std::vector<std::string> nodes{};
  /// The algorithm that the kernel runs and the reason for it, such as `im2col: large weights, at most 64 output positions`; empty if the
  /// kernel does not tell, as those of isolated plugins.
  std::string algorithm{};
};

/// A node of the graph that does not run, and is part of no step's name.
struct LeftOut {
  std::string node;
  std::string why;  ///< `the same as 'exp_1'`
};

/// A value, or the scratch memory of a step, while it lies in an arena.
struct MemoryUse {
  std::string name;         ///< of the value, or of the step's node
  std::string in_place_of;  ///< the value whose memory it takes over; empty: none
  std::uint32_t arena = 0;  ///< in PlanInfo::arenas
  std::int64_t bytes = 0, offset = 0;
  std::uint32_t first = 0, last = 0;  ///< steps, both included
  bool workspace = false;
};

/// The plan's memory on one device; and on the CPU, for each isolated plugin, memory that its worker process writes to.
struct PlannedArena {
  std::string device;  ///< `cpu`, `cuda:0`; `cpu of half_square.so`: of that plugin's worker
  std::int64_t bytes = 0;
  std::int64_t lower_bound = 0;  ///< the largest sum of buffers alive at one step: no plan needs less
  std::string strategy;          ///< the one of the placement strategies that found these offsets
  double ratio() const { return lower_bound == 0 ? 1 : static_cast<double>(bytes) / static_cast<double>(lower_bound); }
};

struct PassCount {
  std::string what;  ///< `steps`, `bytes`
  std::int64_t count = 0;
};

/// What one pass of planning did.
struct PlannedPass {
  std::string name;               ///< `elementwise fusion`
  std::string doc;                ///< what it is for, as a phrase
  std::string changes;            ///< `5 nodes -> 2 steps`; empty: nothing
  std::vector<PassCount> counts;  ///< the same as numbers, zeros too
};

/// A value of its own: it stays as it is whatever becomes of the session.
struct TENON_API PlanInfo {
  std::vector<PlannedStep> steps;     ///< in the order in which they run
  std::vector<MemoryUse> memory;      ///< by first step, then by offset; inputs, variables and outputs of the graph are not among them
  std::vector<PlannedArena> arenas;   ///< the CPU's first
  std::vector<LeftOut> left_out{};    ///< by optimization
  std::vector<std::string> later{};   ///< nodes that are planned when these steps have run: their shapes follow from elements
  std::vector<PlannedPass> passes{};  ///< in the order in which they ran

  std::int64_t bytes() const;  ///< of all arenas
  std::int64_t reordered_bytes() const;
  std::int64_t kept_bytes() const;  ///< of what all steps keep; what several share counts once
};

/// A line for each step (node, operator, device, outputs with type and place, scratch), then the summary.
TENON_API std::string describe(const PlanInfo& plan);
/// A table of what lies in the arenas, then the summary. Throws Failure (usage) if something lies in an arena that the plan lacks.
TENON_API std::string describe_memory(const PlanInfo& plan);
/// A line for each pass: its name and what it changed.
TENON_API std::string describe_passes(const PlanInfo& plan);
/// Steps, bytes, lower bound, ratio and strategy; a line for each device, the last without its end.
TENON_API std::string summarize(const PlanInfo& plan);

}  // namespace tenon
