//===- RankPlaceTest.cpp - where the ranks run ------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "../../runtime/RankPlace.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

using namespace einsumc;

RankPlace placeOf(const std::string &host, const std::vector<int> &cores, int threads) {
  RankPlace place;
  host.copy(place.host.data(), place.host.size() - 1);
  for (const int core : cores)
    CPU_SET(static_cast<std::size_t>(core), &place.cores);
  place.threads = threads;
  return place;
}

RankPlace boundPlaceOf(const std::string &host, const std::vector<int> &cores) {
  RankPlace place = placeOf(host, cores, static_cast<int>(cores.size()));
  place.binding = omp_proc_bind_close;
  place.places = place.threads;
  place.placeCores = 1;
  return place;
}

TEST(FormatRanges, JoinsNumbersAtEqualDistances) {
  EXPECT_EQ(formatRanges({}), "");
  EXPECT_EQ(formatRanges({5}), "5");
  EXPECT_EQ(formatRanges({0, 1}), "0-1");
  EXPECT_EQ(formatRanges({0, 2}), "0,2");
  EXPECT_EQ(formatRanges({0, 1, 2, 3, 8}), "0-3,8");
  EXPECT_EQ(formatRanges({0, 2, 4, 6}), "0-6:2");
  EXPECT_EQ(formatRanges({0, 1, 2, 3, 64, 65, 66, 67}), "0-3,64-67");
  EXPECT_EQ(formatRanges({0, 3, 4, 5, 9}), "0,3-5,9");
}

TEST(FormatHosts, JoinsNamesWhoseNumbersFollowOneAnother) {
  EXPECT_EQ(formatHosts({"login"}), "login");
  EXPECT_EQ(formatHosts({"n1", "n2", "n3"}), "n[1-3]");
  EXPECT_EQ(formatHosts({"node09", "node10", "login", "node12"}), "node[09-10], login, node12");
  EXPECT_EQ(formatHosts({"n9", "n10"}), "n9, n10");
  EXPECT_EQ(formatHosts({"n1.a.org", "n2.a.org", "n3.b.org"}), "n[1-2].a.org, n3.b.org");
  EXPECT_EQ(formatHosts({"10.0.0.1", "11.0.0.1"}), "[10-11].0.0.1");
  EXPECT_EQ(formatHosts({".", "7"}), "., 7");
}

TEST(DescribePlaces, FoldsRanksThatAreAlike) {
  std::vector<RankPlace> places;
  for (int rank = 0; rank < 1024; ++rank) {
    const int first = rank % 2 * 4;
    places.push_back(boundPlaceOf("node" + std::to_string(100 + rank / 2),
                                  {first, first + 1, first + 2, first + 3}));
  }
  EXPECT_EQ(describePlaces(places),
            "started on 1024 ranks on 512 hosts:\n"
            "  ranks 0-1022:2 on node[100-611]: cores 0-3, 4 threads, bound (close) to 4 places of "
            "1 core\n"
            "  ranks 1-1023:2 on node[100-611]: cores 4-7, 4 threads, bound (close) to 4 places of "
            "1 core\n");
}

TEST(DescribePlaces, SaysWhereThreadsHaveCoresOfTheirOwn) {
  RankPlace place = placeOf("a", {2, 3}, 2);
  place.hasCoreForEach = true;
  EXPECT_EQ(describePlaces({place}), "started on 1 rank on 1 host:\n"
                                     "  rank 0 on a: cores 2-3, 2 threads, one a core\n");
}

TEST(DescribePlaces, WarnsOfMoreThreadsThanCores) {
  EXPECT_EQ(describePlaces({placeOf("a", {0, 1}, 2), placeOf("b", {0, 1}, 1),
                            placeOf("a", {1, 2}, 2), placeOf("b", {0, 1}, 1)}),
            "started on 4 ranks on 2 hosts:\n"
            "  rank 0 on a: cores 0-1, 2 threads, not bound, shares cores with 1 other rank\n"
            "  ranks 1,3 on b: cores 0-1, 1 thread, not bound, shares cores with 1 other rank\n"
            "  rank 2 on a: cores 1-2, 2 threads, not bound, shares cores with 1 other rank\n"
            "warning: 4 threads of 2 ranks share 3 cores on a\n");
}

TEST(DescribePlaces, SharesCoresByWayOfOthers) {
  const std::string text = describePlaces(
      {placeOf("a", {0}, 1), placeOf("a", {1}, 1), placeOf("a", {2}, 1), placeOf("a", {0, 1}, 1)});
  EXPECT_NE(text.find("warning: 3 threads of 3 ranks share 2 cores on a\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("rank 2 on a: core 2, 1 thread, not bound\n"), std::string::npos) << text;
}

TEST(DescribePlaces, WarnsOfTeamsBoundToTheSameCores) {
  const std::string text = describePlaces({boundPlaceOf("a1", {0, 1}), boundPlaceOf("a1", {2, 3}),
                                           boundPlaceOf("a2", {0, 1}), boundPlaceOf("a2", {0, 1})});
  EXPECT_EQ(text.find("on a1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("warning: 2 ranks bind threads to the same cores on a2\n"), std::string::npos)
      << text;
}

TEST(DescribePlaces, SaysThatCoresAreUnknown) {
  EXPECT_EQ(describePlaces({placeOf("a", {}, 8)}), "started on 1 rank on 1 host:\n"
                                                   "  rank 0 on a: cores unknown, 8 threads, not "
                                                   "bound\n");
}

} // namespace
