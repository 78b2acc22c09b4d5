// csr_times_dense on CUDA.
#include "../shared/device_gemm.hpp"
#include "csr_times_dense.hpp"
#include "rows_times_dense.hpp"

struct CsrTimesDenseCuda : CsrTimesDense {
  static constexpr bool capturable = true;

  std::size_t workspace(const tenon::Infer&) const { return device_gemm::workspace_bytes; }

  void forward(const tenon::Call& call) const {
    if (call.write(0) == tenon::Write::none) return;
    const auto l = call.input<float>(0), r = call.input<float>(1);
    const auto m = l.dim(0), k = l.dim(1), n = r.dim(1);
    device_gemm::multiply<float>(call, {{l.data(), k, m * k, false},
                                        {r.data(), n, k * n, false},
                                        call.output<float>(0).data(),
                                        m * n,
                                        1,
                                        m,
                                        n,
                                        k,
                                        false});
  }

  void forward_sparse(const tenon::Call& call) {
    if (call.write(0) == tenon::Write::none) return;
    const auto n = call.output<float>(0).dim(1);
    sparse::rows_times_dense<float>(call, library_,
                                    {call.csr<float>(0),
                                     {call.input<float>(1).data(), n, 1},
                                     {call.output<float>(0).data(), n, 1},
                                     n,
                                     false},
                                    1, nullptr);
  }

 private:
  device_spmm::Library library_;
};
TENON_KERNEL(csr_times_dense, cuda, CsrTimesDenseCuda)
