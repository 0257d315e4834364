//===- EinSyntax.cpp - the statements of an .ein text -----------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/frontend/EinSyntax.h"

#include "compiler/frontend/Extents.h"
#include "compiler/frontend/Limits.h"
#include "compiler/frontend/Names.h"

#include "llvm/ADT/STLExtras.h"

#include <utility>

namespace einsumc {

namespace {

constexpr llvm::StringRef kKeywords[] = {"dtype", "dim", "input", "output"};

/// What is left of a statement whose name alone is known.
TensorStatement incompleteTensor(const Token &name) {
  TensorStatement result;
  result.tensor.name = name;
  return result;
}

/// A recursive descent parser. Functions that return bool return false after a mistake that they
/// have reported, upon which the statement is given up. No word is reserved: a keyword is one
/// where the grammar has it, and a name elsewhere.
class Parser {
public:
  Parser(llvm::StringRef text, Diagnostics &diagnostics)
      : lexer(text, diagnostics), diagnostics(diagnostics) {}

  std::vector<Statement> run() {
    while (!lexer.peek().isEnd())
      if (!statement()) {
        skipTo(";");
        lexer.takeIf(";");
      }
    return std::move(statements);
  }

private:
  bool statement();
  bool unknownStatement(const Token &word);
  bool dtypeStatement();
  bool dimStatement();
  bool tensorStatement(bool isInput, bool isOutput, std::optional<Token> name);
  bool tensorStatementAfterName(TensorStatement &result);
  bool identifier(Token &result, const char *what);
  bool dimList(std::vector<Token> &dims);
  bool pin(PinText &result);
  bool product(std::vector<FactorText> &factors, int depth);
  bool factor(FactorText &result, int depth);
  bool parentheses(FactorText &result, int depth);
  bool semicolon(const char *expected);
  void skipTo(llvm::StringRef punctuation);

