#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "doubling.hpp"

// Prints in every possible way.
static void print(const char* when) {
  std::printf("printf %s\n", when);
  std::cout << "cout " << when << std::endl;
  const auto text = std::string("write ") + when + "\n";
  [[maybe_unused]] const auto written = ::write(STDOUT_FILENO, text.data(), text.size());
}

__attribute__((constructor)) static void load() {
  std::printf("printf when loaded\n");
}

struct Prints : Doubling {
  void configure() { print("when made"); }
  void forward(const tenon::Call& call) const {
    print("when called");
    write(call, call.input<float>(0).size());
  }
};
TENON_OPERATOR(prints, Prints)
