//===- Lexer.cpp - words, numbers and punctuation of our text formats -------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/support/Lexer.h"

#include "llvm/ADT/StringExtras.h"

namespace einsumc {

namespace {

bool isNonAscii(char c) { return (static_cast<unsigned char>(c) & 0x80U) != 0; }

bool isWordCharacter(char c) { return llvm::isAlnum(c) || c == '_'; }

bool isBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

} // namespace

Lexer::Lexer(llvm::StringRef text, Diagnostics &diagnostics, Comments comments)
    : rest(text), diagnostics(diagnostics), comments(comments), lastEnd(text.begin()) {
  rest.consume_front("\xEF\xBB\xBF");
  advance();
}

Token Lexer::take() {
  Token taken = current;
  lastEnd = taken.text.end();
  advance();
  return taken;
}

bool Lexer::takeIf(llvm::StringRef punctuation) {
  if (!current.is(punctuation))
    return false;
  take();
  return true;
}

bool Lexer::unexpected(const llvm::Twine &message) {
  if (current.kind == Token::Kind::Invalid)
    return false;
  bool isMissing = current.isEnd() || lineStart;
  diagnostics.error(isMissing ? previousEnd() : current.start(), message);
  return false;
}

bool Lexer::expect(llvm::StringRef punctuation) {
  return takeIf(punctuation) || unexpected("expected '" + punctuation + "'");
}

void Lexer::advance() {
  skipBlanks();
  if (rest.empty()) {
    current = makeToken(Token::Kind::End, 0);
    return;
  }
  current =
      isWordCharacter(rest.front()) || isNonAscii(rest.front()) ? lexWord() : lexPunctuation();
}

void Lexer::skipBlanks() {
  lineStart = false;
  while (!rest.empty()) {
    if (comments == Comments::Hash && rest.front() == '#')
      rest = rest.drop_until([](char c) { return c == '\n'; });
    else if (isBlank(rest.front())) {
      lineStart = lineStart || rest.front() == '\n';
      rest = rest.drop_front();
    } else
      return;
  }
}

Token Lexer::lexWord() {
  llvm::StringRef word =
      rest.take_while([](char c) { return isWordCharacter(c) || isNonAscii(c); });
  Token token = makeToken(Token::Kind::Invalid, word.size());
  if (llvm::any_of(word, isNonAscii))
    diagnostics.error(token.start(),
                      "character that is not ASCII: names are made of the letters A-Z and a-z, "
                      "digits and '_'",
                      token.range());
  else if (llvm::all_of(word, llvm::isDigit))
    token.kind = Token::Kind::Integer;
  else if (word.size() > kMaxNameLength)
    diagnostics.error(token.start(), "a name has at most " + llvm::Twine(kMaxNameLength) +
                                         " characters, this one has " + llvm::Twine(word.size()));
  else if (llvm::isDigit(word.front()))
    diagnostics.error(token.start(), "'" + word + "' is neither a number nor a name",
                      token.range());
  else
    token.kind = Token::Kind::Identifier;
  return token;
}

Token Lexer::lexPunctuation() {
  if (rest.starts_with("->"))
    return makeToken(Token::Kind::Punctuation, 2);
  char c = rest.front();
  if (llvm::StringRef("()[]{}<>,;:=*+-/.|@").contains(c))
    return makeToken(Token::Kind::Punctuation, 1);
  Token token = makeToken(Token::Kind::Invalid, 1);
  if (llvm::isPrint(c))
    diagnostics.error(token.start(), "stray '" + llvm::Twine(c) + "'");
  else
    diagnostics.error(token.start(),
                      "stray control character 0x" + llvm::utohexstr(static_cast<uint8_t>(c)));
  return token;
}

Token Lexer::makeToken(Token::Kind kind, std::size_t length) {
  Token token{.kind = kind, .text = rest.take_front(length)};
  rest = rest.drop_front(length);
  return token;
}

} // namespace einsumc
