/* SPDX-License-Identifier: MIT */
/* A kernel's parameters: of the numbers that its time depends on, those whose values can be told, when
 * and where. */
#ifndef SPEX_COMPILER_PARAMETERS_H
#define SPEX_COMPILER_PARAMETERS_H

#include <map>
#include <string>
#include <vector>

#include "compiler/sites.h"
#include "compiler/sources.h"

namespace spex {

/* begin: known where the kernel begins. Else it is told in front of `at`, or stored behind it, by the
 * program's way, or added where a loop is left, and is 0 before. */
enum class Told { begin, before, behind, left };

/* The variables that count how often loops execute, which probes of a function share. */
using Counters = std::map<const llvm::Loop *, llvm::PHINode *>;

struct Parameter {
    Source source;
    std::string name;
    bool is_signed;
    Told told;
    llvm::Instruction *at;
    /* Where it is counted: the loops of one line, of which there are copies. */
    std::vector<const llvm::Loop *> loops;
};

/* What a function or loop depends on, as parameters: at most as many as a kernel has, those first on
 * which the most deeply nested loops depend. `loop`: null for a function. */
std::vector<Parameter> parameters_choose(const Sources &sources, const llvm::Loop *loop,
                                         const llvm::LoopInfo &loops,
                                         llvm::ScalarEvolution &evolution);

/* Adds the code that gives them to a kernel that has been placed. */
void parameters_tell(const std::vector<Parameter> &parameters, const Placed &placed, Shape shape,
                     llvm::ScalarEvolution &evolution, Counters &counters);

} // namespace spex

#endif
