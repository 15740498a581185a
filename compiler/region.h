/* SPDX-License-Identifier: MIT */
/* Makes a function a region (spex/region.h): of its code there are a fast and a slow copy, and one of
 * them is chosen where the function begins. Probes stand in the slow one alone. */
#ifndef SPEX_COMPILER_REGION_H
#define SPEX_COMPILER_REGION_H

#include <set>
#include <string>
#include <vector>

#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

#include "compiler/sites.h"

namespace spex {

/* What of a function has probes. */
struct Probed {
    /* All of it. */
    bool whole;
    std::vector<llvm::Loop *> loops;
};

/* The most probes that are executed on a way through the function. */
unsigned region_weight(llvm::Function &function, const Probed &probed);

/* Why the function cannot be a region; null: it can. */
const char *region_refusal(const llvm::Function &function, const llvm::LoopInfo &loops,
                           const llvm::TargetLibraryInfo &library);

/* The number of a function's region: the same in all objects, and none that another one of the module has
 * taken. Regions of a program that have one number share a period, so that numbers are spread. */
uint16_t region_id(const std::string &file, const std::string &name, std::set<uint16_t> &taken);

class Region {
  public:
    /* Copies the function; the blocks of the shape are the slow copy. Probes are placed in it, from
     * `slow` on, and then `finish` adds the fast copy and the choice. `first`: the instruction behind
     * the function's allocas. */
    Region(llvm::Function &function, Shape shape, const Probed &probed, const RegionSite &site,
           llvm::Instruction *first);
    void finish(llvm::AssumptionCache &assumptions);

    /* The first block of the slow copy. */
    llvm::BasicBlock *slow;
    /* The pass, on the stack. */
    llvm::AllocaInst *pass;
    const RegionSite about;

  private:
    llvm::Function &function;
    /* Executions in the fast copy: a register in the end. */
    llvm::AllocaInst *sum;
    llvm::ValueToValueMapTy copies;
    std::vector<llvm::BasicBlock *> fast;
    /* Those of them at whose end a loop with a probe begins. */
    std::vector<llvm::BasicBlock *> begins;

    void copy();
    llvm::Value *at(llvm::IRBuilder<> &builder, size_t offset, llvm::Type *type);
    void choose();
    void leave_slow();
    void leave_fast(llvm::Instruction *end);
};

} // namespace spex

#endif