  Lexer lexer;
  Diagnostics &diagnostics;
  std::vector<Statement> statements;
};

bool Parser::statement() {
  const Token first = lexer.peek();
  if (!first.isIdentifier()) {
    // Nothing is missing before it, wherever it stands.
    if (first.kind != Token::Kind::Invalid)
      diagnostics.error(first.start(),
                        "expected 'dtype', 'dim', 'input', 'output' or a tensor's name");
    return false;
  }
  Token word = lexer.take();
  if (lexer.peek().is("["))
    return tensorStatement(/*isInput=*/false, /*isOutput=*/false, word);
  if (word.text == "dtype")
    return dtypeStatement();
  if (word.text == "dim")
    return dimStatement();
  if (word.text == "input")
    return tensorStatement(/*isInput=*/true, /*isOutput=*/false, std::nullopt);
  if (word.text == "output")
    return tensorStatement(/*isInput=*/false, /*isOutput=*/true, std::nullopt);
  return unknownStatement(word);
}

/// A statement that begins with a word that is no keyword, or with a name without brackets. The
/// name that it was meant to declare is declared nevertheless, so that its uses are no errors.
bool Parser::unknownStatement(const Token &word) {
  if (!lexer.peek().isIdentifier()) {
    lexer.unexpected("expected '[' and the dims of '" + word.text +
                     "'; a tensor without dims is written '" + word.text + "[]'");
    statements.emplace_back(incompleteTensor(word));
    return false;
  }
  diagnostics.error(word.start(),
                    "unknown statement '" + word.text + "'" + didYouMean(word.text, kKeywords),
                    word.range());
  Token name = lexer.take();
  if (lexer.peek().is("["))
    statements.emplace_back(incompleteTensor(name));
  else if (lexer.peek().is("="))
    statements.emplace_back(DimStatement{.name = name, .extent = std::nullopt});
  return false;
}

bool Parser::dtypeStatement() {
  DtypeStatement result;
  if (!identifier(result.type, "an element type, f32 or f64"))
    return false;
  statements.emplace_back(result);
  return semicolon("expected ';'");
}

bool Parser::dimStatement() {
  do {
    DimStatement result;
    if (!identifier(result.name, "the name of a dim"))
      return false;
    if (!lexer.expect("=") || !readExtent(lexer, diagnostics, result.extent))
      skipTo(","); // The other dims of the statement may be right.
    statements.emplace_back(result);
  } while (lexer.takeIf(","));
  return semicolon("expected ',' or ';'");
}

bool Parser::tensorStatement(bool isInput, bool isOutput, std::optional<Token> name) {
  TensorStatement result;
  result.isInput = isInput;
  result.isOutput = isOutput;
  if (name)
    result.tensor.name = *name;
  else if (!identifier(result.tensor.name, "the name of a tensor"))
    return false;
  bool isSound = tensorStatementAfterName(result);
  // The rest of the text may use the name, whatever became of the statement.
  statements.emplace_back(std::move(result));
  return isSound;
}

bool Parser::tensorStatementAfterName(TensorStatement &result) {
  if (!dimList(result.tensor.dims) || !pin(result.pin))
    return false;
  if (result.isInput) {
    if (lexer.peek().is("="))
      return lexer.unexpected("an input has no definition; leave out 'input' or what follows '='");
    return result.isComplete = semicolon("expected ';'");
  }
  if (!lexer.takeIf("="))
    return lexer.unexpected("expected '=' and a product of tensors; only an 'input' has none");
  if (!product(result.factors, /*depth=*/0))
    return false;
  if (result.factors.size() == 1 && !result.factors.front().product.empty()) {
    std::vector<FactorText> inner = std::move(result.factors.front().product);
    result.factors = std::move(inner);
  }
  return result.isComplete = semicolon("expected '*' or ';'");
}

bool Parser::identifier(Token &result, const char *what) {
  if (!lexer.peek().isIdentifier())
    return lexer.unexpected(llvm::Twine("expected ") + what);
  result = lexer.take();
  return true;
}

bool Parser::dimList(std::vector<Token> &dims) {
  llvm::SMLoc open = lexer.peek().start();
  if (!lexer.expect("["))
    return false;
  if (lexer.takeIf("]"))
    return true;
  do {
    if (dims.size() == kMaxRank)
      return lexer.unexpected("a tensor has at most " + llvm::Twine(kMaxRank) + " dims");
    Token dim;
    if (!identifier(dim, "the name of a dim"))
      return false;
    dims.push_back(dim);
  } while (lexer.takeIf(","));
  if (lexer.takeIf("]"))
    return true;
  if (lexer.peek().kind != Token::Kind::Invalid) {
    lexer.unexpected("expected ',' or ']'");
    diagnostics.note(open, "to match this '['");
  }
  return false;
}

bool Parser::pin(PinText &result) {
  if (lexer.peek().isWord("at")) {
    lexer.take();
    if (!lexer.peek().isWord("root"))
      return lexer.unexpected("expected 'root'");
    lexer.take();
    result.kind = Pin::Kind::Root;
  } else if (lexer.peek().isWord("split")) {
    lexer.take();
    if (!lexer.expect("(") || !identifier(result.dim, "the name of a dim") || !lexer.expect(")"))
      return false;
    result.kind = Pin::Kind::Split;
  }
  return true;
}

bool Parser::product(std::vector<FactorText> &factors, int depth) {
  do {
    if (factors.size() == kMaxFactors)
      return lexer.unexpected("a product has at most " + llvm::Twine(kMaxFactors) + " factors");
    if (!factor(factors.emplace_back(), depth))
      return false;
  } while (lexer.takeIf("*"));
  return true;
}

bool Parser::factor(FactorText &result, int depth) {
  result.where = lexer.peek().start();
  if (lexer.peek().is("("))
    return parentheses(result, depth);
  return identifier(result.tensor.name, "a tensor or '('") && dimList(result.tensor.dims);
}

bool Parser::parentheses(FactorText &result, int depth) {
  llvm::SMLoc open = lexer.peek().start();
  if (depth == kMaxNesting)
    return lexer.unexpected("parentheses nest more than " + llvm::Twine(kMaxNesting) + " deep");
  lexer.take();
  if (!product(result.product, depth + 1))
    return false;
  if (!lexer.takeIf(")")) {
    if (lexer.peek().kind != Token::Kind::Invalid) {
      lexer.unexpected("expected '*' or ')'");
      diagnostics.note(open, "to match this '('");
    }
    return false;
  }
  if (result.product.size() == 1) {
    FactorText inner = std::move(result.product.front());
    result = std::move(inner);
  }
  return true;
}

/// A name at the start of a line begins the next statement: what is missing is the semicolon
/// alone, and nothing has to be given up.
bool Parser::semicolon(const char *expected) {
  if (lexer.takeIf(";"))
    return true;
  lexer.unexpected(expected);
  return lexer.isAtLineStart() && lexer.peek().isIdentifier();
}

/// Goes to the next such punctuation, if it comes before the end of the statement: a semicolon, or
/// a keyword at the start of a line in case the semicolon is missing.
void Parser::skipTo(llvm::StringRef punctuation) {
  auto isAtStatement = [&] {
    return lexer.isAtLineStart() && lexer.peek().isIdentifier() &&
           llvm::is_contained(kKeywords, lexer.peek().text);
  };
  // A statement that fails in front of a word has taken a token before it: no statement is read
  // twice.
  while (!lexer.peek().isEnd() && !lexer.peek().is(punctuation) && !lexer.peek().is(";") &&
         !isAtStatement())
    lexer.take();
}

} // namespace

std::vector<Statement> readStatements(llvm::StringRef text, Diagnostics &diagnostics) {
  return Parser(text, diagnostics).run();
}

} // namespace einsumc
