/* SPDX-License-Identifier: MIT */
/* What the macros of spex/probe.h expand to, without SPEX_DISABLE. Indirect header: programs
 * include spex/probe.h.
 *
 * `var` is the name of the probe's variable between BEGIN and END, such as spex_lat_7; `kind` the
 * type's name in lower case and "_", `type` its number of enum spex_probe_type. BEGIN begins with
 * (void)0, so that a label may stand before it.
 *
 * Outside of the names of spex, macros have those of standard headers and of parameters only, so
 * that a program may define any other word as a macro. */
#ifndef SPEX_DETAIL_ENABLED_H
#define SPEX_DETAIL_ENABLED_H

#include <spex/detail/arguments.h>
#include <spex/detail/recording.h>
#include <spex/detail/scopes.h>
#include <spex/detail/site_asm.h>
#include <spex/detail/values.h>
#include <spex/region.h>
#include <spex/sdt.h>

/* Counts the execution; has the result of spex_sample_. The fast and the slow copy of a region
 * (spex/region.h) count for their pass. The copy is a constant, so one branch remains. */
#define SPEX_SAMPLE_(site)                                                                         \
    (spex_region_copy_ == 0   ? spex_sample_(site)                                                 \
     : spex_region_copy_ == 1 ? spex_region_count_(spex_region_pass_)                              \
                              : spex_region_sample_(spex_region_pass_, site))

/* Enclosing probes: BEGIN and END are two macros. BEGIN leaves a site in the object file, and
 * declares the variables `var` (the span) and `var`_site for END. So an END without BEGIN does not
 * compile. `check` is of the id or name, and `name` how the source has it. */
