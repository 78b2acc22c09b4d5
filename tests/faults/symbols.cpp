// Plugins, one for each FAULT_NAME, with symbols that others define, too, or that contradict each
// other.
#include <cstdlib>
#include <new>
#include <sstream>
#include <tenon/operator.hpp>

#include "doubling.hpp"

#ifdef FAULT_brings_allocator
// Its own allocator, unknown to the C++ library in the process: memory allocated by one may be
// freed by the other.
__attribute__((visibility("default"))) void* operator new(std::size_t size) {
  auto* memory = static_cast<std::size_t*>(std::malloc(size + 64));
  if (memory == nullptr) throw std::bad_alloc();
  *memory = size;
  return reinterpret_cast<char*>(memory) + 64;
}
__attribute__((visibility("default"))) void operator delete(void* memory) noexcept {
  if (memory != nullptr) std::free(static_cast<char*>(memory) - 64);
}
__attribute__((visibility("default"))) void operator delete(void* memory, std::size_t) noexcept {
  operator delete(memory);
}

struct BringsAllocator : Doubling {
  void forward(const tenon::Call& call) const {
    std::ostringstream text;
    for (int i = 0; i < 1000; ++i) text << i << ' ';
    auto y = call.output<float>(0);
    const auto length = static_cast<float>(text.str().size());
    for (std::int64_t i = 0; i < y.size(); ++i) y[i] = length;
  }
};
TENON_OPERATOR(brings_allocator, BringsAllocator)
#endif

#ifdef FAULT_brings_own
// No fault: defines functions with the same names as libraries that the host is linked with.
extern "C" {
__attribute__((visibility("default"))) unsigned XXH_versionNumber() {
  return 40;
}
__attribute__((visibility("default"))) unsigned elf_version(unsigned more) {
  return 1 + more;
}
}

struct BringsOwn : Doubling {
  void forward(const tenon::Call& call) const {
    auto y = call.output<float>(0);
    for (std::int64_t i = 0; i < y.size(); ++i)
      y[i] = static_cast<float>(XXH_versionNumber() + elf_version(1));
  }
};
TENON_OPERATOR(brings_own, BringsOwn)
#endif

#ifdef FAULT_claims_backward
// The manifest declares a function that the table lacks.
struct OnlyForward : Doubling {
  void forward(const tenon::Call& call) const { write(call, call.input<float>(0).size()); }
};
struct WithBackward : OnlyForward {
  void backward(const tenon::Call&) const {}
};

struct Name {
  static constexpr std::string_view text() { return "claims_backward"; }
};
extern "C" {
using Manifest = tenon::detail::ManifestOf<WithBackward, Name>;
__attribute__((visibility("default"),
               section(TENON_MANIFEST_SECTION))) extern const Manifest tenon_op_v1__claims_backward;
__attribute__((used)) constinit const Manifest tenon_op_v1__claims_backward =
    tenon::detail::manifest_bytes<tenon::Completed<WithBackward>, Name>();
__attribute__((used, visibility("default"))) const tenon_operator* tenon_get_v1__claims_backward(
    const tenon_host*) {
  return tenon::table_of<OnlyForward>();
}
}
#endif
