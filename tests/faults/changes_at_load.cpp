#include <sys/stat.h>
#include <unistd.h>

#include "doubling.hpp"

__attribute__((constructor)) static void change() {
  umask(0);
  alarm(1000);
}

struct ChangesAtLoad : Doubling {
  void forward(const tenon::Call& call) const { write(call, call.input<float>(0).size()); }
};
TENON_OPERATOR(changes_at_load, ChangesAtLoad)
