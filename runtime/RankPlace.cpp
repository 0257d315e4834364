//===- RankPlace.cpp - where the ranks run ----------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "RankPlace.h"

#include "CoreSet.h"
#include "Format.h"
#include "HostName.h"
#include "TeamBinding.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace einsumc {
namespace {

static_assert(std::is_trivially_copyable_v<RankPlace>);

RankPlace ownPlace(const Communicator &comm, int threads) {
  RankPlace place;
  hostName().copy(place.host.data(), place.host.size() - 1);
  place.cores = coresOfRank();
  place.threads = threads;
  const std::vector<int> bound = coresOfThreads(comm, threads);
  place.hasCoreForEach = !bound.empty();
  if (place.hasCoreForEach)
    CPU_ZERO(&place.cores);
  for (const int core : bound)
    CPU_SET(static_cast<std::size_t>(core), &place.cores);
  place.binding = omp_get_proc_bind();
  place.places = omp_get_num_places();
  for (int i = 0; i < place.places; ++i) {
    const int cores = omp_get_place_num_procs(i);
    place.placeCores = i == 0 || cores == place.placeCores ? cores : 0;
    if (place.placeCores == 0)
      break;
  }
  return place;
}

std::string bindingText(const RankPlace &place) {
  if (place.hasCoreForEach)
    return "one a core";
  std::string how;
  switch (place.binding) {
  case omp_proc_bind_false:
    return "not bound";
  case omp_proc_bind_master:
    how = "bound (primary)";
    break;
  case omp_proc_bind_close:
    how = "bound (close)";
    break;
  case omp_proc_bind_spread:
    how = "bound (spread)";
    break;
  default:
    how = "bound";
  }
  if (place.places == 0)
    return how;
  return how + " to " + countOf(place.places, "place") +
         (place.placeCores > 0 ? " of " + countOf(place.placeCores, "core") : "");
}

std::string hostOf(const RankPlace &place) { return place.host.data(); }

/// Things under a key, in the order in which the keys come first.
template <class T> class Groups {
public:
  std::vector<T> &operator[](const std::string &key) {
    const auto at = std::ranges::find(groups, key, &Group::first);
    return at != groups.end() ? at->second : groups.emplace_back(key, std::vector<T>()).second;
  }
  auto begin() const { return groups.begin(); }
  auto end() const { return groups.end(); }
  std::size_t size() const { return groups.size(); }

private:
  using Group = std::pair<std::string, std::vector<T>>;
  std::vector<Group> groups;
};

/// Ranks of one host that share cores, directly or by way of others.
struct CoreShare {
  cpu_set_t cores{};
  std::vector<int> ranks;
  int threads = 0;
};

std::vector<CoreShare> sharesOf(const std::vector<RankPlace> &places,
                                const std::vector<int> &ranks) {
  std::vector<CoreShare> shares;
  for (const int rank : ranks) {
    const RankPlace &place = places[static_cast<std::size_t>(rank)];
    CoreShare joined{place.cores, {rank}, place.threads};
    std::erase_if(shares, [&](const CoreShare &share) {
      if (!intersect(share.cores, place.cores))
        return false;
      CPU_OR(&joined.cores, &joined.cores, &share.cores);
      joined.ranks.insert(joined.ranks.end(), share.ranks.begin(), share.ranks.end());
      joined.threads += share.threads;
      return true;
    });
    shares.push_back(std::move(joined));
  }
  return shares;
}

/// What --describe says of a rank but its number and host.
std::string rankText(const RankPlace &place, const CoreShare &share) {
  const bool isKnown = CPU_COUNT(&place.cores) > 0;
  const auto others = static_cast<int64_t>(share.ranks.size()) - 1;
  return (CPU_COUNT(&place.cores) == 1 ? "core " : "cores ") +
         (isKnown ? formatRanges(coreNumbers(place.cores)) : "unknown") + ", " +
         countOf(place.threads, "thread") + ", " + bindingText(place) +
         (others > 0 ? ", shares cores with " + countOf(others, "other rank") : "");
}

/// Why threads will wait for cores; nothing when there is no reason.
std::vector<std::string> complaintsOf(const std::vector<RankPlace> &places,
                                      const CoreShare &share) {
  const int cores = CPU_COUNT(&share.cores);
  const std::string ranks = countOf(static_cast<int64_t>(share.ranks.size()), "rank");
  std::vector<std::string> complaints;
  if (cores > 0 && share.threads > cores)
    complaints.push_back(countOf(share.threads, "thread") + " of " + ranks + " share " +
                         countOf(cores, "core"));
  // OpenMP binds every team in the same way: all first threads are on the first core.
  const bool binds = std::ranges::any_of(share.ranks, [&](int rank) {
    return places[static_cast<std::size_t>(rank)].binding != omp_proc_bind_false;
  });
  if (share.ranks.size() > 1 && binds)
    complaints.push_back(ranks + " bind threads to the same cores");
  return complaints;
}

/// The hosts of ranks, each once.
std::vector<std::string> hostsOf(const std::vector<RankPlace> &places,
                                 const std::vector<int> &ranks) {
  Groups<int> hosts;
  for (const int rank : ranks)
    hosts[hostOf(places[static_cast<std::size_t>(rank)])];
  std::vector<std::string> names;
  for (const auto &[host, none] : hosts)
    names.push_back(host);
  return names;
}

/// `node01.cluster` as `node`, `01`, `.cluster`.
struct NumberedName {
  explicit NumberedName(const std::string &name) {
    constexpr std::size_t kMostDigits = 9;
    const std::size_t end = std::min(name.find('.'), name.size());
    std::size_t first = end;
    while (first > 0 && name[first - 1] >= '0' && name[first - 1] <= '9')
      --first;
    prefix = name.substr(0, first);
    digits = name.substr(first, end - first);
    suffix = name.substr(end);
    if (!digits.empty() && digits.size() <= kMostDigits)
      number = std::stoll(digits);
  }

