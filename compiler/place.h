/* SPDX-License-Identifier: MIT */
/* Puts probes around functions and loops: BEGIN where they are entered, END wherever they are left, by
 * a return, a jump or an exception. */
#ifndef SPEX_COMPILER_PLACE_H
#define SPEX_COMPILER_PLACE_H

#include <vector>

#include "compiler/parameters.h"

#include <llvm/Analysis/TargetLibraryInfo.h>

namespace spex {

/* Why no probe can stand in a function, or around it, or around a loop; null: it can. */
const char *refusal_inside(const llvm::Function &function);
const char *refusal_around(const llvm::Function &function);
const char *refusal_of_loop(const llvm::Loop &loop);

/* Whether what is called executes no probe: an intrinsic, a function of C's library that reads and
 * writes memory, or one of the module that `quiet_mark` has marked. */
bool is_quiet(const llvm::CallBase &call, const llvm::TargetLibraryInfo &library);

/* Marks a function that has no probe, and calls none that may have. */
void quiet_mark(llvm::Function &function, const llvm::TargetLibraryInfo &library);

/* The instruction behind the function's allocas, which are gathered in front of it. */
llvm::Instruction *behind_allocas(llvm::Function &function);

/* The probes of one function. Those of loops are placed first, and then the function's; `finish` does
 * what is left for exceptions. */
class Placer {
  public:
    /* `begin`: the block with which the function's code begins, where that is not the first. */
    Placer(llvm::Function &function, Shape shape, llvm::ScalarEvolution &evolution,
           const llvm::TargetLibraryInfo &library, llvm::BasicBlock *begin);

    void around_loop(llvm::Loop &loop, Probe probe, const std::vector<Parameter> &parameters);
    void around_function(Probe probe, const std::vector<Parameter> &parameters);
    void finish();

  private:
    struct Left {
        Placed placed;
        /* By which an exception may leave it. */
        std::vector<llvm::CallInst *> calls;
        /* That may execute probes. */
        std::vector<llvm::Instruction *> reaching;
    };

    llvm::Function &function;
    Shape shape;
    llvm::ScalarEvolution &evolution;
    const llvm::TargetLibraryInfo &library;
    llvm::BasicBlock *begin;
    /* Loops of a function are executed one after the other, so that they share their variables. */
    llvm::AllocaInst *loop_frame = nullptr;
    Counters counters;
    std::vector<Left> loops;
    bool is_around = false;
    Left whole = {};

    std::vector<llvm::Instruction *> reaching(const llvm::BasicBlock &block) const;
    void contexts_enter();
    void unwind(const Left &left);
};

} // namespace spex

#endif
