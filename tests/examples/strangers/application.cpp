// An application with its own operators, which opens the plugins that are passed to it.
#include <dlfcn.h>

#include <cstdio>
#include <tenon/elementwise.hpp>

struct Own : tenon::Elementwise {
  float scale = 1;
  static constexpr void describe(auto& op) {
    op.doc("scale * left * right");
    op.input("left", "any shape");
    op.input("right", "any shape");
    op.output("y", "both broadcast");
    op.param("scale", &Own::scale, "multiplier").at_least(0);
  }
  template <class T>
  TENON_FN T operator()(T left, T right) const {
    return scale * left * right;
  }
};

struct Sum : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("left + right");
    op.input("left", "any shape");
    op.input("right", "same shape");
    op.output("y", "same shape");
  }
  void infer(tenon::Infer& io) const {
    io.require(io.input(0).shape == io.input(1).shape, "left is ", io.input(0).shape);
    io.set_output(0, io.input(0).shape);
  }
  void forward(const tenon::Call& call) const {
    const auto left = call.input<float>("left"), right = call.input<float>("right");
    const auto y = call.output<float>("y");
    call.parallel_for(y.size(), 1, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = begin; i < end; ++i) y[i] = left[i] + right[i];
    });
  }
};

int main(int count, char** arguments) {
  if (tenon::table_of<Own>() == nullptr || tenon::table_of<Sum>() == nullptr) return 1;
  for (int i = 1; i < count; ++i)
    if (dlopen(arguments[i], RTLD_NOW | RTLD_LOCAL) == nullptr) {
      std::puts(dlerror());
      return 1;
    }
}
