// Functions of a class other than forward.
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  //! here
  static constexpr void describe(auto& op) {
    op.doc("does nothing");
    op.input("x", "any shape");
    op.output("y", "same shape");
  }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)

//! case algorithm
// says: algorithm and backward_algorithm must be const: std::string algorithm(const tenon::Infer&
//   io) const
int algorithm(const tenon::Infer&) const {
  return 0;
}

//! case backward
// says: backward must be public: void backward(const tenon::Call& call) const
void backward(tenon::Gradient&) const {}

//! case backward_sparse
// says: backward_sparse must be public
void backward_sparse() const {}

//! case backward_workspace
// says: workspace and backward_workspace must be public
std::size_t backward_workspace() const {
  return 0;
}

//! case configure
// says: configure must be public: void configure()
void configure(int) {}

//! case flops
// says: flops and backward_flops must be public: double flops(const tenon::Infer& io) const
int flops(const tenon::Infer&) const {
  return 0;
}

//! case forward_sparse
// says: forward_sparse must be public
void forward_sparse(int) const {}

//! case gradient
// says: gradient must be public: void gradient(tenon::Gradient& g) const
void gradient(const tenon::Call&) const {}

//! case infer_not_const
// says: infer must be public: void infer(tenon::Infer& io) const
void infer(tenon::Infer&) {}

//! case infer_storage
// says: infer_storage must be public
void infer_storage(tenon::Infer&) const {}

//! case prepare
// says: prepare must be public: void prepare(tenon::Prepare& io) const
void prepare(const tenon::Infer&) const {}

//! case supports
// says: supports must be public: bool supports(const tenon::Infer& types) const
bool supports(tenon::DType) const {
  return true;
}

//! case workspace
// says: workspace and backward_workspace must be public
std::size_t workspace(const tenon::Call&) const {
  return 0;
}

//! case named_backwards
// says: backwards is never called: write void backward
void backwards(const tenon::Call&) const {}

//! case named_infer_shape
// says: infer_shape, infer_shapes, infer_type and infer_types are never called: write void infer
template <class Io>
void infer_shape(Io&) const {}

//! case null_instead_of_a_name
// says: deleted function
// about: here
void infer(tenon::Infer& io) const {
  io.param_error(0, "is a name");  // here
}
