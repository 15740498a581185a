/* SPDX-License-Identifier: MIT */
/* What the macros of spex/probe.h expand to with SPEX_DISABLE: nothing. Indirect header: programs
 * include spex/probe.h.
 *
 * The compiler still checks the arguments, and that each END has its BEGIN; nothing is evaluated,
 * and the object has no sites, names or references to libspex. */
#ifndef SPEX_DETAIL_DISABLED_H
#define SPEX_DETAIL_DISABLED_H

#include <spex/detail/names_begin.h>

#include <stddef.h>
#include <stdint.h>

#include <spex/compiler.h>
#include <spex/detail/arguments.h>
#include <spex/detail/scopes.h>
#include <spex/detail/site_asm.h>
#include <spex/detail/values.h>

SPEX_HEADER_BEGIN_

/* Returns 0, from operands that stand within sizeof and are therefore not evaluated. */
SPEX_INLINE int spex_set_nothing_(size_t size) {
    return size ? 0 : -1;
}

/* Enclosing probes: BEGIN declares an enumerator instead of the variable, which END mentions. Ids
 * and subsampling counters must be constants, as they must with probes. */
#define SPEX_BEGIN_(var, kind, type, id, sc, check, name)                                          \
    (void)0;                                                                                       \
    enum { var = SPEX_NUMBER_(id) + 0 * (sc) }
#define SPEX_END_(var, kind, id) ((void)var)
#define SPEX_COUNTER_BEGIN_(var, kind, type, id, sc, pcid, check, name)                            \
    SPEX_BEGIN_(var, kind, type, id, (sc) + 0 * (pcid), check, name)
#define SPEX_COUNTER_END_(var, kind, id) SPEX_END_(var, kind, id)
/* Scopes: only the arguments are checked. */
#define SPEX_SCOPE_(var, kind, type, id, sc)                                                       \
    (void)0;                                                                                       \
    SPEX_STATIC_ASSERT_(SPEX_NUMBER_(id) >= 0 && (sc) >= 1, "spex: an id and a subsampling "       \
                                                            "counter")
#define SPEX_COUNTER_SCOPE_(var, kind, type, id, sc, pcid)                                         \
    SPEX_SCOPE_(var, kind, type, id, (sc) + 0 * (pcid))
/* The value is 0, as without libspex. */
#define SPEX_SET_PERFCNTR_(pcid, event, mask) spex_set_nothing_(sizeof((pcid) + (event) + (mask)))
#define SPEX_SET_PERFCNTR_NAME_(pcid, name)   spex_set_nothing_(sizeof((pcid) + *(name)))
/* The values are compiled, so that mistakes show, and never evaluated. */
#define SPEX_SNAPSHOT_(id, sc, text, ...)                                                          \
    do {                                                                                           \
        SPEX_KINDS_(spex_kinds_, __VA_ARGS__);                                                     \
        if (0) {                                                                                   \
            uint64_t spex_values_[] = {SPEX_NUMBER_(id), SPEX_WORDS_(__VA_ARGS__)};                \
            (void)spex_values_;                                                                    \
        }                                                                                          \
    } while (0)
#define SPEX_SPAN_BEGIN_(id, sc, key)                                                              \
    do {                                                                                           \
        SPEX_STATIC_ASSERT_(SPEX_NUMBER_(id) >= 0 && (sc) >= 1,                                    \
                            "spex: an id and a subsampling counter");                              \
        SPEX_KINDS_(spex_kinds_, 0, key);                                                          \
        if (0) {                                                                                   \
            uint64_t spex_key_of_ = SPEX_KEY_(key);                                                \
            (void)spex_key_of_;                                                                    \
        }                                                                                          \
    } while (0)
#define SPEX_SPAN_END_(id, key) SPEX_SPAN_BEGIN_(id, 1, key)
/* Only the length of the name is checked. */
#define SPEX_PROBE_NAME_(var, id, text)                                                            \
    SPEX_CHECK_FILE_SCOPE_(sizeof(text) <= SPEX_NAME_BYTES, "spex: a probe name has 61 bytes at "  \
                                                            "most")
#define SPEX_PROVIDER_(text)                                                                       \
    SPEX_CHECK_FILE_SCOPE_(sizeof(text) > 1 && sizeof(text) < SPEX_NAME_BYTES,                     \
                           "spex: a provider has 1 to 60 bytes")

SPEX_HEADER_END_

#include <spex/detail/names_end.h>

#endif
