//===- Memo.h - what has been computed before -------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_SUPPORT_MEMO_H
#define EINSUMC_SUPPORT_MEMO_H

#include <array>
#include <cstddef>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace einsumc {

/// Values by what they follow from, each computed when it is first asked for; threads may ask at a
/// time. Two that ask for the same one may both compute it.
template <class Key, class Value, class Hash> class Memo {
public:
  /// The value of a key; it stays where it is.
  /// \param compute returns it; several threads may call it at a time
  template <class Compute> const Value &of(Key key, Compute &&compute) {
    Shard &shard = shards[Hash{}(key) % kShards];
    {
      const std::lock_guard lock(shard.mutex);
      if (const auto found = shard.values.find(key); found != shard.values.end())
        return found->second;
    }
    Value value = compute();
    const std::lock_guard lock(shard.mutex);
    return shard.values.try_emplace(std::move(key), std::move(value)).first->second;
  }

private:
  /// So many that threads seldom ask the same one.
  static constexpr std::size_t kShards = 32;
  struct Shard {
    std::mutex mutex;
    std::unordered_map<Key, Value, Hash> values;
  };
  std::array<Shard, kShards> shards;
};

} // namespace einsumc

#endif // EINSUMC_SUPPORT_MEMO_H