#define SPEX_BEGIN_(var, kind, type, id, sc, check, name)                                          \
    (void)0;                                                                                       \
    SPEX_LATE_BEGIN_                                                                               \
    struct spex_span var;                                                                          \
    check;                                                                                         \
    SPEX_CHECKED_SITE_(var##_site, type, 0, 0, id, sc, name);                                      \
    SPEX_LATE_END_                                                                                 \
    SPEX_SDT_BEGIN_(kind, id);                                                                     \
    var = spex_##kind##begin_(SPEX_SAMPLE_(var##_site))

#define SPEX_END_(var, kind, id) SPEX_SDT_END_(spex_##kind##end_(var##_site, var), kind, id)

/* The same for LLC and PERFCNTR; `pcid` is the number of a PERFCNTR's counter. The weight has a
 * variable of its own, so that nothing is written to the span while the site is off. */
#define SPEX_COUNTER_BEGIN_(var, kind, type, id, sc, pcid, check, name)                            \
    (void)0;                                                                                       \
    SPEX_LATE_BEGIN_                                                                               \
    SPEX_STATIC_ASSERT_((pcid) >= 0 && (pcid) < SPEX_PERFCNTRS,                                    \
                        "spex: a performance counter is 0 to 7");                                  \
    struct spex_counter_span var;                                                                  \
    uint32_t var##_weight;                                                                         \
    check;                                                                                         \
    SPEX_CHECKED_SITE_(var##_site, type, pcid, 0, id, sc, name);                                   \
    SPEX_LATE_END_                                                                                 \
    SPEX_SDT_BEGIN_(kind, id);                                                                     \
    var##_weight = spex_counter_begin_(var##_site, SPEX_SAMPLE_(var##_site), &var)

#define SPEX_COUNTER_END_(var, kind, id)                                                           \
    SPEX_SDT_END_(spex_counter_end_(var##_site, var##_weight, &var), kind, id)

/* Scopes: one macro, whose END is the cleanup function of a variable (spex/detail/scopes.h). */
#define SPEX_SCOPE_(var, kind, type, id, sc)                                                       \
    (void)0;                                                                                       \
    SPEX_LATE_BEGIN_                                                                               \
    SPEX_BRACES_(var)                                                                              \
    SPEX_SITE_(var##_site, type, 0, 0, id, sc);                                                    \
    SPEX_SDT_BEGIN_(kind, id);                                                                     \
    const struct spex_scope var                                                                    \
        __attribute__((__cleanup__(spex_##kind##scope_end_), __unused__)) = {                      \
            var##_site, spex_##kind##begin_(SPEX_SAMPLE_(var##_site)), SPEX_ID_(id)};              \
    SPEX_LATE_END_(void) 0

#define SPEX_COUNTER_SCOPE_(var, kind, type, id, sc, pcid)                                         \
    (void)0;                                                                                       \
    SPEX_LATE_BEGIN_                                                                               \
    SPEX_BRACES_(var)                                                                              \
    SPEX_STATIC_ASSERT_((pcid) >= 0 && (pcid) < SPEX_PERFCNTRS,                                    \
                        "spex: a performance counter is 0 to 7");                                  \
    SPEX_SITE_(var##_site, type, pcid, 0, id, sc);                                                 \
    SPEX_SDT_BEGIN_(kind, id);                                                                     \
    struct spex_counter_span var##_span;                                                           \
    const struct spex_counter_scope var                                                            \
        __attribute__((__cleanup__(spex_##kind##scope_end_), __unused__)) = {                      \
            var##_site, &var##_span,                                                               \
            spex_counter_begin_(var##_site, SPEX_SAMPLE_(var##_site), &var##_span), SPEX_ID_(id)}; \
    SPEX_LATE_END_(void) 0

/* SNAPSHOT. The variable arguments are the values, behind one that is none: spex_values_[0], so
 * that a snapshot without values declares an array, too. The values are evaluated only if there is
 * a record; with USDT always (spex/sdt.h). */
#define SPEX_SNAPSHOT_(id, sc, text, ...)                                                          \
    do {                                                                                           \
        SPEX_LATE_BEGIN_                                                                           \
        SPEX_STATIC_ASSERT_(SPEX_COUNT_(__VA_ARGS__) <= SPEX_MAX_FIELDS + 1,                       \
                            "spex: too many values for one snapshot: at most " SPEX_NUMBER_TEXT_(  \
                                SPEX_MAX_FIELDS));                                                 \
        SPEX_KINDS_(spex_kinds_, __VA_ARGS__);                                                     \
        SPEX_CHECK_ID_(id);                                                                        \
        SPEX_VALUES_SITE_(spex_site_, SPEX_SNAPSHOT, SPEX_COUNT_(__VA_ARGS__) - 1, spex_kinds_,    \
                          id, sc, text, #id);                                                      \
        SPEX_SDT_VALUES_(id, __VA_ARGS__);                                                         \
        uint32_t spex_weight_ = SPEX_SAMPLE_(spex_site_);                                          \
        if (SPEX_UNLIKELY(spex_weight_)) {                                                         \
            SPEX_SDT_RECORD_VALUES_(__VA_ARGS__);                                                  \
            spex_snapshot(spex_site_, spex_weight_, spex_ticks(), spex_values_ + 1);               \
        }                                                                                          \
        SPEX_LATE_END_                                                                             \
    } while (0)

/* SPAN. BEGIN and END are two sites of one probe, in functions that need not know each other, so no
 * variable leads from one to the other. The key is evaluated only while the site is on; with USDT
 * always (spex/sdt.h). The control word is loaded first without an acquire, because what follows
 * loads it again. */
#define SPEX_SPAN_BEGIN_(id, sc, key)                                                              \
    do {                                                                                           \
        SPEX_LATE_BEGIN_                                                                           \
        SPEX_STATIC_ASSERT_(spex_region_copy_ == 0, "spex: a span cannot stand in a SPEX_REGION"); \
        SPEX_KINDS_(spex_kinds_, 0, key);                                                          \
        SPEX_SITE_(spex_site_, SPEX_SPAN, 0, spex_kinds_, id, sc);                                 \
        SPEX_SDT_KEY_(SPEX_SDT_BEGIN_NAME_(span_), id, key);                                       \
        if (SPEX_UNLIKELY(spex_site_on_(spex_site_))) {                                            \
            uint32_t spex_weight_ = spex_sample_(spex_site_);                                      \
            spex_span_begin(spex_site_, spex_weight_, SPEX_SDT_KEY_ONCE_(key));                    \
        }                                                                                          \
        SPEX_LATE_END_                                                                             \
    } while (0)

#define SPEX_SPAN_END_(id, key)                                                                    \
    do {                                                                                           \
        SPEX_LATE_BEGIN_                                                                           \
        SPEX_STATIC_ASSERT_(spex_region_copy_ == 0, "spex: a span cannot stand in a SPEX_REGION"); \
        SPEX_KINDS_(spex_kinds_, 0, key);                                                          \
        SPEX_SITE_(spex_site_, SPEX_SPAN, SPEX_SPAN_ENDS, spex_kinds_, id, 1);                     \
        SPEX_SDT_KEY_(SPEX_SDT_END_NAME_(span_), id, key);                                         \
        if (SPEX_UNLIKELY(spex_site_on_(spex_site_)))                                              \
            spex_span_end(spex_site_, SPEX_SDT_KEY_ONCE_(key));                                    \
        SPEX_LATE_END_                                                                             \
    } while (0)

/* Choose the event of a PERFCNTR. The value is 0 where libspex is not linked. */
#define SPEX_SET_PERFCNTR_(pcid, event, mask)                                                      \
    (spex_perfcntr_set ? spex_perfcntr_set(pcid, event, mask) : 0)
#define SPEX_SET_PERFCNTR_NAME_(pcid, name)                                                        \
    (spex_perfcntr_set_name ? spex_perfcntr_set_name(pcid, name) : 0)

/* Stores the name in the section `spex_names`, with which the module's sites are registered. */
#define SPEX_PROBE_NAME_(var, id, text)                                                            \
    static const struct spex_probe_name var SPEX_KEEP                                              \
        __attribute__((__section__("spex_names"))) = {id, text};                                   \
    SPEX_CHECK_FILE_SCOPE_(sizeof(text) <= SPEX_NAME_BYTES, "spex: a probe name has 61 bytes at "  \
                                                            "most")

/* Declares the provider, in the same section. */
#define SPEX_PROVIDER_(text)                                                                       \
    static const struct spex_probe_name spex_provider_ SPEX_KEEP                                   \
        __attribute__((__section__("spex_names"))) = {0, SPEX_PROVIDER_MARK text};                 \
    SPEX_CHECK_FILE_SCOPE_(sizeof(text) > 1 && sizeof(text) < SPEX_NAME_BYTES,                     \
                           "spex: a provider has 1 to 60 bytes")

#endif
