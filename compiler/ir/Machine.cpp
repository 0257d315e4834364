//===- Machine.cpp - reading and printing machine files ---------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/ir/Machine.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace einsumc {

void print(const Machine &machine, llvm::raw_ostream &stream) {
  llvm::json::OStream json(stream, 2);
  json.object([&] {
    json.attributeArray("alpha", [&] {
      json.value(machine.withinNode.alpha);
      json.value(machine.betweenNodes.alpha);
    });
    json.attributeArray("beta", [&] {
      json.value(machine.withinNode.beta);
      json.value(machine.betweenNodes.beta);
    });
    json.attributeObject("flops", [&] {
      json.attribute("f32", machine.flopsF32);
      json.attribute("f64", machine.flopsF64);
    });
    json.attribute("memory_bandwidth", machine.memoryBandwidth);
    json.attribute("memory", machine.memory);
    json.attribute("ranks_per_node", machine.ranksPerNode);
    json.attribute("topology", machine.topology);
  });
  stream << "\n";
}

namespace {

/// Whether the text is `full`, `ring`, `torus:` extents joined by x, or `fattree:` a number.
bool isTopology(llvm::StringRef text) {
  auto isCount = [](llvm::StringRef number) {
    int64_t value = 0;
    return !number.getAsInteger(10, value) && value >= 1;
  };
  if (text == "full" || text == "ring")
    return true;
  if (text.consume_front("fattree:"))
    return isCount(text);
  if (!text.consume_front("torus:"))
    return false;
  llvm::SmallVector<llvm::StringRef> extents;
  text.split(extents, 'x');
  return llvm::all_of(extents, isCount);
}

class Reader {
public:
  Reader(llvm::StringRef text, Diagnostics &diagnostics) : text(text), diagnostics(diagnostics) {}

  std::optional<Machine> read() {
    llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
    if (!value) {
      reportSyntax(value.takeError());
      return std::nullopt;
    }
    const llvm::json::Object *object = value->getAsObject();
    if (!object) {
      error("", "a machine file holds one JSON object");
      return std::nullopt;
    }
    for (const auto &[key, member] : *object)
      readMember(key, member);
    if (failed)
      return std::nullopt;
    return machine;
  }

private:
  void readMember(llvm::StringRef key, const llvm::json::Value &value) {
    if (key == "alpha")
      readPair(key, value, machine.withinNode.alpha, machine.betweenNodes.alpha);
    else if (key == "beta")
      readPair(key, value, machine.withinNode.beta, machine.betweenNodes.beta);
    else if (key == "flops")
      readFlops(value);
    else if (key == "memory_bandwidth")
      readPositive(key, value, machine.memoryBandwidth);
    else if (key == "memory")
      readCount(key, value, machine.memory);
    else if (key == "ranks_per_node")
      readCount(key, value, machine.ranksPerNode);
    else if (key == "topology")
      readTopology(value);
    else if (key != "comment")
      error(key, "unknown member '" + key.str() + "' of a machine file");
  }

  void readPositive(llvm::StringRef key, const llvm::json::Value &value, double &target) {
    const std::optional<double> number = value.getAsNumber();
    if (!number || !std::isfinite(*number) || *number < 0 ||
        (*number == 0 && !key.starts_with("alpha") && !key.starts_with("beta")))
      return error(key, "'" + key.str() + "' must be a positive number");
    target = *number;
  }

  void readPair(llvm::StringRef key, const llvm::json::Value &value, double &within,
                double &between) {
    const llvm::json::Array *pair = value.getAsArray();
    if (!pair) {
      readPositive(key, value, within);
      between = within;
    } else if (pair->size() == 2) {
      readPositive(key, (*pair)[0], within);
      readPositive(key, (*pair)[1], between);
    } else {
      error(key, "'" + key.str() + "' takes one number, or two: within a node, between nodes");
    }
  }

  void readFlops(const llvm::json::Value &value) {
    const llvm::json::Object *rates = value.getAsObject();
    if (!rates) {
      readPositive("flops", value, machine.flopsF32);
      machine.flopsF64 = machine.flopsF32 / 2;
      return;
    }
    for (const auto &[type, rate] : *rates) {
      const std::optional<ElementType> element = elementTypeFromName(type);
      if (element)
        readPositive("flops", rate,
                     *element == ElementType::F32 ? machine.flopsF32 : machine.flopsF64);
      else
        error(type.str(), "unknown element type '" + type.str() + "' in 'flops'");
    }
  }

  void readCount(llvm::StringRef key, const llvm::json::Value &value, int64_t &target) {
    const std::optional<int64_t> number = value.getAsInteger();
    if (!number || *number < 1)
      return error(key, "'" + key.str() + "' must be a whole number of at least 1");
    target = *number;
  }

  void readTopology(const llvm::json::Value &value) {
    const std::optional<llvm::StringRef> name = value.getAsString();
    if (!name || !isTopology(*name))
      return error("topology", "'topology' must be full, ring, torus:AxBxC or fattree:K");
    machine.topology = name->str();
  }

  /// JSON values carry no place: points at the first appearance of the member's name.
  void error(llvm::StringRef key, const std::string &message) {
    failed = true;
    const std::size_t found = key.empty() ? 0 : text.find(("\"" + key + "\"").str());
    diagnostics.error(
        llvm::SMLoc::getFromPointer(text.data() + (found == llvm::StringRef::npos ? 0 : found)),
        message);
  }

  void reportSyntax(llvm::Error failure) {
    llvm::handleAllErrors(std::move(failure), [&](const llvm::json::ParseError &problem) {
      // The text of a ParseError is "[line:column, byte=offset]: what".
      const std::string message = problem.message();
      llvm::StringRef what = message;
      unsigned long long offset = 0;
      if (const std::size_t byte = what.find("byte="); byte != llvm::StringRef::npos) {
        llvm::StringRef digits = what.drop_front(byte + 5);
        if (!digits.consumeInteger(10, offset) && digits.consume_front("]: "))
          what = digits;
      }
      diagnostics.error(llvm::SMLoc::getFromPointer(
                            text.data() + std::min<unsigned long long>(offset, text.size())),
                        what);
    });
  }

  llvm::StringRef text;
  Diagnostics &diagnostics;
  Machine machine;
  bool failed = false;
};

} // namespace

std::optional<Machine> readMachine(llvm::StringRef text, Diagnostics &diagnostics) {
  return Reader(text, diagnostics).read();
}

} // namespace einsumc
