#include "../../plugins/shared/optional_library.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>

namespace {

// The output to stderr during `work`.
template <class Work>
std::string message_of(Work work) {
  std::FILE* const file = std::tmpfile();
  REQUIRE(file != nullptr);
  std::fflush(stderr);
  const int before = dup(STDERR_FILENO);
  dup2(fileno(file), STDERR_FILENO);
  work();
  std::fflush(stderr);
  dup2(before, STDERR_FILENO);
  close(before);
  std::string text(static_cast<std::size_t>(lseek(fileno(file), 0, SEEK_END)), '\0');
  CHECK(pread(fileno(file), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
  std::fclose(file);
  return text;
}

}  // namespace

TEST_CASE("an optional library that is installed provides its functions silently") {
  CHECK(message_of([] {
          OptionalLibrary library({"libm.so.6", "libc.so.6"}, "nothing is done");
          CHECK(bool(library));
          const auto cosine = library.find<double (*)(double)>("cos");
          const bool has_cosine = cosine != nullptr;
          REQUIRE(has_cosine);
          CHECK(cosine(1.0) == std::cos(1.0));
        }).empty());
}

TEST_CASE(
    "an optional library that is missing, or lacks a part or a function, is not used, and stderr "
    "has the reason once") {
  const auto missing = message_of([] {
    OptionalLibrary library({"libtenon_nowhere.so.1"}, "the loops are used");
    CHECK(!bool(library));
    CHECK((library.find<double (*)(double)>("cos") == nullptr));
  });
  CHECK(missing ==
        "tenon: libtenon_nowhere.so.1: cannot open shared object file: No such file or directory: "
        "the loops are used\n");
  const auto in_part = message_of([] {
    CHECK(!bool(
        OptionalLibrary({"libm.so.6", "libtenon_part.so.1", "libtenon_other.so.1"}, "loops")));
  });
  CHECK(in_part ==
        "tenon: libtenon_part.so.1: cannot open shared object file: No such file or directory: "
        "loops\n");
  const auto older = message_of([] {
    OptionalLibrary library({"libm.so.6"}, "loops");
    CHECK((library.find<void (*)()>("of_a_later_version") == nullptr));
    CHECK(!bool(library));
    CHECK((library.find<void (*)()>("of_a_still_later_version") == nullptr));
  });
  CHECK(older.ends_with("undefined symbol: of_a_later_version: loops\n"));
}
