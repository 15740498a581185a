/* SPDX-License-Identifier: MIT */
/* Traces a value back to the numbers that it was made of. */
#ifndef SPEX_COMPILER_TRACE_H
#define SPEX_COMPILER_TRACE_H

#include <llvm/ADT/SmallPtrSet.h>

#include <vector>

#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>

namespace spex {

/* A number. */
struct Source {
    /* An argument, a variable of the program, or a value of the function. */
    llvm::Value *base = nullptr;
    /* What is loaded: at base + path[0], then at what was loaded + path[1], and so on; empty: the
     * base itself is the number. */
    llvm::SmallVector<int64_t, 2> path;
    /* The type of the number. */
    llvm::Type *type = nullptr;
    /* With a path: the load, or a call that loads it. */
    llvm::Instruction *at = nullptr;
    /* Where `at` is executed, the number is loaded. */
    bool loads = false;
    /* The load is good wherever the function begins, or the loop. */
    bool sure = false;
    /* Not the number itself is known, but a count that is calculated in front of the loop. */
    const llvm::SCEV *count = nullptr;
    const llvm::Loop *loop = nullptr;
    /* Nothing is known of the loop before: how often it executes is counted while it does. */
    bool counted = false;
    /* A loop executes at most so often, and may end earlier. */
    bool bound = false;
    /* Loops around what depends on it. */
    unsigned depth = 0;

    bool same(const Source &other) const {
        return base == other.base && path == other.path && count == other.count &&
               counted == other.counted && (!counted || loop == other.loop);
    }
};

struct Sources {
    std::vector<Source> items;

    void add(const Source &source);
};

/* Whether an instruction is executed whenever `block` is entered, before anything that may end or
 * leave the function. */
bool is_surely_executed(const llvm::Instruction *instruction, const llvm::BasicBlock *block);

/* The part of the program that is looked at: a function, or an outermost loop of it. */
struct Scope {
    llvm::Function &function;
    const llvm::Loop *loop;
    const llvm::LoopInfo &loops;
    llvm::ScalarEvolution &evolution;

    /* Whether a value is known before the scope begins. */
    bool is_outside(const llvm::Value *value) const;
};

/* Where a pointer points to: `offset` bytes behind what is loaded along the path. */
struct Pointee {
    llvm::Value *base = nullptr;
    llvm::SmallVector<int64_t, 2> path;
    int64_t offset = 0;
};

bool pointee_find(const Scope &scope, llvm::Value *pointer, Pointee &pointee);

/* Marks a source as sure where what it loads is there whenever the scope begins. */
void source_check(const Scope &scope, Source &source);

class Trace {
  public:
    explicit Trace(const Scope &scope) : scope(scope) {
    }

    /* False: a part of the value has another origin. What was found until then is in `found`. */
    bool value(llvm::Value *value);

    Sources found;
    /* A variable of a loop was met, which each iteration changes. */
    bool has_recurrence = false;

  private:
    const Scope &scope;
    llvm::SmallPtrSet<const llvm::Value *, 16> seen;

    bool load(llvm::LoadInst &load);
    bool operands(llvm::Instruction &instruction);
    bool outside(llvm::Value *value);
};

} // namespace spex

#endif
