//===- Machine.cpp - reading and printing machine files ---------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/ir/Machine.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace einsumc {

namespace {

void printCaches(const std::vector<CacheLevel> &caches, llvm::json::OStream &json) {
  json.attributeArray("caches", [&] {
    for (const CacheLevel &level : caches)
      json.object([&] {
        json.attribute("bytes", level.bytes);
        json.attribute("bandwidth", level.bandwidth);
      });
  });
}

void printEfficiency(const KernelEfficiency &known, llvm::json::OStream &json) {
  json.attributeObject("kernel_efficiency", [&] {
    json.attribute("m_bytes", llvm::json::Array(known.mBytes));
    json.attribute("k", llvm::json::Array(known.k));
    json.attributeArray("table", [&] {
      for (const std::vector<double> &line : known.table)
        json.value(llvm::json::Array(line));
    });
  });
}

void printPack(const PackRates &pack, llvm::json::OStream &json) {
  auto copy = [&](const char *name, const CopyRate &rate) {
    json.attributeObject(name, [&] {
      json.attribute("rate", rate.rate);
      json.attribute("row", rate.row);
      json.attribute("memory_row", rate.memoryRow);
    });
  };
  json.attributeObject("pack", [&] {
    copy("contiguous", pack.contiguous);
    copy("transposed", pack.transposed);
    json.attribute("scattered", pack.scattered);
  });
}

} // namespace

const CacheLevel *Machine::lastFastCache() const {
  constexpr double kMuchFaster = 2;
  const auto last = std::find_if(caches.rbegin(), caches.rend(), [&](const CacheLevel &level) {
    return level.bandwidth >= kMuchFaster * memoryBandwidth;
  });
  return last == caches.rend() ? nullptr : &*last;
}

double KernelEfficiency::best() const {
  double most = 0;
  for (const std::vector<double> &line : table)
    for (const double share : line)
      most = std::max(most, share);
  return most;
}

void print(const Machine &machine, llvm::raw_ostream &stream) {
  llvm::json::OStream json(stream, 2);
  json.object([&] {
    if (!machine.comment.empty())
      json.attribute("comment", machine.comment);
    json.attributeArray("alpha", [&] {
      json.value(machine.withinNode.alpha);
      json.value(machine.betweenNodes.alpha);
    });
    json.attributeArray("beta", [&] {
      json.value(machine.withinNode.beta);
      json.value(machine.betweenNodes.beta);
    });
    json.attributeArray("message_load", [&] {
      json.value(machine.withinNode.load);
      json.value(machine.betweenNodes.load);
    });
    json.attributeObject("flops", [&] {
      json.attribute("f32", machine.flopsF32);
      json.attribute("f64", machine.flopsF64);
    });
    json.attribute("memory_bandwidth", machine.memoryBandwidth);
    json.attribute("memory", machine.memory);
    json.attribute("ranks_per_node", machine.ranksPerNode);
    json.attribute("threads", machine.threads);
    printCaches(machine.caches, json);
    json.attribute("vector_bytes", machine.vectorBytes);
    json.attribute("kernel_overhead", machine.kernelOverhead);
    printEfficiency(machine.kernelEfficiency, json);
    printPack(machine.pack, json);
    json.attribute("topology", machine.topology);
    json.attribute("input_copies", machine.inputCopies);
  });
  stream << "\n";
}

bool isTopology(llvm::StringRef text) {
  auto isCount = [](llvm::StringRef number) {
    int64_t value = 0;
    return !number.getAsInteger(10, value) && value >= 1;
  };
  if (text == "full" || text == "ring")
    return true;
  if (text.consume_front("fattree:")) {
    int64_t ports = 0; // Half of them go up.
    return !text.getAsInteger(10, ports) && ports >= 2 && ports % 2 == 0;
  }
  if (!text.consume_front("torus:"))
    return false;
  llvm::SmallVector<llvm::StringRef> extents;
  text.split(extents, 'x');
  return llvm::all_of(extents, isCount);
}

