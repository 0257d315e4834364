//===- einsumc.h - everything an emitted program includes -------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_EINSUMC_H
#define EINSUMC_EINSUMC_H

#include "einsumc/BlockKernel.h"
#include "einsumc/Communicator.h"
#include "einsumc/Error.h"
#include "einsumc/Exchange.h"
#include "einsumc/FetchingKernel.h"
#include "einsumc/Layout.h"
#include "einsumc/Program.h"
#include "einsumc/ReorderingKernel.h"
#include "einsumc/SharedStorage.h"
#include "einsumc/Slices.h"
#include "einsumc/SteppingLoop.h"
#include "einsumc/StridedCopy.h"
#include "einsumc/TeamTasks.h"
#include "einsumc/Tensor.h"
#include "einsumc/TileKernel.h"
#include "einsumc/Trace.h"

#endif // EINSUMC_EINSUMC_H
