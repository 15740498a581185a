/* SPDX-License-Identifier: MIT */
/* Puts probes around functions and loops: BEGIN where they are entered, END wherever they are left, by
 * a return, a jump or an exception. */
#ifndef SPEX_COMPILER_PLACE_H
#define SPEX_COMPILER_PLACE_H

#include <vector>

#include "compiler/parameters.h"

namespace spex {

/* Why no probe can stand in a function, or around it, or around a loop; null: it can. */
const char *refusal_inside(const llvm::Function &function);
const char *refusal_around(const llvm::Function &function);
const char *refusal_of_loop(const llvm::Loop &loop);

/* The instruction behind the function's allocas, which are gathered in front of it. */
llvm::Instruction *behind_allocas(llvm::Function &function);

/* The probes of one function. Those of loops are placed first, and then the function's; `finish` does
 * what is left for exceptions. */
class Placer {
  public:
    /* `begin`: the block with which the function's code begins, where that is not the first. */
    Placer(llvm::Function &function, Shape shape, llvm::ScalarEvolution &evolution,
           llvm::BasicBlock *begin);

    void around_loop(llvm::Loop &loop, const Probe &probe,
                     const std::vector<Parameter> &parameters);
    void around_function(const Probe &probe, const std::vector<Parameter> &parameters);
    void finish();

  private:
    struct Left {
        Placed placed;
        std::vector<llvm::CallInst *> calls;
    };

    llvm::Function &function;
    Shape shape;
    llvm::ScalarEvolution &evolution;
    llvm::BasicBlock *begin;
    /* Loops of a function are executed one after the other, so that they share their variables. */
    Frame loop_frame = {};
    Counters counters;
    /* Loops, and the calls in them by which an exception may leave them. */
    std::vector<Left> loops;
    bool is_around = false;
    Placed whole = {};

    void unwind(const Left &left);
};

} // namespace spex

#endif
