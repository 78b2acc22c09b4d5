#include <sys/stat.h>
#include <unistd.h>

#include "doubling.hpp"

struct Scribbles : Doubling {
  // Writes to pipes that it did not open.
  void forward(const tenon::Call& call) const {
    const auto count = call.input<float>(0).size();
    for (int descriptor = 3; count == 0 && descriptor < 64; ++descriptor) {
      struct stat status;
      if (fstat(descriptor, &status) == 0 && S_ISFIFO(status.st_mode))
        ::write(descriptor, "zero\n", 5);
    }
    write(call, count);
  }
};
TENON_OPERATOR(scribbles, Scribbles)
