/* SPDX-License-Identifier: MIT */
/* From the arguments that programs write to those of the macros in enabled.h and disabled.h.
 * Indirect header: programs include spex/probe.h. */
#ifndef SPEX_DETAIL_ARGUMENTS_H
#define SPEX_DETAIL_ARGUMENTS_H

#include <spex/detail/site_asm.h>
#include <spex/detail/values.h>

/* Scopes. The variable's name has a number, __COUNTER__, so that scopes may be nested. Two macros,
 * because __COUNTER__ and the arguments must be expanded first. */
#define SPEX_SCOPE_AT_(number, kind, type, ...) SPEX_SCOPE_NAMED_(number, kind, type, __VA_ARGS__)
#define SPEX_SCOPE_NAMED_(number, kind, type, id, sc)                                              \
    SPEX_SCOPE_(spex_scope_##number##_needs_braces, kind, type, id, sc)
#define SPEX_COUNTER_SCOPE_AT_(number, kind, type, ...)                                            \
    SPEX_COUNTER_SCOPE_NAMED_(number, kind, type, __VA_ARGS__)
#define SPEX_COUNTER_SCOPE_NAMED_(number, kind, type, id, sc, pcid)                                \
    SPEX_COUNTER_SCOPE_(spex_scope_##number##_needs_braces, kind, type, id, sc, pcid)

/* BEGIN with a word for its name. The word may be a macro of the program, which must not be
 * expanded, and C11 has no "..." without arguments. So BEGIN has "..." alone, and makes two things
 * of it: `text`, the arguments as they stand there, of which the library takes the name; and the
 * arguments with the word as a part of the variable's name. */
#define SPEX_BEGIN_WORD_(kind, type, text, ...) SPEX_BEGIN_WORD_AS_(kind, type, text, __VA_ARGS__)
#define SPEX_BEGIN_WORD_AS_(kind, type, text, var, sc)                                             \
    SPEX_BEGIN_(var, kind, type, text, sc, SPEX_CHECK_WORD_(var, kind), text)
#define SPEX_COUNTER_BEGIN_WORD_(kind, type, text, ...)                                            \
    SPEX_COUNTER_BEGIN_WORD_AS_(kind, type, text, __VA_ARGS__)
#define SPEX_COUNTER_BEGIN_WORD_AS_(kind, type, text, var, sc, pcid)                               \
    SPEX_COUNTER_BEGIN_(var, kind, type, text, sc, pcid, SPEX_CHECK_WORD_(var, kind), text)

/* BEGIN with a number. */
#define SPEX_BEGIN_ID_(var, kind, type, id, sc)                                                    \
    SPEX_BEGIN_(var, kind, type, id, sc, SPEX_CHECK_ID_(id), "")
#define SPEX_COUNTER_BEGIN_ID_(var, kind, type, id, sc, pcid)                                      \
    SPEX_COUNTER_BEGIN_(var, kind, type, id, sc, pcid, SPEX_CHECK_ID_(id), "")

/* BEGIN of a SPAN. */
#define SPEX_SPAN_BEGIN_AT_(...) SPEX_SPAN_BEGIN_(__VA_ARGS__)

#endif
