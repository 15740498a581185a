/* SPDX-License-Identifier: MIT */
/* Sites of probes in a module, as the macros of <spex/probe.h> leave them (spex/site.h), and the code
 * that looks at a site and calls the library. */
#ifndef SPEX_COMPILER_SITES_H
#define SPEX_COMPILER_SITES_H

#include <string>
#include <vector>

#include "compiler/list.h"
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>

namespace llvm {
class LoopInfo;
}

namespace spex {

/* When an execution of a kernel that makes no record enters its context: only where others can be in
 * it. `lazily`: where `context_enter` stands. */
enum class Enters { never, lazily, at_once };

/* What the site of a probe says. */
struct Probe {
    Kind kind;
    std::string name;
    std::string file;
    unsigned line;
    /* Names of parameters, and whether they are signed. */
    std::vector<std::pair<std::string, bool>> parameters;
    /* The region that it stands in, and the pass through it; 0: none. */
    uint16_t region = 0;
    llvm::Value *pass = nullptr;
    Enters enters = Enters::at_once;
};

/* What the site of a region says. */
struct RegionSite {
    uint16_t id;
    unsigned weight;
    std::string file;
    unsigned line;
};

/* A probe that has been placed. */
struct Placed {
    llvm::GlobalVariable *site;
    /* struct spex_compiled, on the stack. */
    llvm::AllocaInst *frame;
    /* Where values of parameters that are known at BEGIN are stored: in front of the call. */
    llvm::Instruction *call = nullptr;
    /* Where code of this object counts executions and may enter the context; null: nowhere. */
    llvm::Instruction *counted = nullptr;
    bool is_kernel = false;
    Enters enters = Enters::at_once;
};

/* Code is inserted with these up to date. */
struct Shape {
    llvm::DominatorTree *tree;
    llvm::LoopInfo *loops;
};

/* A function that executes no probe. */
constexpr const char *quiet_attribute = "spex-quiet";

/* Whether probes can be put into the module; otherwise `why`. */
bool sites_possible(const llvm::Module &module, std::string &why);

/* Room for a probe's frame, at the begin of the function. */
llvm::AllocaInst *frame_make(llvm::Function &function);

/* BEGIN in front of an instruction, END likewise. */
Placed probe_begin(const Probe &probe, llvm::AllocaInst *frame, llvm::Instruction *before,
                   Shape shape);
void probe_end(const Placed &placed, llvm::Instruction *before, Shape shape);

/* In front of an instruction: enters the context of an execution that has not done so. `is_seldom`: the
 * instruction is executed seldom. */
void context_enter(const Placed &placed, bool is_seldom, llvm::Instruction *before, Shape shape);

/* The end of a new block in front of an instruction, which is executed where a record may be made. */
llvm::Instruction *if_recorded(const Placed &placed, llvm::Instruction *before, Shape shape);

/* The functions of the library that regions call. */
enum class Callee { enter, leave };
llvm::CallInst *library_call(llvm::IRBuilder<> &builder, Callee callee,
                             llvm::ArrayRef<llvm::Value *> values);
llvm::GlobalVariable *region_site_make(llvm::Function &function, const RegionSite &about);

/* The place in the source of code in front of an instruction. */
llvm::DebugLoc location(llvm::Instruction *before);

/* Marks an access to what is no memory of the program's. */
void no_sanitizer(llvm::Instruction *instruction);

/* The end of a new block in front of an instruction, which is executed seldom: where `condition`. */
llvm::Instruction *if_seldom(llvm::Value *condition, llvm::Instruction *before, Shape shape);

/* Stores a parameter's value in front of an instruction. */
void parameter_store(const Placed &placed, size_t number, llvm::Value *value, bool is_signed,
                     llvm::Instruction *before);

/* Adds a number of 64 bits to it. */
void parameter_add(const Placed &placed, size_t number, llvm::Value *value,
                   llvm::Instruction *before);

} // namespace spex

#endif
