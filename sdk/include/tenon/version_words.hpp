// The words behind op.version(): what changed since older versions, so that graphs and files that were made for them still load. For
// words.hpp. The host brings nodes up to date from the manifest alone; without a word it refuses them, and says what changed.
//
//     op.version(3);
//     op.renamed(2, "num_hiden", "num_hidden");  // files of version 1 say num_hiden
//     op.added(3, "use_bias").was(false);        // those of versions 1 and 2 lack it
//     op.removed(3, "threads");                  // and may have it
//     op.input("gain", "[units]").optional();
//     op.added_input(3, "gain");
//
// Inputs, outputs and states are known by their order: new ones come after those of older versions.
#pragma once
#include "description.hpp"
#include "literal_value.hpp"
#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::detail {

/// A part of Words. Recorded in a Description where `records`, else passed over.
template <bool records>
class VersionWords {
 public:
  /// What op.added() and op.removed() return.
  class Change {
   public:
    constexpr Change(Description* description, bool removed) : description_(description), removed_(removed) {}
    /// Of a parameter that was added: its value in older files, where that is not the default:
    /// op.added(2, "eps").was(0.001). Needs Tenon 0.2. Of one that was removed: the value that the operator now behaves as if it had.
    /// Older files with another value are refused.
    constexpr void was(LiteralValue value) && {
      if constexpr (records) {
        Description& d = *description_;
        const LiteralEntry literal = stored_literal(d, value);
        if (removed_)
          d.removed[d.removed.size - 1].was = {true, literal};
        else
          d.was.push({d.added[d.added.size - 1].name, literal});
      }
    }

   private:
    Description* description_;
    bool removed_;
  };

  constexpr explicit VersionWords(Description* description) : description_(description) {}

  /// Since this version the parameter `from` is called `to`: op.renamed(2, "num_hiden", "num_hidden"). Older files still load.
  constexpr void renamed(int version, const char* from, const char* to) {
    if constexpr (records) description_->renamed.push({version, from, to});
  }
  /// This parameter exists since this version; older files get its default, or what .was() says.
  constexpr Change added(int version, const char* param) {
    if constexpr (records) description_->added.push({version, param});
    return Change(description_, false);
  }
  /// This parameter exists no more since this version. Older files load, whatever value they have for it: say so only if the results do
  /// not change, and otherwise .was(value), with the value that the operator behaves as if it had.
  ///
  ///     op.removed(2, "num_threads");      // it never changed the results
  ///     op.removed(3, "alpha").was(1.0);   // files with another alpha are refused
  constexpr Change removed(int version, const char* param) {
    if constexpr (records) description_->removed.push({version, param, {}});
    return Change(description_, true);
  }
  /// This input exists since this version; in older files it is not connected. It must be optional, and come after those of older versions.
  constexpr void added_input(int version, const char* input) {
    if constexpr (records) description_->added_inputs.push({version, input});
  }
  /// This output exists since this version; in older files nothing reads it but backward. It must come after those of older versions.
  constexpr void added_output(int version, const char* output) {
    if constexpr (records) description_->added_outputs.push({version, output});
  }
  /// This state exists since this version; in older files it has its first value. It must come after those of older versions.
  constexpr void added_state(int version, const char* state) {
    if constexpr (records) description_->added_states.push({version, state});
  }

 protected:
  Description* description_;  // null where nothing is recorded
};

}  // namespace tenon::TENON_SDK::detail
#pragma GCC visibility pop
