// The function forward.
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("does nothing");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
  }
  //! here
};
TENON_OPERATOR(wrong, Wrong)

//! case missing
// says: the class has no forward

//! case private
// says: forward must be public: void forward(const tenon::Call& call) const
private:
void forward(const tenon::Call&) const {}

//! case returns
// says: forward must be public: void forward(const tenon::Call& call) const
int forward(const tenon::Call&) const {
  return 0;
}

//! case without_call
// says: forward must be public: void forward(const tenon::Call& call) const
void forward() const {}

//! case named_forwards
// says: forwards is never called: write void forward
void forwards(const tenon::Call&) const {}

//! case composed_not_const
// says: or void forward(tenon::Compose& c) const for a graph of other operators
void forward(tenon::Compose& c) {
  c.set_output(0, c.input(0));
}