  bool isFollowedBy(const NumberedName &next) const {
    return number >= 0 && next.number == number + 1 && next.digits.size() == digits.size() &&
           next.prefix == prefix && next.suffix == suffix;
  }

  std::string prefix, digits, suffix;
  int64_t number = -1;
};

} // namespace

std::string formatRanges(const std::vector<int> &numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    const int stride = i + 1 < numbers.size() ? numbers[i + 1] - numbers[i] : 1;
    while (last + 1 < numbers.size() && numbers[last + 1] - numbers[last] == stride)
      ++last;
    if (stride > 1 && last - i < 2)
      last = i;
    text += (text.empty() ? "" : ",") + std::to_string(numbers[i]);
    if (last > i)
      text +=
          "-" + std::to_string(numbers[last]) + (stride > 1 ? ":" + std::to_string(stride) : "");
    i = last + 1;
  }
  return text;
}

std::string formatHosts(const std::vector<std::string> &hosts) {
  std::vector<NumberedName> names(hosts.begin(), hosts.end());
  std::string text;
  for (std::size_t i = 0; i < names.size();) {
    std::size_t last = i;
    while (last + 1 < names.size() && names[last].isFollowedBy(names[last + 1]))
      ++last;
    text += text.empty() ? "" : ", ";
    if (last == i)
      text += hosts[i];
    else
      text += names[i].prefix + "[" + names[i].digits + "-" + names[last].digits + "]" +
              names[i].suffix;
    i = last + 1;
  }
  return text;
}

std::string describePlaces(const std::vector<RankPlace> &places) {
  Groups<int> ranksOfHosts;
  for (std::size_t rank = 0; rank < places.size(); ++rank)
    ranksOfHosts[hostOf(places[rank])].push_back(static_cast<int>(rank));

  std::vector<std::string> texts(places.size()); // of each rank
  Groups<std::string> hostsOfComplaints;
  for (const auto &[host, ranks] : ranksOfHosts)
    for (const CoreShare &share : sharesOf(places, ranks)) {
      for (const int rank : share.ranks)
        texts[static_cast<std::size_t>(rank)] =
            rankText(places[static_cast<std::size_t>(rank)], share);
      for (const std::string &complaint : complaintsOf(places, share))
        hostsOfComplaints[complaint].push_back(host);
    }
  Groups<int> ranksOfTexts;
  for (std::size_t rank = 0; rank < places.size(); ++rank)
    ranksOfTexts[texts[rank]].push_back(static_cast<int>(rank));

  std::string result = "started on " + countOf(static_cast<int64_t>(places.size()), "rank") +
                       " on " + countOf(static_cast<int64_t>(ranksOfHosts.size()), "host") + ":\n";
  for (const auto &[text, ranks] : ranksOfTexts)
    result += (ranks.size() > 1 ? "  ranks " : "  rank ") + formatRanges(ranks) + " on " +
              formatHosts(hostsOf(places, ranks)) + ": " + text + "\n";
  for (const auto &[complaint, hosts] : hostsOfComplaints)
    result += "warning: " + complaint + " on " + formatHosts(hosts) + "\n";
  return result;
}

std::vector<RankPlace> gatherPlaces(const Communicator &comm, int threads) {
  const RankPlace own = ownPlace(comm, threads);
  std::vector<RankPlace> all(comm.rank() == 0 ? static_cast<std::size_t>(comm.size()) : 0);
  barrier(comm); // Late ranks are waited for politely.
  checkMpi(
      MPI_Gather(&own, sizeof(own), MPI_BYTE, all.data(), sizeof(own), MPI_BYTE, 0, comm.get()),
      "MPI_Gather");
  return all;
}

} // namespace einsumc