namespace {

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
      if (!readMember(key, member))
        error(key, "unknown member '" + key.str() + "' of a machine file");
    if (failed)
      return std::nullopt;
    return machine;
  }

private:
  /// Whether there is such a member.
  bool readMember(llvm::StringRef key, const llvm::json::Value &value) {
    if (key == "alpha")
      readPair(key, value, machine.withinNode.alpha, machine.betweenNodes.alpha);
    else if (key == "beta")
      readPair(key, value, machine.withinNode.beta, machine.betweenNodes.beta);
    else if (key == "message_load")
      readPair(key, value, machine.withinNode.load, machine.betweenNodes.load);
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
    else if (key == "input_copies")
      readNonNegative(key, value, machine.inputCopies);
    else if (key == "comment")
      readComment(value);
    else
      return readComputeMember(key, value);
    return true;
  }

  /// The members for the time that a rank computes.
  bool readComputeMember(llvm::StringRef key, const llvm::json::Value &value) {
    if (key == "threads")
      readCount(key, value, machine.threads);
    else if (key == "caches")
      readCaches(value);
    else if (key == "vector_bytes")
      readVectorBytes(value);
    else if (key == "kernel_overhead")
      readNonNegative(key, value, machine.kernelOverhead);
    else if (key == "kernel_efficiency")
      readEfficiency(value);
    else if (key == "pack")
      readPack(value);
    else
      return false;
    return true;
  }

  void readPositive(llvm::StringRef key, const llvm::json::Value &value, double &target) {
    const std::optional<double> number = value.getAsNumber();
    if (!number || !std::isfinite(*number) || *number <= 0)
      return error(key, "'" + key.str() + "' must be a positive number");
    target = *number;
  }

  void readNonNegative(llvm::StringRef key, const llvm::json::Value &value, double &target) {
    const std::optional<double> number = value.getAsNumber();
    if (!number || !std::isfinite(*number) || *number < 0)
      return error(key, "'" + key.str() + "' must be 0 or a positive number");
    target = *number;
  }

  void readPair(llvm::StringRef key, const llvm::json::Value &value, double &within,
                double &between) {
    const llvm::json::Array *pair = value.getAsArray();
    if (!pair) {
      readNonNegative(key, value, within);
      between = within;
    } else if (pair->size() == 2) {
      readNonNegative(key, (*pair)[0], within);
      readNonNegative(key, (*pair)[1], between);
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

  void readVectorBytes(const llvm::json::Value &value) {
    readCount("vector_bytes", value, machine.vectorBytes);
    const int64_t bytes = machine.vectorBytes;
    if (bytes < 8 || bytes > 256 || !llvm::isPowerOf2_64(static_cast<uint64_t>(bytes)))
      error("vector_bytes", "'vector_bytes' must be a power of two from 8 to 256");
  }

  void readTopology(const llvm::json::Value &value) {
    const std::optional<llvm::StringRef> name = value.getAsString();
    if (!name || !isTopology(*name))
      return error("topology", "'topology' must be full, ring, torus:AxBxC or fattree:K, K even");
    machine.topology = name->str();
  }

  void readComment(const llvm::json::Value &value) {
    const std::optional<llvm::StringRef> words = value.getAsString();
    if (!words)
      return error("comment", "'comment' must be text");
    machine.comment = words->str();
  }

  /// Calls `read(key, value)` for every member of an object; it returns whether it knows the key.
  template <class Read>
  void readObject(llvm::StringRef name, const llvm::json::Value &value,
                  llvm::ArrayRef<llvm::StringRef> members, Read read) {
    const llvm::json::Object *object = value.getAsObject();
    if (!object)
      return error(name, "'" + name.str() + "' must be an object with the members " +
                             llvm::join(members, ", "));
    for (const auto &[key, member] : *object)
      if (!llvm::is_contained(members, llvm::StringRef(key)))
        error(key, "unknown member '" + key.str() + "' of '" + name.str() + "'");
      else
        read(llvm::StringRef(key), member);
  }

  void readCaches(const llvm::json::Value &value) {
    const llvm::json::Array *levels = value.getAsArray();
    if (!levels)
      return error("caches", "'caches' must be a list of levels");
    machine.caches.clear();
    for (const llvm::json::Value &element : *levels) {
      CacheLevel level{0, 0};
      readObject("caches", element, {"bytes", "bandwidth"},
                 [&](llvm::StringRef key, const llvm::json::Value &member) {
                   if (key == "bytes")
                     readCount(key, member, level.bytes);
                   else
                     readPositive(key, member, level.bandwidth);
                 });
      const bool isLarger = machine.caches.empty() || level.bytes > machine.caches.back().bytes;
      if (level.bytes < 1 || !(level.bandwidth > 0) || !isLarger)
        return error("caches", "every level of 'caches' needs bytes, more than the one before, and "
                               "a bandwidth");
      machine.caches.push_back(level);
    }
  }

  /// An axis of the table: whole numbers that increase.
  void readAxis(llvm::StringRef key, const llvm::json::Value &value, std::vector<int64_t> &axis) {
    const llvm::json::Array *numbers = value.getAsArray();
    axis.clear();
    if (numbers)
      for (const llvm::json::Value &element : *numbers) {
        const int64_t number = element.getAsInteger().value_or(0);
        if (number <= (axis.empty() ? 0 : axis.back()))
          return error(key, "'" + key.str() + "' must list whole numbers that increase");
        axis.push_back(number);
      }
    if (axis.empty())
      error(key, "'" + key.str() + "' must list whole numbers that increase");
  }

  void readShares(const llvm::json::Value &value, std::vector<std::vector<double>> &table) {
    table.clear();
    const llvm::json::Array *lines = value.getAsArray();
    if (!lines)
      return;
    for (const llvm::json::Value &line : *lines) {
      table.emplace_back();
      if (const llvm::json::Array *shares = line.getAsArray())
        for (const llvm::json::Value &share : *shares)
          table.back().push_back(share.getAsNumber().value_or(0));
    }
  }

  void readEfficiency(const llvm::json::Value &value) {
    KernelEfficiency known;
    readObject("kernel_efficiency", value, {"m_bytes", "k", "table"},
               [&](llvm::StringRef key, const llvm::json::Value &member) {
                 if (key == "table")
                   readShares(member, known.table);
                 else
                   readAxis(key, member, key == "k" ? known.k : known.mBytes);
               });
    const bool isFilled =
        !known.table.empty() && known.table.size() == known.mBytes.size() &&
        llvm::all_of(known.table, [&](const std::vector<double> &line) {
          return line.size() == known.k.size() &&
                 llvm::all_of(line, [](double share) { return share > 0 && share <= 1; });
        });
    if (!isFilled)
      return error("kernel_efficiency",
                   "the table of 'kernel_efficiency' needs a line an entry of 'm_bytes', each with "
                   "a share above 0, at most 1, an entry of 'k'");
    machine.kernelEfficiency = std::move(known);
  }

  void readPack(const llvm::json::Value &value) {
    readObject("pack", value, {"contiguous", "transposed", "scattered"},
               [&](llvm::StringRef key, const llvm::json::Value &member) {
                 if (key == "scattered")
                   readPositive(key, member, machine.pack.scattered);
                 else
                   readCopy(key, member,
                            key == "contiguous" ? machine.pack.contiguous
                                                : machine.pack.transposed);
               });
  }

  void readCopy(llvm::StringRef name, const llvm::json::Value &value, CopyRate &copy) {
    readObject(name, value, {"rate", "row", "memory_row"},
               [&](llvm::StringRef key, const llvm::json::Value &member) {
                 if (key == "rate")
                   readPositive(key, member, copy.rate);
                 else
                   readNonNegative(key, member, key == "row" ? copy.row : copy.memoryRow);
               });
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
