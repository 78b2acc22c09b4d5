// The operator cast_storage, which is multithreaded, against the host's function of that name,
// which is not.
#include <doctest/doctest.h>

#include "sparse.hpp"

using namespace plugin_tests;

TEST_CASE("cast_storage on any number of threads stores the same as the host's function") {
  const std::pair<Storage, const char*> storages[] = {
      {Storage::dense, "dense"}, {Storage::csr, "csr"}, {Storage::row_sparse, "row_sparse"}};
  auto all = patterns();
  all.push_back({"many rows", {700, 300}, 0.2, true});  // several chunks for each loop
  all.push_back({"long rows", {3, 90'000}, 0.1});
  for (const auto& pattern : all)
    for (const auto dtype : {tenon::f32, tenon::f16, tenon::i8, tenon::f64})
      for (const auto& from : storages)
        for (const auto& to : storages)
          for (const int threads : {1, 4}) {
            CAPTURE(pattern.name);
            const std::string name = std::string(from.second) + " to " + to.second;
            CAPTURE(name);
            const auto given = sparse_of(pattern, dtype, from.first);
            const auto found =
                strict_host(threads).call("cast_storage", {given}, {{"storage", to.second}});
            CHECK(found.storage() == to.first);
            CHECK(same_bits(found, cast_storage(given, to.first)));
          }
}
