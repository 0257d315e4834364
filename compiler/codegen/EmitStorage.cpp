//===- EmitStorage.cpp - the C++ of the tensors' memory ---------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/codegen/EmitStorage.h"

#include "compiler/codegen/EmitNode.h"
#include "compiler/support/Text.h"

#include <algorithm>

#include "llvm/ADT/STLExtras.h"

namespace einsumc {

namespace {

class TensorEmitter {
public:
  TensorEmitter(const Tree &tree, const LoweredProgram &program, llvm::raw_ostream &out)
      : tree(tree), program(program), storage(program.storage), out(out) {}

  void run() {
    out << "// Inputs have memory of their own.\n";
    forEach(false, [&](const TensorBuffer &buffer, BufferId id) {
      emitTensor(buffer,
                 "session.memory(), " + layoutName(buffer) + ", session.rank()" + useText({id}));
    });
    if (llvm::none_of(storage.places, [](const StoragePlace &p) { return p.isShared; }))
      return;
    out << "\n// Results and copies share storage: where they begin, in bytes. Two whose places "
           "overlap do not\n// live at the same time.\n";
    forEach(true, [&](const TensorBuffer &buffer, BufferId id) {
      out << "static constexpr std::size_t " << placeName(buffer) << " = " << place(id).offset
          << ";\n";
    });
    out << "ec::SharedStorage storage{session.memory(), session.rank(), sizeof(" << type()
        << "), {";
    const char *separator = "";
    forEach(true, [&](const TensorBuffer &buffer, BufferId) {
      if (buffer.isChunks())
        out << separator << "{nullptr, " << placeName(buffer) << ", " << buffer.chunkElements
            << "}";
      else
        out << separator << "{&" << layoutName(buffer) << ", " << placeName(buffer)
            << (buffer.slotElements > 0 ? ", " + std::to_string(buffer.slotElements) : "") << "}";
      separator = ", ";
    });
    std::vector<BufferId> shared;
    forEach(true, [&](const TensorBuffer &, BufferId id) { shared.push_back(id); });
    out << "}" << useText(shared) << "};\n\n";
    forEach(true, [&](const TensorBuffer &buffer, BufferId id) {
      if (buffer.isChunks())
        return;
      out << "/// Lives " << lifeText(tree, program, place(id).life) << sharersText(id) << ".\n";
      emitTensor(buffer, "storage, " + layoutName(buffer) + ", " + placeName(buffer));
    });
  }

private:
  /// What memory is for that holds the buffers, if some nodes' steps compute with what other ranks
  /// have there.
  std::string useText(llvm::ArrayRef<BufferId> buffers) const {
    std::vector<std::string> nodes;
    for (const LoweredNode &node : program.nodes)
      if (node.stepping && llvm::any_of(node.stepping->travellers, [&](const Traveller &of) {
            return canStayInPlace(*node.stepping, of) &&
                   llvm::is_contained(buffers, of.role == 2 ? node.result : node.operands[of.role]);
          }))
        nodes.push_back("&" + steppingName(tree, node.node));
    return nodes.empty() ? "" : ", session.memoryFor({" + join(nodes, ", ") + "})";
  }

  std::string type() const { return cppType(tree.elementType()); }
  const StoragePlace &place(BufferId id) const {
    return storage.places[static_cast<std::size_t>(id)];
  }

  template <class Visit> void forEach(bool isShared, Visit &&visit) {
    for (std::size_t b = 0; b < program.buffers.size(); ++b)
      if (storage.places[b].isShared == isShared)
        visit(program.buffers[b], static_cast<BufferId>(b));
  }

  void emitTensor(const TensorBuffer &buffer, const std::string &arguments) {
    out << "ec::Tensor<" << type() << "> " << tensorName(buffer) << "{" << arguments << "};\n";
  }

  /// `; its bytes before: tensor_A; after: tensor_B, tensor_C`
  std::string sharersText(BufferId id) const {
    std::vector<std::string> before, after;
    for (const BufferId other : storage.sharers(id))
      (place(other).life.first < place(id).life.first ? before : after)
          .push_back(tensorName(program.buffers[static_cast<std::size_t>(other)]));
    // In a long chain there are many: those nearest in time.
    constexpr std::size_t kMost = 3;
    std::string text = before.empty() && after.empty() ? "" : "; its bytes";
    if (!before.empty()) {
      const std::size_t left = before.size() - std::min(kMost, before.size());
      before.erase(before.begin(), before.begin() + static_cast<std::ptrdiff_t>(left));
      text += std::string(" before: ") + (left == 0 ? "" : "..., ") + join(before, ", ");
    }
    if (!after.empty()) {
      const bool isCut = after.size() > kMost;
      after.resize(std::min(kMost, after.size()));
      text += std::string(before.empty() ? "" : ";") + " after: " + join(after, ", ") +
              (isCut ? ", ..." : "");
    }
    return text;
  }

  const Tree &tree;
  const LoweredProgram &program;
  const Storage &storage;
  llvm::raw_ostream &out;
};

} // namespace

void emitTensors(const Tree &tree, const LoweredProgram &program, llvm::raw_ostream &out) {
  TensorEmitter(tree, program, out).run();
}

void emitReleases(const LoweredProgram &program, int step, llvm::raw_ostream &out) {
  for (const BufferId dead : program.storage.deadAfter(step)) {
    const TensorBuffer &buffer = program.buffers[static_cast<std::size_t>(dead)];
    if (!buffer.isChunks()) // A stepping loop leaves nothing there.
      out << "session.release(" << tensorName(buffer) << ");\n";
  }
}

} // namespace einsumc
