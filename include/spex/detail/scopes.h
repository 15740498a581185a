/* SPDX-License-Identifier: MIT */
/* Probes that end with their block. Indirect header: programs include spex/probe.h.
 *
 * A scope is a variable whose "cleanup" function is the probe's END. The compiler calls it wherever
 * the block is left, in C++ also by an exception. */
#ifndef SPEX_DETAIL_SCOPES_H
#define SPEX_DETAIL_SCOPES_H

#include <stdint.h>

#include <spex/detail/recording.h>
#include <spex/sdt.h>

/* The variable of a scope, which has what END needs. The probe's id is for USDT (SPEX_SDT). */
struct spex_scope {
    struct spex_site *site;
    struct spex_span span;
    uint16_t probe_id;
};

/* The same for LLC and PERFCNTR. The span is a variable beside it: it stays unwritten while the
 * site is off. */
struct spex_counter_scope {
    struct spex_site *site;
    struct spex_counter_span *span;
    uint32_t weight;
    uint16_t probe_id;
};

/* Defines the cleanup function of a type. The macros pass it by its name. */
#define SPEX_SCOPE_END_(kind)                                                                      \
    SPEX_INLINE void spex_##kind##_scope_end_(const struct spex_scope *scope) {                    \
        spex_##kind##_end_(scope->site, scope->span);                                              \
        SPEX_SDT_SCOPE_END_(kind, scope);                                                          \
    }
SPEX_SCOPE_END_(cnt)
SPEX_SCOPE_END_(lat)
SPEX_SCOPE_END_(tpt)
SPEX_SCOPE_END_(flt)
SPEX_SCOPE_END_(ctxsw)

/* The same for the types that read counters. */
#define SPEX_COUNTER_SCOPE_END_(kind)                                                              \
    SPEX_INLINE void spex_##kind##_scope_end_(const struct spex_counter_scope *scope) {            \
        spex_counter_end_(scope->site, scope->weight, scope->span);                                \
        SPEX_SDT_SCOPE_END_(kind, scope);                                                          \
    }
SPEX_COUNTER_SCOPE_END_(llc)
SPEX_COUNTER_SCOPE_END_(perfcntr)

/* The name of the variable: the number is __COUNTER__, so that scopes may be nested. Two macros,
 * because __COUNTER__ must be expanded before it becomes a part of the name. */
#define SPEX_SCOPE_AT_(number, kind, type, id, sc) SPEX_SCOPE_NAMED_(number, kind, type, id, sc)
#define SPEX_SCOPE_NAMED_(number, kind, type, id, sc)                                              \
    SPEX_SCOPE_(spex_scope_##number, kind, type, id, sc)
#define SPEX_COUNTER_SCOPE_AT_(number, kind, type, pcid, id, sc)                                   \
    SPEX_COUNTER_SCOPE_NAMED_(number, kind, type, pcid, id, sc)
#define SPEX_COUNTER_SCOPE_NAMED_(number, kind, type, pcid, id, sc)                                \
    SPEX_COUNTER_SCOPE_(spex_scope_##number, kind, type, pcid, id, sc)

#endif
