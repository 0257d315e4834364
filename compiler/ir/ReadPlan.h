//===- ReadPlan.h - reads the text form of schedules ------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_IR_READPLAN_H
#define EINSUMC_IR_READPLAN_H

#include "compiler/ir/DimOrders.h"
#include "compiler/ir/Schedule.h"
#include "compiler/support/Diagnostics.h"

#include <map>
#include <optional>

namespace einsumc {

/// Those parts of a schedule that are already decided.
struct PartialSchedule {
  Slices slices;                        ///< what the other members say is about the sliced tree
  std::map<NodeId, NodeSchedule> nodes; ///< of unary nodes and contractions
  std::map<NodeId, Placement> inputs;
  std::map<NodeId, Placement> finals; ///< of outputs
  /// Of intermediates. Positions in the other members are those of the tree that the schedule was
  /// read for; `reordered` takes them to the tree with the orders.
  DimOrders orders;
};

/// Reads a plan as `print(tree, schedule)` writes it:
///
///   plan      := 'plan' 'ranks' '=' INT slices? line*
///   slices    := 'slice' DIM '=' INT (',' DIM '=' INT)*      the dims that it is sliced along
///   line      := NAME order? ':' grid axes          a node, or where an input lies
///              | 'final' NAME ':' grid axes         where an output ends
///   order     := '[' (DIM (',' DIM)*)? ']'          the tensor's dims as they are stored
///   grid      := '[' (INT (',' INT)*)? ']' ('@' INT)?
///   axes      := (axis (',' axis)*)?                one an axis of the grid
///   axis      := 'B' | 'P' | 'R' | 'S(' t ')' | 'S1(' t ')'         of a placement
///              | '-' | DIM ('(' ROLE '=' storage MOVEMENT? ('pace' '=' INT)? ')')?   of a node
///
/// where t is a dim of the tensor, or the number of a position of the sliced tree from 0. Lines,
/// and the orders of intermediates, may be left out: the planner then chooses. Reports whatever
/// does not fit the tree or breaks a rule of the model.
/// \param text as returned by `Diagnostics::addText`
/// \param tree as it is before it is sliced
/// \param ranks the number of ranks that the plan must be for
std::optional<PartialSchedule> readPlan(llvm::StringRef text, const Tree &tree, int64_t ranks,
                                        Diagnostics &diagnostics);

} // namespace einsumc

#endif // EINSUMC_IR_READPLAN_H
