// The manifest declares a function that the table lacks.
#include <tenon/operator.hpp>

#include "doubling.hpp"

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
