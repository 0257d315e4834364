//===- Extents.cpp - checks of extents and shapes ---------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/frontend/Extents.h"

#include "compiler/frontend/Limits.h"

namespace einsumc {

bool readExtent(Lexer &lexer, Diagnostics &diagnostics, std::optional<int64_t> &extent) {
  extent.reset();
  llvm::SMLoc start = lexer.peek().start();
  bool isNegative = lexer.takeIf("-");
  if (!lexer.peek().isInteger())
    return lexer.unexpected("expected an extent, a number of at least 1");
  Token number = lexer.take();
  llvm::SMRange range(start, number.end());
  int64_t value = 0;
  if (isNegative || number.text.ltrim('0').empty())
    diagnostics.error(start, "an extent is at least 1", range);
  else if (number.text.getAsInteger(10, value))
    diagnostics.error(start, "an extent is at most 2^63 - 1", range);
  else
    extent = value;
  return true;
}

bool checkShape(const llvm::Twine &what, const std::vector<DimId> &shape,
                const std::vector<Dim> &dims, llvm::SMLoc where, Diagnostics &diagnostics) {
  if (shape.size() > kMaxRank) {
    diagnostics.error(where, what + " has " + llvm::Twine(shape.size()) +
                                 " dims; a tensor has at most " + llvm::Twine(kMaxRank));
    return false;
  }
  std::vector<int64_t> extents;
  extents.reserve(shape.size());
  for (DimId dim : shape)
    extents.push_back(dims[static_cast<std::size_t>(dim)].extent);
  // Eight bytes an element, whatever the type, so that a tree stays valid when its type changes.
  if (checkedBytes(extents, 8))
    return true;
  diagnostics.error(where, what + " is too large: 64 bits cannot count its bytes");
  return false;
}

} // namespace einsumc
