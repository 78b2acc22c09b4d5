// The calls next to op.version(): changes since older versions, so that graphs and files of those
// versions still load. For declarations.hpp. The host upgrades nodes using only the manifest; it
// rejects nodes that it cannot upgrade, and reports what changed.
//     op.version(3);
//     op.renamed(2, "num_hiden", "num_hidden");  // files of version 1 have num_hiden
//     op.added(3, "use_bias").was(false);        // files of versions 1 and 2 lack it
//     op.removed(3, "threads");                  // older files may have it
//     op.input("gain", "[units]").optional();
//     op.added_input(3, "gain");
//
// Inputs, outputs and states are identified by their order: new ones come after those of older
// versions.
#pragma once
#include "detail/description.hpp"
#include "detail/literal_value.hpp"
#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::detail {

/// A base of Declarations. Records in a Description if `records`, otherwise does nothing.
template <bool records>
class VersionDeclarations {
 public:
  /// The result of op.added() and op.removed().
  class Change {
   public:
    constexpr Change(Description* description, bool removed)
        : description_(description), removed_(removed) {}
    /// For an added parameter: its value in older files; needs Tenon 0.2. For a removed one: the
    /// value that the operator now behaves as if it had. Default: an added parameter has its
    /// default; a removed one may have had any value. Example: `op.added(2, "eps").was(0.001);`
    /// Error, when an older file is read: a removed parameter has another value.
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

  constexpr explicit VersionDeclarations(Description* description) : description_(description) {}

  /// The parameter `from` is called `to` since this version; older files still load. Default: names
  /// never changed. Example: `op.renamed(2, "num_hiden", "num_hidden");` Error: there is no
  /// parameter `to`; the version is later than op.version(); more than 16.
  constexpr void renamed(int version, const char* from, const char* to) {
    if constexpr (records) description_->renamed.push({version, from, to});
  }
  /// The parameter exists since this version; in older files it has its default, or the value of
  /// .was(). Default: parameters exist since version 1. Example:
  /// `op.added(3, "use_bias").was(false);` Error: there is no such parameter; the version is later
  /// than op.version(); more than 16.
  constexpr Change added(int version, const char* param) {
    if constexpr (records) description_->added.push({version, param});
    return Change(description_, false);
  }
  /// The parameter no longer exists since this version. Older files load with any value of
  /// it: declare this only if the results do not change, and otherwise add .was(value), with the
  /// value that the operator behaves as if it had. Default: older files with a parameter that does
  /// not exist are refused. Error: the operator still has the parameter; the version is later than
  /// op.version(); more than 16.
  ///
  ///     op.removed(2, "num_threads");      // it never changed the results
  ///     op.removed(3, "alpha").was(1.0);   // files with another alpha are refused
  constexpr Change removed(int version, const char* param) {
    if constexpr (records) description_->removed.push({version, param, {}});
    return Change(description_, true);
  }
  /// The input exists since this version; in older files it is not connected. Default: inputs exist
  /// since version 1. Example: `op.added_input(3, "gain");` Error: it is not an optional input, or
  /// comes before one of an older version; the version is later than op.version(); more than 8.
  constexpr void added_input(int version, const char* input) {
    if constexpr (records) description_->added_inputs.push({version, input});
  }
  /// The output exists since this version; in older files only backward reads it. Default: outputs
  /// exist since version 1. Example: `op.added_output(2, "mask");` Error: it does not exist, or
  /// comes before one of an older version; the version is later than op.version(); more than 8.
  constexpr void added_output(int version, const char* output) {
    if constexpr (records) description_->added_outputs.push({version, output});
  }
  /// The state exists since this version; in older files it has its initial value. Default: states
  /// exist since version 1. Example: `op.added_state(2, "count");` Error: it does not exist, or
  /// comes before one of an older version; the version is later than op.version(); more than 8.
  constexpr void added_state(int version, const char* state) {
    if constexpr (records) description_->added_states.push({version, state});
  }

 protected:
  Description* description_;  // null if nothing is recorded
};

}  // namespace tenon::TENON_SDK::detail
#pragma GCC visibility pop
