/* SPDX-License-Identifier: MIT */
/* Names of probes and parameters, from the source where the module has debug information. */
#ifndef SPEX_COMPILER_NAMES_H
#define SPEX_COMPILER_NAMES_H

#include <string>

#include <llvm/IR/Function.h>

#include "compiler/sources.h"

namespace spex {

/* As SPEX_FUNCTIONS has it: that of C++ without arguments, with "." in place of "::". */
std::string function_name(const llvm::Function &function);

/* The source file and line of a function, or of a place in one. */
std::string file_name(const llvm::Function &function, const llvm::DILocation *place);
unsigned line_number(const llvm::Function &function, const llvm::DILocation *place);

/* What the source calls a number: `n`, `rows->count`; `max(n)` where it is a bound. */
std::string source_name(const Source &source);

/* Whether the number is signed, as far as is known. */
bool source_is_signed(const Source &source);

} // namespace spex

#endif
