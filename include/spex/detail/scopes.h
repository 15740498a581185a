/* SPDX-License-Identifier: MIT */
/* Probes that end with their block. Indirect header: programs include spex/probe.h.
 *
 * A scope is a variable whose "cleanup" function is the probe's END. The compiler calls it wherever
 * the block is left, in C++ also by an exception. */
#ifndef SPEX_DETAIL_SCOPES_H
#define SPEX_DETAIL_SCOPES_H

#include <spex/detail/names_begin.h>

#include <stdint.h>

#include <spex/detail/recording.h>
#include <spex/sdt.h>

SPEX_HEADER_BEGIN_

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
    SPEX_INLINE void spex_##kind##scope_end_(const struct spex_scope *scope) {                     \
        spex_##kind##end_(scope->site, scope->span);                                               \
        SPEX_SDT_SCOPE_END_(kind, scope);                                                          \
    }
SPEX_SCOPE_END_(cnt_)
SPEX_SCOPE_END_(lat_)
SPEX_SCOPE_END_(tpt_)
SPEX_SCOPE_END_(flt_)
SPEX_SCOPE_END_(ctxsw_)

/* The same for the types that read counters. */
#define SPEX_COUNTER_SCOPE_END_(kind)                                                              \
    SPEX_INLINE void spex_##kind##scope_end_(const struct spex_counter_scope *scope) {             \
        spex_counter_end_(scope->site, scope->weight, scope->span);                                \
        SPEX_SDT_SCOPE_END_(kind, scope);                                                          \
    }
SPEX_COUNTER_SCOPE_END_(llc_)
SPEX_COUNTER_SCOPE_END_(perfcntr_)

/* SPEX_BRACES_(var): no jump leads past this place to a place that is in its block, too. It would end
 * a scope that has not begun. C++ and clang refuse that by themselves, gcc does in C where a type has
 * a size that is not constant. The names of variables are what compilers say of it. */
#if defined(__cplusplus) || defined(__clang__)
#define SPEX_BRACES_(var)
#else
SPEX_INLINE int spex_one_(void) {
    return 1;
}
#define SPEX_BRACES_(var)                                                                          \
    _Pragma(                                                                                       \
        "GCC diagnostic ignored \"-Wvla\"") __extension__ typedef char var##_typed[spex_one_()]    \
        __attribute__((__unused__));
#endif

SPEX_HEADER_END_

#include <spex/detail/names_end.h>

#endif
