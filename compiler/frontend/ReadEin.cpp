//===- ReadEin.cpp - .ein text to tree --------------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/frontend/ReadEin.h"

#include "compiler/frontend/DropUnused.h"
#include "compiler/frontend/EinSyntax.h"
#include "compiler/frontend/Extents.h"
#include "compiler/frontend/Limits.h"
#include "compiler/frontend/Names.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace einsumc {

namespace {

/// Gives the statements of a text their meaning, in the order of the text. Every name that is
/// declared is known from the start, so that a use before the declaration is told from a use
/// without one. A declaration that failed leaves a symbol without an id: its uses fail silently.
class TreeBuilder {
public:
  TreeBuilder(llvm::StringRef text, Diagnostics &diagnostics)
      : text(text), diagnostics(diagnostics), errorsBefore(diagnostics.errors()),
        statements(readStatements(text, diagnostics)) {}

  std::optional<Tree> build();

private:
  template <typename Id> struct Symbol {
    std::optional<Id> id;
    Token name;
  };

  /// The names of one kind, dims or tensors.
  template <typename Id> struct Scope {
    const char *kind;
    llvm::StringMap<Token> declarations = {}; ///< of the whole text
    std::vector<llvm::StringRef> names = {};  ///< the same, in the order of the text
    llvm::StringMap<Symbol<Id>> symbols = {}; ///< declared so far
    llvm::StringSet<> reported = {};          ///< used without a declaration, and reported
  };

  /// Where the factors of an equation have a dim: the first and the last, counted from left to
  /// right through all parentheses; -1 is the left-hand side.
  struct Occurrence {
    int first = 0;
    int last = 0;
  };

  /// The equation whose factors are being added.
  struct Equation {
    llvm::StringRef name;
    std::vector<Operand> uses; ///< of all tensors from left to right
    llvm::DenseMap<DimId, Occurrence> occurrences;
    int next = 0;     ///< index into `uses`: the factor to add next
    int products = 0; ///< names tried for parenthesised products
  };

  template <typename Id> void declareAll(Scope<Id> &scope, const Token &name);
  template <typename Id> std::optional<Id> resolve(Scope<Id> &scope, const Token &name);
  template <typename Id>
  bool isRedeclared(Scope<Id> &scope, const Token &name, const char *mistake);
  bool isInput(const Token &tensor) const;
  bool isInItself(const Token &name);

  void add(const DtypeStatement &statement);
  void add(const DimStatement &statement);
  void add(const TensorStatement &statement);
  std::optional<NodeId> addTensor(const TensorStatement &statement);
  bool resolveLeft(const TensorStatement &statement, Node &node);
  bool resolvePin(const TensorStatement &statement, Node &node);
  bool resolveFactors(const std::vector<FactorText> &factors, std::vector<Operand> &uses);
  std::optional<Operand> resolveUse(const TensorText &use);
  bool checkUse(const TensorText &use, NodeId definition, const std::vector<DimId> &shape);
  bool addFactors(const TensorStatement &statement, std::vector<Operand> uses, Node &node);
  std::optional<Operand> addFactor(const FactorText &factor, Equation &equation);
  std::optional<Operand> addProduct(const FactorText &factor, Equation &equation);
  std::optional<NodeId> addNode(Node node, bool isWritten);
  std::string productName(Equation &equation);
  void findOutput();

  llvm::StringRef text;
  Diagnostics &diagnostics;
  unsigned errorsBefore;
  std::vector<Statement> statements;
  Scope<DimId> dimScope{.kind = "dim"};
  Scope<NodeId> tensorScope{.kind = "tensor"};
  llvm::StringSet<> taken; ///< names of dims and tensors, those made up included

