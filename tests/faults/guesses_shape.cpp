#include "doubling.hpp"

struct GuessesShape : Doubling {
  void infer(tenon::Infer& io) const {
    io.set_output(0, io.input(0).shape.known() ? io.input(0).shape : tenon::Shape{7});
  }
  void forward(const tenon::Call& call) const { write(call, call.input<float>(0).size()); }
};
TENON_OPERATOR(guesses_shape, GuessesShape)
