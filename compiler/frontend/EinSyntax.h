//===- EinSyntax.h - the statements of an .ein text -------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_FRONTEND_EINSYNTAX_H
#define EINSUMC_FRONTEND_EINSYNTAX_H

#include "compiler/ir/Tree.h"
#include "compiler/support/Diagnostics.h"
#include "compiler/support/Lexer.h"

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

namespace einsumc {

/// `X[b, i]`: at most kMaxRank dims.
struct TensorText {
  Token name;
  std::vector<Token> dims;
};

/// A tensor, or two factors or more in parentheses (those around a single factor mean nothing and
/// are gone).
struct FactorText {
  TensorText tensor;
  std::vector<FactorText> product; ///< empty if this is a tensor
  llvm::SMLoc where;
};

/// `split(d)` or `at root`.
struct PinText {
  Pin::Kind kind = Pin::Kind::Free;
  Token dim; ///< of a split
};

/// `dtype f32`
struct DtypeStatement {
  Token type;
};

/// One `b = 128` of a `dim` statement.
struct DimStatement {
  Token name;
  std::optional<int64_t> extent; ///< nothing if the text is wrong, which is reported
};

/// `input X[b, i]`, or an equation.
struct TensorStatement {
  bool isInput = false;
  bool isOutput = false;
  bool isComplete = false; ///< false if the text is wrong, which is reported; the name is right
  TensorText tensor;
  PinText pin;
  std::vector<FactorText> factors; ///< of an equation
};

using Statement = std::variant<DtypeStatement, DimStatement, TensorStatement>;

/// Reads the statements of an .ein text, which `diagnostics.addText` returned, and reports those
/// that do not follow the grammar; after a mistake it goes on behind the next `;`. What the names
/// mean is not looked at.
std::vector<Statement> readStatements(llvm::StringRef text, Diagnostics &diagnostics);

} // namespace einsumc

#endif // EINSUMC_FRONTEND_EINSYNTAX_H
