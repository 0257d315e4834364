//===- Names.cpp - helpers for names ----------------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/frontend/Names.h"

#include "llvm/ADT/Twine.h"

namespace einsumc {

std::string didYouMean(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> candidates) {
  constexpr std::size_t kMaxCandidates = 4096;
  constexpr std::size_t kMaxLength = 32;
  if (name.size() > kMaxLength)
    return {};
  // A third of the letters may differ; of a name of one letter or two, only their case.
  unsigned limit = name.size() < 3 ? 0 : static_cast<unsigned>((name.size() + 2) / 3);
  unsigned closest = limit + 1;
  llvm::StringRef best;
  for (llvm::StringRef candidate : candidates.take_front(kMaxCandidates)) {
    if (candidate.size() > kMaxLength)
      continue;
    unsigned distance = candidate.equals_insensitive(name)
                            ? 0
                            : candidate.edit_distance(name, /*AllowReplacements=*/true, limit);
    if (distance < closest) {
      closest = distance;
      best = candidate;
    }
  }
  return best.empty() ? std::string() : ("; did you mean '" + llvm::Twine(best) + "'?").str();
}

llvm::StringRef withoutLeadingZeros(llvm::StringRef digits) {
  llvm::StringRef significant = digits.ltrim('0');
  return significant.empty() ? digits.take_back(1) : significant;
}

} // namespace einsumc
