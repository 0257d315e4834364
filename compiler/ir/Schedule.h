//===- Schedule.h - how the work and data of a tree lie on the ranks --------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_IR_SCHEDULE_H
#define EINSUMC_IR_SCHEDULE_H

#include "compiler/ir/Slices.h"
#include "compiler/ir/Tree.h"

#include "einsumc/Layout.h"
#include "einsumc/Stepping.h"

#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace einsumc {

/// How a tensor lies on a grid: a Layout without the extents, which are the tensor's.
struct Placement {
  Grid grid;
  std::vector<AxisPlacement> axes; ///< one an axis of the grid
  bool operator==(const Placement &) const = default;
};

/// The part that a tensor plays in a node C = A * B (or C = A).
enum class Role : uint8_t { A, B, C };

/// The class of a dim of a node, by the tensors that have it. A unary node's kept dims are of
/// class C, its summed dims of class K.
enum class DimClass : uint8_t { C, M, N, K };

/// How a traveller moves along its axis while a node runs.
enum class Movement : uint8_t {
  None,   ///< stays as it is stored
  Ring,   ///< chunks rotate, one step ahead of the compute
  Bcast,  ///< the owner of each chunk broadcasts it, one step ahead of the compute
  Gather, ///< A, B: collected before the compute; C: added up after it
  Get,    ///< chunks are fetched one-sided, one step ahead; C: accumulated
  /// Not the traveller, which is copied, but the tensors that have the loop dim lie at the root and
  /// go, a part at a time, to the rank that computes with them; parts of C come back.
  Stream,
};

/// Whether what moves does so while the node computes: in the node's stepping loop.
bool isStepping(Movement movement);

/// One axis of a node's grid: the dim that it cuts the work along, and what its traveller does.
struct AxisSchedule {
  /// The loop dim; none when all ranks of the axis do the same work.
  std::optional<DimId> loopDim;
  /// How the traveller is stored along the axis, before the node (A, B) or after it (C). Copy and
  /// Split (of a position of the traveller, level 1: within the block that the work needs) for A
  /// and B; C may also stay Partial or end at the Root. With Stream: Root, of what streams.
  /// Meaningless without a traveller else.
  AxisPlacement storage;
  Movement movement = Movement::None;
  /// Parts that a chunk moves in; at least 1.
  int64_t pace = 1;
  bool operator==(const AxisSchedule &) const = default;
};

/// How one unary or contraction runs.
struct NodeSchedule {
  Grid grid;
  std::vector<AxisSchedule> axes; ///< one an axis of the grid
  bool operator==(const NodeSchedule &) const = default;
};

/// What the planner decides and the code generator emits. Vectors are indexed by NodeId. All but
/// the slices is about one slice: the tree that goes with a schedule is the one that `slicedTree`
/// makes.
struct Schedule {
  int64_t ranks = 1;
  Slices slices;
  std::vector<Placement> inputs;   ///< of inputs: where their data is read to
  std::vector<NodeSchedule> nodes; ///< of unary nodes and contractions
  /// Of outputs that a node leaves elsewhere than wanted: where they are moved to at the end.
  std::vector<std::optional<Placement>> finals;
  bool operator==(const Schedule &) const = default;
};

llvm::StringRef name(Movement movement);
llvm::StringRef name(Role role);

/// The class of a dim in a node. \pre the node's computation iterates over the dim
DimClass classOf(const Tree &tree, NodeId node, DimId dim);
/// The operand or result that lacks a dim of the class and so travels along its axis.
std::optional<Role> travellerOf(DimClass dimClass);
/// The dims that a node gives to the positions of the tensor in a role.
const std::vector<DimId> &dimsOf(const Tree &tree, NodeId node, Role role);
/// The tensor in a role of a node.
NodeId tensorOf(const Tree &tree, NodeId node, Role role);
/// The roles that a node has: A, C or A, B, C.
std::vector<Role> rolesOf(const Tree &tree, NodeId node);

/// The placement without differences that mean nothing: an axis of extent 1 is Copy, and levels
/// are 0 wherever the order of the axes gives the same cuts.
Placement normalised(Placement placement);

/// Whether some axis has that kind of placement.
bool has(const Placement &placement, AxisKind kind);
/// Bytes of a tensor that the first rank of a placement's grid stores, which has the largest block.
double blockBytes(const Tree &tree, NodeId tensor, const Placement &placement);

/// Where a node's operand must lie before it runs, or its result lies after it.
Placement storedPlacement(const Tree &tree, NodeId node, const NodeSchedule &schedule, Role role);
/// What a rank has of a role's tensor when it begins to compute (A, B) or has computed (C): as
/// stored, but a gathered A or B is whole along its axis, and a C that is added up after is
/// Partial.
Placement workPlacement(const Tree &tree, NodeId node, const NodeSchedule &schedule, Role role);
/// The placement that a pin asks for, on all ranks.
std::optional<Placement> pinnedPlacement(const Pin &pin, int64_t ranks);
/// Where a node's tensor lies once it exists (inputs: read; others: computed), before any move.
Placement homePlacement(const Tree &tree, const Schedule &schedule, NodeId node);
/// A placement of a tensor of the tree as the layout of its elements.
Layout layoutOf(const Tree &tree, NodeId tensor, const Placement &placement);
/// The node's work as a layout over its iteration dims (Tree::iterationDims): cut along the loop
/// dims, copied along axes without one.
Layout workLayout(const Tree &tree, NodeId node, const NodeSchedule &schedule);
/// The extents of what the first rank of the grid computes, which has the most, by iteration dim.
std::vector<int64_t> workExtents(const Tree &tree, NodeId node, const NodeSchedule &schedule);

/// Whether a node reads a tensor once and is the last that does, and nobody else wants it.
bool isReadLast(const Tree &tree, NodeId node, NodeId tensor);
/// The stepping loop of a node: its work and the travellers that move in it; none if nothing does.
/// \pre checkNodeSchedule finds nothing
std::optional<Stepping> steppingOf(const Tree &tree, NodeId node, const NodeSchedule &schedule);

/// Whether the tensor in a role moves in the loop, if there is one.
bool travels(const std::optional<Stepping> &stepping, Role role);

/// The rule of the model that a node's schedule breaks, in words; empty if it is valid.
std::string checkNodeSchedule(const Tree &tree, NodeId node, const NodeSchedule &schedule,
                              int64_t ranks);
/// The same for a placement of a tensor. \param allowPartial for results only.
std::string checkPlacement(const Tree &tree, NodeId tensor, const Placement &placement,
                           int64_t ranks);

/// The published name of a node's schedule (design table): `local`, `dist_c`, `tp1d`, ...;
/// `custom` for a point without a name.
std::string algorithmName(const Tree &tree, NodeId node, const NodeSchedule &schedule);

/// `[4,2]`, or `[4,2]@8` for a grid whose first rank is not 0.
std::string gridText(const Grid &grid);
/// `[4,2] S(m),B`
std::string placementText(const Tree &tree, NodeId tensor, const Placement &placement);
/// `[4,2] m(B=S(n) gather),k(C=P)`
std::string nodeScheduleText(const Tree &tree, NodeId node, const NodeSchedule &schedule);
/// Prints the plan, one line a node, with the orders of intermediates; `readPlan` reads an equal
/// schedule back, for the tree before it was sliced or for any other that `reordered` makes of it.
void print(const Tree &tree, const Schedule &schedule, llvm::raw_ostream &stream);

} // namespace einsumc

#endif // EINSUMC_IR_SCHEDULE_H
