// Operators whose kernel allocates the outputs; all but the first have a memory fault.
#include <algorithm>

#include "sound.hpp"

/// Returns the elements above one half, and their indices.
struct Above : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("the elements above one half");
    op.types({tenon::f32});
    op.input("x", "any shape");
    op.output("y", "[count]").allocated();
    op.output("place", "[count]").allocated();
    op.backward_reads("place");
  }
  void infer(Infer& io) const {
    io.set_output("y", {tenon::unknown});
    io.set_output("place", {tenon::unknown}, tenon::i64);
  }
  struct Found {
    float* y;
    std::int64_t* place;
    std::int64_t count;
  };
  static Found find(const Call& call) {
    const auto x = call.input<float>(0);
    const auto count = std::count_if(x.begin(), x.end(), [](float each) { return each > 0.5F; });
    const auto y = call.allocate<float>(0, {count});
    const auto place = call.allocate<std::int64_t>(1, {count});
    for (std::int64_t i = 0, next = 0; i < x.size(); ++i)
      if (x[i] > 0.5F) y[next] = x[i], place[next++] = i;
    return {y.data(), place.data(), count};
  }
  void forward(const Call& call) const { find(call); }
  void backward(const Call& call) const {
    if (call.write(0) == Write::none) return;
    const auto dx = call.input_grad<float>(0);
    std::fill(dx.begin(), dx.end(), 0.0F);
    if (!call.has_output_grad(0)) return;
    const auto place = call.output_value<std::int64_t>(1);
    for (std::int64_t i = 0; i < place.size(); ++i) dx[place[i]] = call.output_grad<float>(0)[i];
  }
};
TENON_OPERATOR(above, Above)

struct WritesBeyond : Above {
  void forward(const Call& call) const {
    const auto found = find(call);
    found.y[found.count] = 5;
  }
};
TENON_OPERATOR(allocated_write, WritesBeyond)

struct WritesBefore : Above {
  void forward(const Call& call) const {
    const auto found = find(call);
    found.place[-1] = 5;
  }
};
TENON_OPERATOR(allocated_write_before, WritesBefore)

struct ReadsBeyond : Above {
  void forward(const Call& call) const {
    const auto found = find(call);
    const volatile float* const x = call.input<float>(0).data();
    if (x[call.input<float>(0).size() + 64] == 7 && found.count > 0) found.y[0] = 0.75F;
  }
};
TENON_OPERATOR(allocated_read, ReadsBeyond)

struct LeavesHole : Above {
  void forward(const Call& call) const {
    const auto x = call.input<float>(0);
    const auto count = std::count_if(x.begin(), x.end(), [](float each) { return each > 0.5F; });
    const auto y = call.allocate<float>(0, {count});
    const auto place = call.allocate<std::int64_t>(1, {count});
    for (std::int64_t i = 0, next = 0; i < x.size(); ++i)
      if (x[i] > 0.5F) {
        if (next + 1 < count || count < 3) y[next] = x[i];
        place[next++] = i;
      }
  }
};
TENON_OPERATOR(allocated_hole, LeavesHole)

struct BackwardBeyond : Above {
  void backward(const Call& call) const {
    Above::backward(call);
    if (call.write(0) != Write::none)
      call.input_grad<float>(0).data()[call.input_grad<float>(0).size()] = 1;
  }
};
TENON_OPERATOR(allocated_backward, BackwardBeyond)

struct BackwardHole : Above {
  void backward(const Call& call) const {
    if (call.write(0) == Write::none || !call.has_output_grad(0)) return;
    const auto place = call.output_value<std::int64_t>(1);
    for (std::int64_t i = 0; i < place.size(); ++i)
      call.input_grad<float>(0)[place[i]] = call.output_grad<float>(0)[i];
  }
};
TENON_OPERATOR(allocated_backward_hole, BackwardHole)

/// Also uses scratch memory that is too small.
struct WorkspaceBeyond : Sound {
  static constexpr std::int64_t count = 16;
  std::uint64_t workspace(const Infer&) const { return count * sizeof(float); }
  void forward(const Call& call) const {
    volatile float* const scratch = call.workspace<float>(count);
    scratch[count] = 1;
    Sound::forward(call);
  }
};
TENON_OPERATOR(workspace_write, WorkspaceBeyond)

/// Writes element `index` of a workspace with six elements, whose end is not aligned.
template <std::int64_t index>
struct SmallWorkspace : Sound {
  static constexpr std::int64_t count = 6;
  std::uint64_t workspace(const Infer&) const { return count * sizeof(float); }
  void forward(const Call& call) const {
    volatile float* const scratch = call.workspace<float>(count);
    scratch[index] = 1;
    Sound::forward(call);
  }
};
using WritesNear = SmallWorkspace<6>;
using WritesFurther = SmallWorkspace<9>;
using WritesFar = SmallWorkspace<26>;
using WritesAhead = SmallWorkspace<-1>;
TENON_OPERATOR(workspace_write_near, WritesNear)
TENON_OPERATOR(workspace_write_further, WritesFurther)
TENON_OPERATOR(workspace_write_far, WritesFar)
TENON_OPERATOR(workspace_write_ahead, WritesAhead)

struct BackwardWorkspace : Sound {
  static constexpr std::int64_t count = 6;
  std::uint64_t backward_workspace(const Infer&) const { return count * sizeof(float); }
  void backward(const Call& call) const {
    if (call.write(0) == Write::none) return;
    volatile float* const scratch = call.workspace<float>(count);
    scratch[count] = 1;
    back(call, [](auto) { return true; });
  }
};
TENON_OPERATOR(workspace_write_backward, BackwardWorkspace)

struct WritesNothingFound : Above {
  void forward(const Call& call) const {
    const auto found = find(call);
    if (call.input<float>(0).size() == 0) found.place[0] = 0;
  }
};
TENON_OPERATOR(allocated_write_none, WritesNothingFound)

struct ReadsFarBeyond : Sound {
  void forward(const Call& call) const {
    Sound::forward(call);
    if (call.input_type(0).dtype != tenon::f32) return;
    const volatile float* const x = call.input<float>(0).data();
    [[maybe_unused]] const float far = x[call.input<float>(0).size() + 5000];
  }
};
TENON_OPERATOR(reads_far_beyond, ReadsFarBeyond)
