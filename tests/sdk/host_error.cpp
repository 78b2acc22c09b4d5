// Exceptions of a plugin, as the host receives them.
#include <doctest/doctest.h>

#include <new>
#include <stdexcept>
#include <string>
#include <tenon/detail/host_error.hpp>
#include <tenon/text.hpp>
#include <type_traits>

namespace {

struct NoText : std::exception {
  const char* what() const noexcept override { return nullptr; }
};
struct NoTextOfError : tenon::Error {
  NoTextOfError() : tenon::Error("lost", tenon::ErrorKind::type) {}
  const char* what() const noexcept override { return nullptr; }
};

template <class Body>
std::pair<std::string, std::int32_t> reported(Body&& body) {
  char text[128] = "";
  tenon_error error{sizeof(tenon_error), 0, 0, text, sizeof text};
  CHECK(tenon::guarded(&error, body) == 1);
  return {text, error.kind};
}

}  // namespace

TEST_CASE(
    "guarded: every exception becomes a text and a kind, including those whose what() returns "
    "null") {
  using tenon::Error;
  using Reported = std::pair<std::string, std::int32_t>;
  CHECK(reported([] { throw Error("k is ", 3); }) == Reported{"k is 3", TENON_ERROR_FAILED});
  CHECK(reported([] { throw Error(tenon::ErrorKind::type, "no"); }) ==
        Reported{"no", TENON_ERROR_TYPE});
  CHECK(reported([] { throw std::runtime_error("runtime"); }) ==
        Reported{"runtime", TENON_ERROR_FAILED});
  CHECK(reported([] { throw std::runtime_error(""); }) == Reported{"", TENON_ERROR_FAILED});
  CHECK(reported([] { throw std::bad_alloc(); }) == Reported{"out of memory", TENON_ERROR_MEMORY});
  CHECK(reported([] { throw 42; }) ==
        Reported{"an exception was thrown that is not a std::exception", TENON_ERROR_UNKNOWN});
  CHECK(reported([] { throw NoText(); }) ==
        Reported{"an exception was thrown whose what() returns null", TENON_ERROR_FAILED});
  CHECK(reported([] { throw NoTextOfError(); }) ==
        Reported{"an exception was thrown whose what() returns null", TENON_ERROR_TYPE});
}

TEST_CASE("message parts may be null pointers, such as those of getenv()") {
  using tenon::Error, tenon::ErrorKind, tenon::join, tenon::Text;
  const char* const none = nullptr;
  CHECK(join("home is ", none) == "home is (null)");
  CHECK(std::string(Error(none).what()) == "(null)");
  CHECK(std::string(Error(none, ErrorKind::type).what()) == "(null)");
  CHECK(std::string(Error(none, " and ", 3).what()) == "(null) and 3");
  CHECK(std::string(Error(ErrorKind::type, "a", none).what()) == "a(null)");
  CHECK(std::string(Error(0).what()) == "(null)");
  CHECK(Text(none) == "");
  CHECK(Text("") == none);
  static_assert(!std::is_constructible_v<Text, std::nullptr_t>);
}
