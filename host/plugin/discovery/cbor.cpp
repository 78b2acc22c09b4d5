#include "plugin/discovery/cbor.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <tenon/failure.hpp>

namespace tenon {
namespace {

constexpr std::size_t depth_limit = 6;
constexpr std::size_t key_limit = 64;

[[noreturn]] void refuse(const std::string& what) {
  throw Failure(FailureKind::plugin, "its CBOR " + what);
}

/// Builds the tree from nlohmann's events. The depth is checked when a list or map begins: the parser calls itself for each, so bytes could
/// otherwise use up the stack.
class TreeBuilder {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  CborValue take() { return std::move(root_); }

  bool null() {
    slot();
    return true;
  }
  bool boolean(bool value) {
    CborValue& to = slot();
    to.kind = CborValue::Kind::boolean;
    to.boolean = value;
    return true;
  }
  bool number_integer(number_integer_t value) {
    CborValue& to = slot();
    to.kind = CborValue::Kind::integer;
    to.integer = value;
    return true;
  }
  bool number_unsigned(number_unsigned_t value) {
    if (value > static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max())) refuse("has an integer above 2^63 - 1");
    return number_integer(static_cast<number_integer_t>(value));
  }
  bool number_float(number_float_t value, const string_t&) {
    CborValue& to = slot();
    to.kind = CborValue::Kind::number;
    to.number = value;
    return true;
  }
  bool string(string_t& value) {
    CborValue& to = slot();
    to.kind = CborValue::Kind::text;
    to.text = std::move(value);
    return true;
  }
  bool binary(binary_t&) { refuse("has a byte string; needed are texts"); }

  bool start_array(std::size_t length) { return start(CborValue::Kind::list, length); }
  bool start_object(std::size_t length) { return start(CborValue::Kind::map, length); }
  bool key(string_t& key) {
    std::vector<std::string>& keys = open_.back()->keys;
    if (keys.size() == key_limit) refuse("has a map of more than " + std::to_string(key_limit) + " keys");
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) refuse("has a key twice in one map");
    keys.push_back(std::move(key));
    return true;
  }
  bool end_array() { return end(); }
  bool end_object() { return end(); }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) {
    constexpr int end_of_input = 110;  // both for bytes that are missing and for bytes that are too many
    const std::string where = std::to_string(position);
    if (error.id != end_of_input) refuse("cannot be read at byte " + where);
    const bool cut = std::string_view(error.what()).find("unexpected end") != std::string_view::npos;
    refuse(cut ? "ends within a value, before byte " + where : "goes on after its end, at byte " + where);
  }

 private:
  /// Where the next value goes. Addresses of open lists stay: only the innermost one grows.
  CborValue& slot() {
    if (open_.empty()) return root_;
    return open_.back()->items.emplace_back();
  }
  bool start(CborValue::Kind kind, std::size_t length) {
    if (open_.size() == depth_limit) refuse("is nested more than " + std::to_string(depth_limit) + " deep");
    if (length == std::numeric_limits<std::size_t>::max()) refuse("has a list or map without a length");
    CborValue& to = slot();
    to.kind = kind;
    to.items.reserve(std::min<std::size_t>(length, 32));
    open_.push_back(&to);
    return true;
  }
  bool end() {
    open_.pop_back();
    return true;
  }

  CborValue root_;
  std::vector<CborValue*> open_;
};

}  // namespace

CborValue read_cbor(std::span<const std::byte> bytes) {
  TreeBuilder builder;
  const auto* begin = reinterpret_cast<const std::uint8_t*>(bytes.data());
  nlohmann::json::sax_parse(begin, begin + bytes.size(), &builder, nlohmann::json::input_format_t::cbor);
  return builder.take();
}

}  // namespace tenon
