/* SPDX-License-Identifier: MIT */
/* On which numbers the time of a function or a loop depends: those that its loops' trip counts come
 * from. They are traced back, through arithmetic, to arguments, to fields that are loaded through
 * arguments, and to variables of the program; for a loop, to what is known in front of it. What is
 * constant gives none. */
#ifndef SPEX_COMPILER_SOURCES_H
#define SPEX_COMPILER_SOURCES_H

#include <map>
#include <set>

#include <llvm/IR/PassManager.h>

#include "compiler/trace.h"

namespace spex {

/* What is known about a loop's trip count where the loop is entered. */
enum class Known { constant, exact, bound, numbers, nothing };
const char *known_text(Known known);

/* The analysis of a module. */
class Dependences {
  public:
    explicit Dependences(llvm::FunctionAnalysisManager &analyses) : analyses(analyses) {
    }

    /* The numbers that the function's time depends on. Where no number is known before, loops of
     * which nothing is known are counted. */
    Sources of_function(llvm::Function &function);

    /* Those of an outermost loop, in the same way; the loop itself is counted in any case. */
    Sources of_loop(llvm::Loop &loop, Known &known);

  private:
    llvm::FunctionAnalysisManager &analyses;
    /* Of functions that are called: those that begin at arguments and variables. */
    std::map<llvm::Function *, Sources> summaries;
    /* Functions that are being looked at: they have none here, which ends recursion. */
    std::set<llvm::Function *> under_way;

    const Sources &summary(llvm::Function &function);
};

} // namespace spex

#endif
