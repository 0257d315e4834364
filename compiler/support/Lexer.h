//===- Lexer.h - words, numbers and punctuation of our text formats ---------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_SUPPORT_LEXER_H
#define EINSUMC_SUPPORT_LEXER_H

#include "compiler/support/Diagnostics.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/SMLoc.h"

#include <cstdint>

namespace einsumc {

struct Token {
  enum class Kind : uint8_t {
    Identifier,  ///< [A-Za-z_][A-Za-z0-9_]*, at most Lexer::kMaxNameLength characters
    Integer,     ///< [0-9]+, of any length
    Punctuation, ///< `->`, or one of ()[]{}<>,;:=*+-/.|@
    Invalid,     ///< characters that no token has; the lexer has reported them
    End,         ///< the end of the text
  };

  Kind kind = Kind::End;
  llvm::StringRef text; ///< a part of the text that was read

  bool isIdentifier() const { return kind == Kind::Identifier; }
  bool isInteger() const { return kind == Kind::Integer; }
  bool isEnd() const { return kind == Kind::End; }
  bool is(llvm::StringRef punctuation) const {
    return kind == Kind::Punctuation && text == punctuation;
  }
  bool isWord(llvm::StringRef word) const { return isIdentifier() && text == word; }

  llvm::SMLoc start() const { return llvm::SMLoc::getFromPointer(text.begin()); }
  llvm::SMLoc end() const { return llvm::SMLoc::getFromPointer(text.end()); }
  llvm::SMRange range() const { return {start(), end()}; }
};

/// Splits a text into tokens, one token ahead of the parser. A UTF-8 byte order mark at the
/// beginning is skipped.
class Lexer {
public:
  static constexpr std::size_t kMaxNameLength = 255;

  enum class Comments : uint8_t {
    None, ///< `#` is a stray character
    Hash, ///< from `#` to the end of the line
  };

  /// \p text must have been returned by `diagnostics.addText`, or be a part of such a text.
  Lexer(llvm::StringRef text, Diagnostics &diagnostics, Comments comments = Comments::Hash);

  /// The token that comes next.
  const Token &peek() const { return current; }
  /// Returns the token that comes next and goes past it; at the end it stays there.
  Token take();
  /// Goes past the punctuation and returns true if it comes next.
  bool takeIf(llvm::StringRef punctuation);

  /// Where the last token that was taken ends; the beginning of the text before the first.
  llvm::SMLoc previousEnd() const { return llvm::SMLoc::getFromPointer(lastEnd); }
  /// Whether the token that comes next stands on a later line than the one taken last.
  bool isAtLineStart() const { return lineStart; }

  /// Reports that the next token is not what the format wants: at the token, or where the one
  /// before it ends if the next stands on a later line or is the end of the text (there something
  /// is missing). Says nothing about a token that the lexer itself has reported. Returns false,
  /// so that a parser can write `return lexer.unexpected("expected ...")`.
  bool unexpected(const llvm::Twine &message);
  /// Takes the punctuation, or reports `expected '...'` and returns false.
  bool expect(llvm::StringRef punctuation);

private:
  void advance();
  void skipBlanks();
  Token lexWord();
  Token lexPunctuation();
  Token makeToken(Token::Kind kind, std::size_t length);

  llvm::StringRef rest;
  Diagnostics &diagnostics;
  Comments comments;
  Token current;
  const char *lastEnd;
  bool lineStart = false;
};

} // namespace einsumc

#endif // EINSUMC_SUPPORT_LEXER_H
