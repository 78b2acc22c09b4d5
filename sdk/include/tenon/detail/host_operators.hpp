// Operators of the host whose CUDA kernels are in a plugin: the part that both classes share.
#pragma once
#include "../elementwise.hpp"
#include "../operator.hpp"
#include "../version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::detail {

struct SumGradients : Operator {
  static constexpr void describe(auto& op) {
    op.doc("left + right, the sum of two gradients of one value, element by element");
    op.types(floating + any_complex);
    op.input("left", "any shape");
    op.input("right", "same shape as left");
    op.output("output", "same shape as left; row_sparse if both are");
    op.inplace("left", "output");
    op.inplace("right", "output");
    op.linear("left");
    op.linear("right");
    op.backward_reads();
    op.example({{"left", {2, 3}}, {"right", {2, 3}}});
  }
  void infer(Infer& io) const {
    for (const int i : {0, 1}) io.set_output(0, io.input(i).shape);
    for (const int i : {0, 1}) io.set_input(i, io.output(0).shape);
  }
  void infer_storage(InferStorage& io) const {
    if (io.input(0) != Storage::row_sparse || io.input(1) != Storage::row_sparse) return;
    io.set_output(0, Storage::row_sparse);
    io.sparse_kernel();
  }
};

struct FillLike : Operator {
  double value = 0;

  static constexpr void describe(auto& op) {
    op.doc("a tensor of the shape and dtype of like with all elements `value` (torch.full_like)");
    op.types(floating + any_complex);
    op.input("like", "any shape; its elements are not read");
    op.output("output", "same shape as like");
    op.param("value", &FillLike::value, "value of every element");
    op.backward_reads();
    op.accumulates();
    op.example({{"like", {2, 3}}}, {{"value", 0.5}});
  }
  // The output is dense for any storage of the input, which is not read.
  void infer_storage(InferStorage& io) const {
    if (io.input(0) != Storage::dense) io.sparse_kernel();
  }
};

struct StopGradient : Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("data unchanged; its gradient is zero (torch.Tensor.detach)");
    op.types(floating + any_complex);
    op.input("data", "any shape");
    op.output("output", "same shape as data");
  }
  template <class T>
  TENON_FN T operator()(T x) const {
    return x;
  }
  void gradient(Gradient&) const {}
};

struct CastStorage : Operator {
  Storage storage = Storage::dense;

  static constexpr void describe(auto& op) {
    op.doc("data converted to another storage (dense, row_sparse or csr), with the same elements");
    op.input("data", "any shape and storage");
    op.output("output",
              "same shape as data, in the storage `storage`; a sparse output of dense data stores "
              "only the elements that are not 0 (csr), or the rows that have one (row_sparse)");
    op.param("storage", &CastStorage::storage,
             "storage of output; csr needs 2 dimensions, row_sparse at least 1")
        .one_of({{"dense", Storage::dense},
                 {"row_sparse", Storage::row_sparse},
                 {"csr", Storage::csr}});
    op.types(every_type);
    op.backward_reads();
    op.example({{"data", {2, 3}}}, {{"storage", "csr"}});
  }
  void infer_storage(InferStorage& io) const {
    if (io.input(0) == Storage::dense && storage == Storage::dense) return;
    io.set_output(0, storage);
    io.sparse_kernel();
  }
};

}  // namespace tenon::TENON_SDK::detail
#pragma GCC visibility pop
