#include "csr_doubling.hpp"

struct WrongSparse : CsrDoubling {
  void forward_sparse(const tenon::Call& call) const {
    write_csr(call, [](std::int64_t, float) { return 1.f; });  // should be doubled
  }
};
TENON_OPERATOR(wrong_sparse, WrongSparse)
