// Malicious CBOR.
#include <doctest/doctest.h>

#include <random>
#include <string>
#include <tenon/host/operator_info.hpp>

#include "failure_of.hpp"
#include "io/json_document.hpp"
#include "plugin/manifest_source.hpp"

using namespace tenon;

namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

}  // namespace

TEST_CASE("parse_cbor: refuses CBOR that no manifest contains") {
  struct Case {
    std::string expected;
    std::string bytes;
  };
  const Case cases[] = {
      {"its CBOR, byte 1: invalid CBOR: syntax error while parsing CBOR value: unexpected end of "
       "input",
       ""},
      {"its CBOR, byte 5: invalid CBOR: syntax error while parsing CBOR string: unexpected end of "
       "input",
       "\x65"
       "abc"},
      {"its CBOR, byte 3: invalid CBOR: syntax error while parsing CBOR value: unexpected end of "
       "input",
       "\x82\x01"},
      {"its CBOR, byte 2: invalid CBOR: syntax error while parsing CBOR value: expected end of "
       "input",
       std::string("\x01\x01")},
      {"its CBOR, byte 1: invalid CBOR: ", "\x1c"},      // an unassigned form
      {"its CBOR, byte 1: invalid CBOR: ", "\xc1\x01"},  // a tag
      {"its CBOR, byte 2: found a byte string", "\x41\x01"},
      {"its CBOR, byte 1: found a list or map of indefinite length", "\x9f\xff"},
      {"its CBOR, byte 1: found a list or map of indefinite length", "\xbf\xff"},
      {"its CBOR, byte 6: duplicate key 'a'",
       "\xa2\x61"
       "a\x01\x61"
       "a\x02"},
      {"its CBOR, byte 9: an integer is above 2^63 - 1", "\x1b\xff\xff\xff\xff\xff\xff\xff\xff"},
      {"its CBOR, byte 6: nested deeper than 6 lists and objects",
       std::string(1 << 20, '\x81')},  // would exhaust the stack of a recursive parser
      {"its CBOR, byte 10: invalid CBOR: syntax error while parsing CBOR value: unexpected end of "
       "input",
       "\x9b\x7f\xff\xff\xff\xff\xff\xff\xff"},  // a list of 2^63 - 1 entries
      {"its CBOR, byte 13: invalid CBOR: syntax error while parsing CBOR string: unexpected end of "
       "input",
       "\x7b\x7f\xff\xff\xff\xff\xff\xff\xff"
       "abc"},  // a string of that length
  };
  for (const Case& c : cases) {
    CAPTURE(c.expected);
    const FailureText failure = failure_of([&] { parse_cbor(bytes_of(c.bytes)); });
    CHECK_MESSAGE(failure.message.find(c.expected) == 0, failure.message);
  }
}

TEST_CASE("manifests: more than 64 KiB are refused") {
  Json json = sound_manifest();
  json["doc"] = std::string(1 << 16, 'a');
  CHECK(failure_of([&] {
          read_manifest(as_cbor(json));
        }).message.find("at most 65536 are allowed") != std::string::npos);
}

TEST_CASE("manifests: truncated or modified bytes are read or refused") {
  const std::vector<std::byte> sound = as_cbor(sound_manifest());
  for (std::size_t length = 0; length < sound.size(); ++length) {
    CHECK(failure_of([&] { read_manifest(std::span(sound).first(length)); }).kind == 3);
  }
  std::mt19937 random(1);
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    auto broken = sound;
    for (unsigned flips = 1 + random() % 3; flips > 0; --flips)
      broken[random() % broken.size()] ^= static_cast<std::byte>(1U << random() % 8);
    refused += failure_of([&] { read_manifest(broken); }).kind == 3;
  }
  CHECK(refused > 5000);  // the rest changed a letter of a doc, for example
}