  std::optional<Token> dtype;
  ElementType type = ElementType::F32;
  std::vector<Dim> dims;
  std::vector<Node> nodes;
  std::vector<bool> writtenNodes;  ///< those that the text names, unlike those in parentheses
  const Token *defining = nullptr; ///< the tensor whose statement is being added
  bool isFull = false;
};

template <typename Id> void TreeBuilder::declareAll(Scope<Id> &scope, const Token &name) {
  if (scope.declarations.try_emplace(name.text, name).second)
    scope.names.push_back(name.text);
  taken.insert(name.text);
}

/// The id of a name, or nothing if there is none, which is or was reported.
template <typename Id> std::optional<Id> TreeBuilder::resolve(Scope<Id> &scope, const Token &name) {
  if (auto symbol = scope.symbols.find(name.text); symbol != scope.symbols.end())
    return symbol->second.id;
  if (!scope.reported.insert(name.text).second)
    return std::nullopt;
  auto declaration = scope.declarations.find(name.text);
  if (declaration == scope.declarations.end()) {
    // Errors that will not be printed are not worth the search.
    std::string hint = diagnostics.errors() < Diagnostics::kMaxErrors
                           ? didYouMean(name.text, scope.names)
                           : std::string();
    diagnostics.error(name.start(),
                      llvm::Twine("unknown ") + scope.kind + " '" + name.text + "'" + hint,
                      name.range());
    return std::nullopt;
  }
  const Token &declared = declaration->second;
  diagnostics.error(name.start(),
                    llvm::Twine(scope.kind) + " '" + name.text + "' is used before its declaration",
                    name.range());
  diagnostics.note(declared.start(), "declared here", declared.range());
  return std::nullopt;
}

template <typename Id>
bool TreeBuilder::isRedeclared(Scope<Id> &scope, const Token &name, const char *mistake) {
  auto symbol = scope.symbols.find(name.text);
  if (symbol == scope.symbols.end())
    return false;
  const Token &first = symbol->second.name;
  diagnostics.error(name.start(), llvm::Twine(scope.kind) + " '" + name.text + "' " + mistake,
                    name.range());
  diagnostics.note(first.start(), "first declared here", first.range());
  return true;
}

std::optional<Tree> TreeBuilder::build() {
  for (const Statement &statement : statements) {
    if (const auto *dim = std::get_if<DimStatement>(&statement))
      declareAll(dimScope, dim->name);
    else if (const auto *tensor = std::get_if<TensorStatement>(&statement))
      declareAll(tensorScope, tensor->tensor.name);
  }
  for (const Statement &statement : statements)
    std::visit([&](const auto &specific) { add(specific); }, statement);
  if (diagnostics.errors() == errorsBefore)
    findOutput();
  if (diagnostics.errors() != errorsBefore)
    return std::nullopt;
  return Tree::make(type, std::move(dims), dropUnused(std::move(nodes), writtenNodes, diagnostics));
}

void TreeBuilder::add(const DtypeStatement &statement) {
  const Token &name = statement.type;
  if (dtype) {
    diagnostics.error(name.start(), "the dtype is given twice", name.range());
    diagnostics.note(dtype->start(), "first given here", dtype->range());
    return;
  }
  dtype = name;
  if (!tensorScope.symbols.empty())
    diagnostics.error(name.start(), "the dtype stands before the first tensor", name.range());
  if (auto known = elementTypeFromName(name.text))
    type = *known;
  else if (name.text == "bf16" || name.text == "c64" || name.text == "c128")
    diagnostics.error(name.start(),
                      "dtype '" + name.text + "' is not supported yet; use f32 or f64",
                      name.range());
  else
    diagnostics.error(name.start(), "unknown dtype '" + name.text + "'; use f32 or f64",
                      name.range());
}

void TreeBuilder::add(const DimStatement &statement) {
  if (isRedeclared(dimScope, statement.name, "is declared a second time"))
    return;
  auto &symbol = dimScope.symbols[statement.name.text];
  symbol.name = statement.name;
  if (!statement.extent)
    return;
  if (dims.size() == kMaxDims) {
    diagnostics.error(statement.name.start(),
                      "more than " + llvm::Twine(kMaxDims) + " dims in a text");
    return;
  }
  symbol.id = static_cast<DimId>(dims.size());
  dims.push_back({statement.name.text.str(), *statement.extent});
}

void TreeBuilder::add(const TensorStatement &statement) {
  const Token &name = statement.tensor.name;
  bool isRepeated =
      isRedeclared(tensorScope, name,
                   isInput(name) && !statement.isInput ? "is an input and cannot be defined again"
                                                       : "is declared a second time");
  defining = &name;
  std::optional<NodeId> id = addTensor(statement);
  // Only now, so that the equation itself cannot use the name.
  if (!isRepeated)
    tensorScope.symbols[name.text] = {.id = id, .name = name};
}

/// Whether the name is one of the inputs so far.
bool TreeBuilder::isInput(const Token &tensor) const {
  std::optional<NodeId> id = tensorScope.symbols.lookup(tensor.text).id;
  return id && nodes[static_cast<std::size_t>(*id)].kind == NodeKind::Input;
}

/// Adds the node of a statement. Does what it can of a statement that is wrong, to report as much
/// as possible.
std::optional<NodeId> TreeBuilder::addTensor(const TensorStatement &statement) {
  Node node;
  node.name = statement.tensor.name.text.str();
  node.where = statement.tensor.name.start();
  node.isOutput = statement.isOutput;
  bool isSound = resolveLeft(statement, node);
  isSound = isSound && resolvePin(statement, node);
  std::vector<Operand> uses;
  if (!statement.isInput && statement.isComplete)
    isSound = resolveFactors(statement.factors, uses) && isSound;
  if (!isSound || !statement.isComplete)
    return std::nullopt;
  if (!statement.isInput && !addFactors(statement, std::move(uses), node))
    return std::nullopt;
  return addNode(std::move(node), /*isWritten=*/true);
}

bool TreeBuilder::resolveLeft(const TensorStatement &statement, Node &node) {
  llvm::DenseMap<DimId, const Token *> seen;
  bool isSound = true;
  for (const Token &name : statement.tensor.dims) {
    std::optional<DimId> dim = resolve(dimScope, name);
    if (!dim) {
      isSound = false;
      continue;
    }
    node.dims.push_back(*dim);
    auto [first, isNew] = seen.try_emplace(*dim, &name);
    if (isNew || statement.isInput)
      continue;
    diagnostics.error(name.start(), "dim '" + name.text + "' stands twice on the left-hand side",
                      name.range());
    diagnostics.note(first->second->start(), "first here", first->second->range());
    isSound = false;
  }
  return isSound && checkShape("'" + node.name + "'", node.dims, dims, node.where, diagnostics);
}

/// \pre the dims of \p node are resolved.
bool TreeBuilder::resolvePin(const TensorStatement &statement, Node &node) {
  const PinText &pin = statement.pin;
  if (pin.kind == Pin::Kind::Free)
    return true;
  if (!statement.isInput && !statement.isOutput) {
    diagnostics.error(node.where,
                      "only inputs and outputs have a 'split' or 'at root'; the planner places '" +
                          node.name + "'",
                      statement.tensor.name.range());
    return false;
  }
  node.pin.kind = pin.kind;
  if (pin.kind != Pin::Kind::Split)
    return true;
  const auto &names = statement.tensor.dims;
  auto split = llvm::find_if(names, [&](const Token &dim) { return dim.text == pin.dim.text; });
  if (split == names.end()) {
    diagnostics.error(pin.dim.start(), "'" + node.name + "' has no dim '" + pin.dim.text + "'",
                      pin.dim.range());
    return false;
  }
  node.pin.position = static_cast<int>(split - names.begin());
  return true;
}

/// Appends the uses of all tensors from left to right. Returns whether all of them are sound.
bool TreeBuilder::resolveFactors(const std::vector<FactorText> &factors,
                                 std::vector<Operand> &uses) {
  bool isSound = true;
  for (const FactorText &factor : factors) {
    if (!factor.product.empty()) {
      isSound = resolveFactors(factor.product, uses) && isSound;
      continue;
    }
    std::optional<Operand> use = resolveUse(factor.tensor);
    isSound = isSound && use;
    if (use)
      uses.push_back(std::move(*use));
  }
  return isSound;
}

std::optional<Operand> TreeBuilder::resolveUse(const TensorText &use) {
  std::optional<NodeId> definition;
  if (!isInItself(use.name))
    definition = resolve(tensorScope, use.name);
  std::vector<DimId> shape;
  for (const Token &name : use.dims)
    if (std::optional<DimId> dim = resolve(dimScope, name))
      shape.push_back(*dim);
  if (!definition || !checkUse(use, *definition, shape) || shape.size() != use.dims.size())
    return std::nullopt;
  return Operand{.node = *definition, .dims = std::move(shape)};
}

/// Reports the use of the tensor that is being defined.
bool TreeBuilder::isInItself(const Token &name) {
  if (name.text != defining->text || tensorScope.symbols.contains(name.text))
    return false;
  diagnostics.error(name.start(), "'" + name.text + "' is used in its own definition",
                    name.range());
  return true;
}

/// Compares a use with its definition. \p shape has fewer dims than the text if some are unknown.
bool TreeBuilder::checkUse(const TensorText &use, NodeId definition,
                           const std::vector<DimId> &shape) {
  const Node &node = nodes[static_cast<std::size_t>(definition)];
  auto noteDeclaration = [&] { diagnostics.note(node.where, "declared here"); };
  if (use.dims.size() != node.dims.size()) {
    diagnostics.error(use.name.start(),
                      "'" + node.name + "' has " + llvm::Twine(node.dims.size()) +
                          (node.dims.size() == 1 ? " dim" : " dims") + ", not " +
                          llvm::Twine(use.dims.size()),
                      use.name.range());
    noteDeclaration();
    return false;
  }
  bool isSound = true;
  for (std::size_t p = 0; p < shape.size() && shape.size() == use.dims.size(); ++p) {
    const Dim &dim = dims[static_cast<std::size_t>(shape[p])];
    const Dim &declared = dims[static_cast<std::size_t>(node.dims[p])];
    if (dim.extent == declared.extent)
      continue;
    diagnostics.error(use.dims[p].start(),
                      "dim '" + dim.name + "' has extent " + llvm::Twine(dim.extent) +
                          ", but here '" + node.name + "' has '" + declared.name + "' of extent " +
                          llvm::Twine(declared.extent),
                      use.dims[p].range());
    noteDeclaration();
    isSound = false;
  }
  return isSound;
}

/// Adds the operands of an equation to its \p node, and nodes for the products in parentheses.
bool TreeBuilder::addFactors(const TensorStatement &statement, std::vector<Operand> uses,
                             Node &node) {
  Equation equation;
  equation.name = statement.tensor.name.text;
  equation.uses = std::move(uses);
  for (DimId dim : node.dims)
    equation.occurrences[dim] = {.first = -1, .last = -1};
  for (std::size_t u = 0; u < equation.uses.size(); ++u)
    for (DimId dim : equation.uses[u].dims) {
      auto [occurrence, isNew] = equation.occurrences.try_emplace(
          dim, Occurrence{.first = static_cast<int>(u), .last = 0});
      occurrence->second.last = static_cast<int>(u);
    }
  for (std::size_t d = 0; d < node.dims.size(); ++d) {
    if (equation.occurrences[node.dims[d]].last >= 0)
      continue;
    const Token &name = statement.tensor.dims[d];
    diagnostics.error(name.start(),
                      "dim '" + name.text + "' of '" + node.name + "' is in none of its factors",
                      name.range());
    return false;
  }
  for (const FactorText &factor : statement.factors) {
    std::optional<Operand> operand = addFactor(factor, equation);
    if (!operand)
      return false;
    node.operands.push_back(std::move(*operand));
  }
  node.kind = node.operands.size() == 1 ? NodeKind::Unary : NodeKind::Product;
  return true;
}

std::optional<Operand> TreeBuilder::addFactor(const FactorText &factor, Equation &equation) {
  if (!factor.product.empty())
    return addProduct(factor, equation);
  return std::move(equation.uses[static_cast<std::size_t>(equation.next++)]);
}

std::optional<Operand> TreeBuilder::addProduct(const FactorText &factor, Equation &equation) {
  Node node;
  node.kind = NodeKind::Product;
  node.where = factor.where;
  int begin = equation.next;
  for (const FactorText &inner : factor.product) {
    std::optional<Operand> operand = addFactor(inner, equation);
    if (!operand)
      return std::nullopt;
    node.operands.push_back(std::move(*operand));
  }
  llvm::DenseMap<DimId, bool> seen;
  for (const Operand &operand : node.operands)
    for (DimId dim : operand.dims) {
      const Occurrence &occurrence = equation.occurrences[dim];
      bool isNeededOutside = occurrence.first < begin || occurrence.last >= equation.next;
      if (isNeededOutside && seen.try_emplace(dim, true).second)
        node.dims.push_back(dim);
    }
  if (!checkShape("the product in these parentheses", node.dims, dims, node.where, diagnostics))
    return std::nullopt;
  node.name = productName(equation);
  std::vector<DimId> shape = node.dims;
  std::optional<NodeId> id = addNode(std::move(node), /*isWritten=*/false);
  return id ? std::optional(Operand{.node = *id, .dims = std::move(shape)}) : std::nullopt;
}

std::optional<NodeId> TreeBuilder::addNode(Node node, bool isWritten) {
  if (nodes.size() == kMaxTensors) {
    if (!isFull)
      diagnostics.error(node.where, "more than " + llvm::Twine(kMaxTensors) + " tensors in a text");
    isFull = true;
    return std::nullopt;
  }
  nodes.push_back(std::move(node));
  writtenNodes.push_back(isWritten);
  return static_cast<NodeId>(nodes.size() - 1);
}

/// `Y_1`, `Y_2`, ...: as uniqueName, which would try all of them again for each.
std::string TreeBuilder::productName(Equation &equation) {
  std::string name;
  do
    name = (equation.name + "_" + llvm::Twine(++equation.products)).str();
  while (!taken.insert(name).second);
  return name;
}

void TreeBuilder::findOutput() {
  if (llvm::any_of(nodes, [](const Node &node) { return node.isOutput; }))
    return;
  for (const Node &node : llvm::reverse(nodes))
    if (node.kind != NodeKind::Input) {
      diagnostics.error(node.where,
                        "nothing is output; write 'output' before the tensor that is wanted");
      return;
    }
  diagnostics.error(llvm::SMLoc::getFromPointer(text.end()), "nothing is output");
}

} // namespace

std::optional<Tree> readEin(llvm::StringRef text, Diagnostics &diagnostics) {
  return TreeBuilder(text, diagnostics).build();
}

} // namespace einsumc
