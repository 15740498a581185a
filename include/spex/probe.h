/* SPDX-License-Identifier: MIT */
/* Probe macros: what a developer puts into the code and ships. Needs nothing but spex headers;
 * works in C11 and C++17 with gcc and clang.
 *
 *     LAT_PROBE_BEGIN(QUERY, 1);
 *     run_query();
 *     LAT_PROBE_END(QUERY);
 *
 * Every probe is off until its user switches it on, and costs one load and one predicted branch
 * while it is off. `id` is an integer constant of 0 to 65535 that is one token (7, or QUERY where
 * QUERY is a macro or an enumerator); `sc`, the subsampling counter, is a constant of at least 1:
 * so many executions make one record. BEGIN and END stand in the same block, each once; leaving the
 * block between them (return, break, exception) makes no record of that execution; the scoped forms,
 * SPEX_LAT_SCOPE(id, sc) and its like, make one then, too. Recursion and nesting of different ids are
 * fine. Where the compiler copies code (inlining, loop unrolling) a probe may become several sites, each
 * counting by itself.
 *
 * SPEX_REGION(id, weight, …) around many probes with little work between them makes them cost what one costs
 * (region.h).
 *
 * While a probe is probed (its executions make no records, but are looked at), one that was left without its END seems
 * to go on until the thread executes that site again, or ends.
 *
 * Safe in any thread and in signal handlers, before spex_start and after spex_stop (inert), in
 * shared libraries and in programs without spex (inert). Not between vfork and exec: there the process
 * runs on its parent's memory. Where sc is above 1, a handler that interrupts the counting of the very
 * site that it executes itself can make that weight inexact.
 *
 * What is timed or counted holds what the probes within it cost: spex_cost_get tells how much. A handler
 * that leaves by siglongjmp may have interrupted the reading of a counter, which that thread is then
 * without. gcc's -mcmodel=large does not take the macros.
 *
 * SPEX_NO_SHORT_NAMES leaves only the SPEX_… names; SPEX_DISABLE compiles every probe to nothing; SPEX_SDT
 * makes every probe one of bpftrace and perf, too (sdt.h).
 */
#ifndef SPEX_PROBE_H
#define SPEX_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spex/atomic.h>
#include <spex/compiler.h>
#include <spex/record.h>
#include <spex/region.h>
#include <spex/sdt.h>
#include <spex/site.h>

#if defined(__x86_64__)
#include <spex/arch/x86_64.h>
#elif defined(__aarch64__)
#include <spex/arch/aarch64.h>
#else
#error "spex: this version supports x86-64 and aarch64 only"
#endif

#ifdef __cplusplus
#define SPEX_STATIC_ASSERT_ static_assert
#else
#define SPEX_STATIC_ASSERT_ _Static_assert
#endif

/* An enclosing probe's state between BEGIN and END, on the stack. */
struct spex_span {
    uint64_t begin;    /* ticks, or events counted, at BEGIN */
    uint32_t weight;   /* what BEGIN was told by spex_sample_ */
    uint32_t openings; /* of this thread's counters so far */
};

/* The same for types that read performance counters, whose weight is kept apart from it. */
struct spex_counter_span {
    uint64_t values[2];
    uint64_t enabled; /* ns that the counter was to count, and did */
    uint64_t running;
    uint32_t source; /* values of another are not comparable */
    uint32_t openings;
    uint32_t available;
};

SPEX_EXTERN_C_BEGIN

/* The recording half, in libspex; reached only from a site that is on. Any thread, signal handlers
 * too; none of them blocks, allocates from the heap or changes errno. */
SPEX_PROBE_API uint32_t spex_sample(struct spex_site *site);
SPEX_PROBE_API void spex_inactive(struct spex_site *site, uint32_t weight);
SPEX_PROBE_API void spex_cnt_end(struct spex_site *site, uint32_t weight, uint64_t now);
SPEX_PROBE_API void spex_lat_end(struct spex_site *site, uint32_t weight, uint64_t begin,
                                 uint64_t now);
SPEX_PROBE_API void spex_tpt_end(struct spex_site *site, uint32_t weight, uint64_t begin,
                                 uint64_t now);
SPEX_PROBE_API void spex_snapshot(struct spex_site *site, uint32_t weight, uint64_t now,
                                  const uint64_t *values);
SPEX_PROBE_API struct spex_span spex_flt_begin(uint32_t weight);
SPEX_PROBE_API void spex_flt_end(struct spex_site *site, struct spex_span span);
SPEX_PROBE_API struct spex_span spex_ctxsw_begin(uint32_t weight);
SPEX_PROBE_API void spex_ctxsw_end(struct spex_site *site, struct spex_span span);
SPEX_PROBE_API void spex_counter_begin(struct spex_site *site, struct spex_counter_span *span);
SPEX_PROBE_API void spex_counter_end(struct spex_site *site, uint32_t weight,
                                     struct spex_counter_span *span);

/* The event that performance counter `pcid` (0 to SPEX_PERFCNTRS - 1) counts: by the processor's code,
 * on x86 event (AMD: up to 12 bits) and unit mask (with Intel's bits above it, up to 24), elsewhere event
 * alone; or by libpfm4's name, such as "perf::TASK-CLOCK" or "INST_RETIRED:u". Threads turn to it at
 * their next BEGIN; said before spex_start, its cost is measured with the others. Any thread; not for
 * signal handlers.
 * 0; -EINVAL for a bad pcid, code or name, or, while its probe is on, why the event cannot be counted
 * here; each with one line on standard error. */
SPEX_PROBE_API int spex_perfcntr_set(unsigned pcid, uint64_t event, uint64_t mask);
SPEX_PROBE_API int spex_perfcntr_set_name(unsigned pcid, const char *name);

SPEX_EXTERN_C_END

/* The linker's bounds of this object's sections; null where there is none. */
extern struct spex_site spex_sites_begin_[] __asm__("__start_spex_sites")
    __attribute__((weak, visibility("hidden")));
extern struct spex_site spex_sites_end_[] __asm__("__stop_spex_sites")
    __attribute__((weak, visibility("hidden")));
extern const struct spex_probe_name spex_names_begin_[] __asm__("__start_spex_names")
    __attribute__((weak, visibility("hidden")));
extern const struct spex_probe_name spex_names_end_[] __asm__("__stop_spex_names")
    __attribute__((weak, visibility("hidden")));

#if !defined(SPEX_DISABLE) && !defined(SPEX_BUILDING)
__attribute__((constructor, no_instrument_function)) static void spex_module_enter_(void) {
    if (spex_module_register)
        spex_module_register(spex_sites_begin_, spex_sites_end_, spex_names_begin_,
                             spex_names_end_);
}

__attribute__((destructor, no_instrument_function)) static void spex_module_leave_(void) {
    if (spex_module_unregister)
        spex_module_unregister(spex_sites_begin_);
}
#endif

/* What spex_sample_ may have put between generation and weight. With a weight: these executions are in the thread's
 * total already, as the countdown was the library's. Without: the probe is within an execution of its own. */
#define SPEX_SAMPLE_NOTE (SPEX_CONTROL_PERIOD_MASK + 1)

/* Counts this execution: the generation with, below it, how many executions a record of this one stands for, or 0
 * when it is to be active only; all 0: there is nothing to do.
 * Where the generation is the same, control - count is what is left of the period. */
SPEX_INLINE uint32_t spex_sample_(struct spex_site *site) {
    /* Control word and index in one. What is executed between a program's own instructions costs it the more the less
     * these wait for each other: so this is short. */
    uint64_t both = SPEX_LOAD_SITE_(spex_site_head_(site));
    uint32_t control = SPEX_LOW_(both);
    if (!SPEX_UNLIKELY(control))
        return 0;
    SPEX_LOAD_SITE_AGAIN_(spex_site_head_(site), both);
    control = SPEX_LOW_(both);
    uint32_t *executed = spex_executed + (both >> 32);
    uint32_t count = spex_load_relaxed(executed) + 1;
    if (control - count - 1 < SPEX_CONTROL_PERIOD_MASK) {
        spex_store_relaxed(executed, count);
        return 0;
    }
    /* Neither 0 nor SPEX_CONTROL_COUNTDOWN. */
    bool period = ((control + 1) & SPEX_CONTROL_PERIOD_MASK) > 1;
    if (!((control ^ count) & ~SPEX_CONTROL_PERIOD_MASK) && period) {
        spex_store_relaxed(executed, control & ~SPEX_CONTROL_PERIOD_MASK);
        return count;
    }
    return spex_sample(site);
}

SPEX_INLINE bool spex_records_(uint32_t weight) {
    return weight & SPEX_CONTROL_PERIOD_MASK;
}

/* The end of an execution that BEGIN was told something about. */
#define SPEX_FINISH_(site, weight, record)                                                         \
    do {                                                                                           \
        if (SPEX_UNLIKELY(weight)) {                                                               \
            if (SPEX_LIKELY(spex_records_(weight)))                                                \
                record;                                                                            \
            else                                                                                   \
                spex_inactive(site, weight);                                                       \
        }                                                                                          \
    } while (0)

/* The beginnings of the types; `weight` is what SPEX_SAMPLE_ says. */
SPEX_INLINE struct spex_span spex_cnt_begin_(uint32_t weight) {
    struct spex_span span = {0, weight, 0};
    return span;
}

SPEX_INLINE void spex_cnt_end_(struct spex_site *site, struct spex_span span) {
    SPEX_FINISH_(site, span.weight, spex_cnt_end(site, span.weight, spex_ticks()));
}

SPEX_INLINE struct spex_span spex_lat_begin_(uint32_t weight) {
    struct spex_span span = {0, weight, 0};
    if (SPEX_UNLIKELY(spex_records_(span.weight)))
        span.begin = spex_ticks();
    return span;
}

SPEX_INLINE void spex_lat_end_(struct spex_site *site, struct spex_span span) {
    SPEX_FINISH_(site, span.weight, spex_lat_end(site, span.weight, span.begin, spex_ticks()));
}

#define spex_tpt_begin_(weight) spex_lat_begin_(weight)

SPEX_INLINE void spex_tpt_end_(struct spex_site *site, struct spex_span span) {
    SPEX_FINISH_(site, span.weight, spex_tpt_end(site, span.weight, span.begin, spex_ticks()));
}

SPEX_INLINE struct spex_span spex_flt_begin_(uint32_t weight) {
    struct spex_span off = {0, weight, 0};
    return SPEX_UNLIKELY(spex_records_(weight)) ? spex_flt_begin(weight) : off;
}

SPEX_INLINE void spex_flt_end_(struct spex_site *site, struct spex_span span) {
    SPEX_FINISH_(site, span.weight, spex_flt_end(site, span));
}

SPEX_INLINE struct spex_span spex_ctxsw_begin_(uint32_t weight) {
    struct spex_span off = {0, weight, 0};
    return SPEX_UNLIKELY(spex_records_(weight)) ? spex_ctxsw_begin(weight) : off;
}

SPEX_INLINE void spex_ctxsw_end_(struct spex_site *site, struct spex_span span) {
    SPEX_FINISH_(site, span.weight, spex_ctxsw_end(site, span));
}

/* For LLC and PERFCNTR; `weight` is what the macros keep apart. */
SPEX_INLINE uint32_t spex_counter_begin_(struct spex_site *site, uint32_t weight,
                                         struct spex_counter_span *span) {
    if (SPEX_UNLIKELY(spex_records_(weight)))
        spex_counter_begin(site, span);
    return weight;
}

SPEX_INLINE void spex_counter_end_(struct spex_site *site, uint32_t weight,
                                   struct spex_counter_span *span) {
    SPEX_FINISH_(site, weight, spex_counter_end(site, weight, span));
}

/* Enclosing probes that end with their block. */
struct spex_scope {
    struct spex_site *site;
    struct spex_span span;
    uint16_t probe_id;
};

struct spex_counter_scope {
    struct spex_site *site;
    struct spex_counter_span *span;
    uint32_t weight;
    uint16_t probe_id;
};

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

#define SPEX_COUNTER_SCOPE_END_(kind)                                                              \
    SPEX_INLINE void spex_##kind##_scope_end_(const struct spex_counter_scope *scope) {            \
        spex_counter_end_(scope->site, scope->weight, scope->span);                                \
        SPEX_SDT_SCOPE_END_(kind, scope);                                                          \
    }
SPEX_COUNTER_SCOPE_END_(llc)
SPEX_COUNTER_SCOPE_END_(perfcntr)

/* Puts one struct spex_site into this object and points `site` at it. Assembly, because a static
 * object with a section of its own cannot stand in an inline function or template of C++; "?" keeps
 * the site in its function's group, so that the two are discarded together. */
#define SPEX_SITE_ASM_(site, type_, detail_, id_, sc_)                                             \
    SPEX_SITE_TEXT_ASM_(site, type_, detail_, id_, sc_, __FILE__)
#define SPEX_SITE_TEXT_ASM_(site, type_, detail_, id_, sc_, text_)                                 \
    __asm__(".pushsection spex_sites, \"aw?\", %%progbits\n"                                       \
            ".balign 8\n"                                                                          \
            "991: .4byte 0, 0, %c[subsample], %c[line]\n"                                          \
            ".2byte %c[id]\n"                                                                      \
            ".byte %c[type], %c[detail]\n"                                                         \
            ".2byte %c[region], 0\n"                                                               \
            ".8byte %c[file] - .\n"                                                                \
            ".popsection\n" SPEX_ASM_ADDRESS_("%0")                                                \
            : "=r"(site)                                                                           \
            : [subsample] "i"(sc_), [line] "i"(__LINE__), [id] "i"(id_),                           \
              [type] "i"(SPEX_TYPE_NUMBER_(type_)), [detail] "i"(detail_),                         \
              [region] "i"(spex_region_id_), [file] SPEX_ASM_SYMBOL_(text_))

/* In the fast copy of a region there is none. */
#define SPEX_SITE_(site, type_, detail_, id_, sc_)                                                 \
    SPEX_STATIC_ASSERT_((id_) >= 0 && (id_) <= 65535, "spex: a probe id is 0 to 65535");           \
    SPEX_STATIC_ASSERT_((sc_) >= 1 && (sc_) <= SPEX_CONTROL_PERIOD_MAX,                            \
                        "spex: a subsampling counter is 1 to 16777214");                           \
    struct spex_site *site = NULL;                                                                 \
    if (spex_region_copy_ != 1)                                                                    \
    SPEX_SITE_ASM_(site, type_, detail_, id_, sc_)

/* What spex_sample_ says, in each copy of a region. */
#define SPEX_SAMPLE_(site)                                                                         \
    (spex_region_copy_ == 0   ? spex_sample_(site)                                                 \
     : spex_region_copy_ == 1 ? spex_region_count_(spex_region_pass_)                              \
                              : spex_region_sample_(spex_region_pass_, site))

/* Up to 16 arguments: how many, and each as uint64_t. */
#ifdef __cplusplus
#define SPEX_WORD_(value) static_cast<uint64_t>(value)
#define SPEX_ID_(id)      static_cast<uint16_t>(id)
#else
#define SPEX_WORD_(value) ((uint64_t)(value))
#define SPEX_ID_(id)      ((uint16_t)(id))
#endif
#define SPEX_PICK_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, picked, ...) picked
#define SPEX_COUNT_(...)                                                                           \
    SPEX_PICK_(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define SPEX_WORDS1_(v)               SPEX_WORD_(v)
#define SPEX_WORDS2_(v, ...)          SPEX_WORD_(v), SPEX_WORDS1_(__VA_ARGS__)
#define SPEX_WORDS3_(v, ...)          SPEX_WORD_(v), SPEX_WORDS2_(__VA_ARGS__)
#define SPEX_WORDS4_(v, ...)          SPEX_WORD_(v), SPEX_WORDS3_(__VA_ARGS__)
#define SPEX_WORDS5_(v, ...)          SPEX_WORD_(v), SPEX_WORDS4_(__VA_ARGS__)
#define SPEX_WORDS6_(v, ...)          SPEX_WORD_(v), SPEX_WORDS5_(__VA_ARGS__)
#define SPEX_WORDS7_(v, ...)          SPEX_WORD_(v), SPEX_WORDS6_(__VA_ARGS__)
#define SPEX_WORDS8_(v, ...)          SPEX_WORD_(v), SPEX_WORDS7_(__VA_ARGS__)
#define SPEX_WORDS9_(v, ...)          SPEX_WORD_(v), SPEX_WORDS8_(__VA_ARGS__)
#define SPEX_WORDS10_(v, ...)         SPEX_WORD_(v), SPEX_WORDS9_(__VA_ARGS__)
#define SPEX_WORDS11_(v, ...)         SPEX_WORD_(v), SPEX_WORDS10_(__VA_ARGS__)
#define SPEX_WORDS12_(v, ...)         SPEX_WORD_(v), SPEX_WORDS11_(__VA_ARGS__)
#define SPEX_WORDS13_(v, ...)         SPEX_WORD_(v), SPEX_WORDS12_(__VA_ARGS__)
#define SPEX_WORDS14_(v, ...)         SPEX_WORD_(v), SPEX_WORDS13_(__VA_ARGS__)
#define SPEX_WORDS15_(v, ...)         SPEX_WORD_(v), SPEX_WORDS14_(__VA_ARGS__)
#define SPEX_WORDS16_(v, ...)         SPEX_WORD_(v), SPEX_WORDS15_(__VA_ARGS__)
#define SPEX_WORDS_N_(count, ...)     SPEX_WORDS_NAMED_(count, __VA_ARGS__)
#define SPEX_WORDS_NAMED_(count, ...) SPEX_WORDS##count##_(__VA_ARGS__)
#define SPEX_WORDS_(...)              SPEX_WORDS_N_(SPEX_COUNT_(__VA_ARGS__), __VA_ARGS__)

#ifndef SPEX_DISABLE

/* (void)0, so that a label may stand before it. */
#define SPEX_BEGIN_(var, kind, type, id, sc)                                                       \
    (void)0;                                                                                       \
    SPEX_SITE_(var##_site, type, 0, id, sc);                                                       \
    SPEX_SDT_BEGIN_(kind, id);                                                                     \
    struct spex_span var = spex_##kind##_begin_(SPEX_SAMPLE_(var##_site))

#define SPEX_END_(var, kind, id) SPEX_SDT_END_(spex_##kind##_end_(var##_site, var), kind, id)

#define SPEX_COUNTER_BEGIN_(var, kind, type, pcid, id, sc)                                         \
    (void)0;                                                                                       \
    SPEX_STATIC_ASSERT_((pcid) >= 0 && (pcid) < SPEX_PERFCNTRS,                                    \
                        "spex: a performance counter is 0 to 7");                                  \
    SPEX_SITE_(var##_site, type, pcid, id, sc);                                                    \
    SPEX_SDT_BEGIN_(kind, id);                                                                     \
    struct spex_counter_span var;                                                                  \
    uint32_t var##_weight = spex_counter_begin_(var##_site, SPEX_SAMPLE_(var##_site), &var)

#define SPEX_COUNTER_END_(var, kind, id)                                                           \
    SPEX_SDT_END_(spex_counter_end_(var##_site, var##_weight, &var), kind, id)

#define SPEX_SCOPE_(var, kind, type, id, sc)                                                       \
    (void)0;                                                                                       \
    SPEX_SITE_(var##_site, type, 0, id, sc);                                                       \
    SPEX_SDT_BEGIN_(kind, id);                                                                     \
    const struct spex_scope var __attribute__((cleanup(spex_##kind##_scope_end_), unused)) = {     \
        var##_site, spex_##kind##_begin_(SPEX_SAMPLE_(var##_site)), SPEX_ID_(id)}

#define SPEX_COUNTER_SCOPE_(var, kind, type, pcid, id, sc)                                         \
    (void)0;                                                                                       \
    SPEX_STATIC_ASSERT_((pcid) >= 0 && (pcid) < SPEX_PERFCNTRS,                                    \
                        "spex: a performance counter is 0 to 7");                                  \
    SPEX_SITE_(var##_site, type, pcid, id, sc);                                                    \
    SPEX_SDT_BEGIN_(kind, id);                                                                     \
    struct spex_counter_span var##_span;                                                           \
    const struct spex_counter_scope var                                                            \
        __attribute__((cleanup(spex_##kind##_scope_end_), unused)) = {                             \
            var##_site, &var##_span,                                                               \
            spex_counter_begin_(var##_site, SPEX_SAMPLE_(var##_site), &var##_span), SPEX_ID_(id)}

/* values[0] is the subsampling counter, so that a snapshot of no values is an array all the same.
 */
#define SPEX_SNAPSHOT_(id, sc, ...)                                                                \
    do {                                                                                           \
        SPEX_STATIC_ASSERT_(SPEX_COUNT_(__VA_ARGS__) <= SPEX_MAX_FIELDS + 1,                       \
                            "spex: too many values for one snapshot");                             \
        SPEX_SITE_(spex_site_, SPEX_SNAPSHOT, SPEX_COUNT_(__VA_ARGS__) - 1, id, sc);               \
        SPEX_SDT_VALUES_(id, __VA_ARGS__);                                                         \
        uint32_t spex_weight_ = SPEX_SAMPLE_(spex_site_);                                          \
        if (SPEX_UNLIKELY(spex_weight_)) {                                                         \
            SPEX_SDT_RECORD_VALUES_(__VA_ARGS__);                                                  \
            spex_snapshot(spex_site_, spex_weight_, spex_ticks(), spex_values_ + 1);               \
        }                                                                                          \
    } while (0)

#define SPEX_SET_PERFCNTR_(pcid, event, mask)                                                      \
    (spex_perfcntr_set ? spex_perfcntr_set(pcid, event, mask) : 0)
#define SPEX_SET_PERFCNTR_NAME_(pcid, name)                                                        \
    (spex_perfcntr_set_name ? spex_perfcntr_set_name(pcid, name) : 0)

/* At file scope: the name under which users see the probes with this id. */
#define SPEX_PROBE_NAME(id, text)                                                                  \
    SPEX_STATIC_ASSERT_(sizeof(text) <= SPEX_NAME_BYTES,                                           \
                        "spex: a probe name has 61 bytes at most");                                \
    static const struct spex_probe_name spex_name_##id##_ SPEX_KEEP                                \
        __attribute__((section("spex_names"))) = {id, text}

#else /* SPEX_DISABLE: arguments are checked by the compiler, and evaluated never */

SPEX_INLINE int spex_set_nothing_(size_t size) {
    return size ? 0 : -1;
}

#define SPEX_BEGIN_(var, kind, type, id, sc)                                                       \
    (void)0;                                                                                       \
    enum { var = (id) + 0 * (sc) }
#define SPEX_END_(var, kind, id) ((void)var)
#define SPEX_COUNTER_BEGIN_(var, kind, type, pcid, id, sc)                                         \
    SPEX_BEGIN_(var, kind, type, id, (sc) + 0 * (pcid))
#define SPEX_COUNTER_END_(var, kind, id) SPEX_END_(var, kind, id)
#define SPEX_SCOPE_(var, kind, type, id, sc)                                                       \
    (void)0;                                                                                       \
    SPEX_STATIC_ASSERT_((id) >= 0 && (sc) >= 1, "spex: an id and a subsampling counter")
#define SPEX_COUNTER_SCOPE_(var, kind, type, pcid, id, sc)                                         \
    SPEX_SCOPE_(var, kind, type, id, (sc) + 0 * (pcid))
#define SPEX_SET_PERFCNTR_(pcid, event, mask) spex_set_nothing_(sizeof((pcid) + (event) + (mask)))
#define SPEX_SET_PERFCNTR_NAME_(pcid, name)   spex_set_nothing_(sizeof((pcid) + *(name)))
#define SPEX_SNAPSHOT_(id, sc, ...)                                                                \
    do {                                                                                           \
        if (0) {                                                                                   \
            uint64_t spex_values_[] = {(id), SPEX_WORDS_(__VA_ARGS__)};                            \
            (void)spex_values_;                                                                    \
        }                                                                                          \
    } while (0)
#define SPEX_PROBE_NAME(id, text)                                                                  \
    SPEX_STATIC_ASSERT_(sizeof(text) <= SPEX_NAME_BYTES, "spex: a probe name has 61 bytes at "     \
                                                         "most")

#endif

/* CNT: how often the enclosed code has executed. */
#define SPEX_CNT_PROBE_BEGIN(id, sc) SPEX_BEGIN_(spex_cnt_##id, cnt, SPEX_CNT, id, sc)
#define SPEX_CNT_PROBE_END(id)       SPEX_END_(spex_cnt_##id, cnt, id)

/* LAT: how many ticks the enclosed code takes. */
#define SPEX_LAT_PROBE_BEGIN(id, sc) SPEX_BEGIN_(spex_lat_##id, lat, SPEX_LAT, id, sc)
#define SPEX_LAT_PROBE_END(id)       SPEX_END_(spex_lat_##id, lat, id)

/* TPT: how often the enclosed code has executed and the ticks it has taken. */
#define SPEX_TPT_PROBE_BEGIN(id, sc) SPEX_BEGIN_(spex_tpt_##id, tpt, SPEX_TPT, id, sc)
#define SPEX_TPT_PROBE_END(id)       SPEX_END_(spex_tpt_##id, tpt, id)

/* LLC: the thread's references to the last-level cache, and misses of it. What the processor counts
 * as such, spex_describe tells; where it counts neither, records carry no values. */
#define SPEX_LLC_PROBE_BEGIN(id, sc) SPEX_COUNTER_BEGIN_(spex_llc_##id, llc, SPEX_LLC, 0, id, sc)
#define SPEX_LLC_PROBE_END(id)       SPEX_COUNTER_END_(spex_llc_##id, llc, id)

/* FLT: the thread's page faults, minor and major. */
#define SPEX_FLT_PROBE_BEGIN(id, sc) SPEX_BEGIN_(spex_flt_##id, flt, SPEX_FLT, id, sc)
#define SPEX_FLT_PROBE_END(id)       SPEX_END_(spex_flt_##id, flt, id)

/* CTXSW: how often the thread was switched out, of its own will and otherwise. */
#define SPEX_CTXSW_PROBE_BEGIN(id, sc) SPEX_BEGIN_(spex_ctxsw_##id, ctxsw, SPEX_CTXSW, id, sc)
#define SPEX_CTXSW_PROBE_END(id)       SPEX_END_(spex_ctxsw_##id, ctxsw, id)

/* PERFCNTR: events of performance counter `pcid`, a constant. SET_PERFCNTR and SET_PERFCNTR_NAME are
 * expressions with the value of spex_perfcntr_set(_name). */
#define SPEX_PERFCNTR_PROBE_BEGIN(id, sc, pcid)                                                    \
    SPEX_COUNTER_BEGIN_(spex_perfcntr_##id, perfcntr, SPEX_PERFCNTR, pcid, id, sc)
#define SPEX_PERFCNTR_PROBE_END(id)          SPEX_COUNTER_END_(spex_perfcntr_##id, perfcntr, id)
#define SPEX_SET_PERFCNTR(pcid, event, mask) SPEX_SET_PERFCNTR_(pcid, event, mask)
#define SPEX_SET_PERFCNTR_NAME(pcid, name)   SPEX_SET_PERFCNTR_NAME_(pcid, name)

/* The same from where they stand to the end of the block, however it is left: return, break, goto, in
 * C++ also an exception. Not longjmp. */
#define SPEX_CNT_SCOPE(id, sc)   SPEX_SCOPE_AT_(__COUNTER__, cnt, SPEX_CNT, id, sc)
#define SPEX_LAT_SCOPE(id, sc)   SPEX_SCOPE_AT_(__COUNTER__, lat, SPEX_LAT, id, sc)
#define SPEX_TPT_SCOPE(id, sc)   SPEX_SCOPE_AT_(__COUNTER__, tpt, SPEX_TPT, id, sc)
#define SPEX_FLT_SCOPE(id, sc)   SPEX_SCOPE_AT_(__COUNTER__, flt, SPEX_FLT, id, sc)
#define SPEX_CTXSW_SCOPE(id, sc) SPEX_SCOPE_AT_(__COUNTER__, ctxsw, SPEX_CTXSW, id, sc)
#define SPEX_LLC_SCOPE(id, sc)   SPEX_COUNTER_SCOPE_AT_(__COUNTER__, llc, SPEX_LLC, 0, id, sc)
#define SPEX_PERFCNTR_SCOPE(id, sc, pcid)                                                          \
    SPEX_COUNTER_SCOPE_AT_(__COUNTER__, perfcntr, SPEX_PERFCNTR, pcid, id, sc)

/* Scopes may be nested: each has a name of its own. */
#define SPEX_SCOPE_AT_(number, kind, type, id, sc) SPEX_SCOPE_NAMED_(number, kind, type, id, sc)
#define SPEX_SCOPE_NAMED_(number, kind, type, id, sc)                                              \
    SPEX_SCOPE_(spex_scope_##number, kind, type, id, sc)
#define SPEX_COUNTER_SCOPE_AT_(number, kind, type, pcid, id, sc)                                   \
    SPEX_COUNTER_SCOPE_NAMED_(number, kind, type, pcid, id, sc)
#define SPEX_COUNTER_SCOPE_NAMED_(number, kind, type, pcid, id, sc)                                \
    SPEX_COUNTER_SCOPE_(spex_scope_##number, kind, type, pcid, id, sc)

/* SNAPSHOT(id, sc, v0, …): up to SPEX_MAX_FIELDS values, converted to uint64_t, evaluated once,
 * only by an execution that makes a record (with SPEX_SDT, by every one). */
#define SPEX_FIRST_(first, ...)      first
#define SPEX_SNAPSHOT_PROBE(id, ...) SPEX_SNAPSHOT_(id, SPEX_FIRST_(__VA_ARGS__, 0), __VA_ARGS__)

#ifndef SPEX_NO_SHORT_NAMES
#define CNT_PROBE_BEGIN(id, sc)   SPEX_BEGIN_(spex_cnt_##id, cnt, SPEX_CNT, id, sc)
#define CNT_PROBE_END(id)         SPEX_END_(spex_cnt_##id, cnt, id)
#define LAT_PROBE_BEGIN(id, sc)   SPEX_BEGIN_(spex_lat_##id, lat, SPEX_LAT, id, sc)
#define LAT_PROBE_END(id)         SPEX_END_(spex_lat_##id, lat, id)
#define TPT_PROBE_BEGIN(id, sc)   SPEX_BEGIN_(spex_tpt_##id, tpt, SPEX_TPT, id, sc)
#define TPT_PROBE_END(id)         SPEX_END_(spex_tpt_##id, tpt, id)
#define LLC_PROBE_BEGIN(id, sc)   SPEX_COUNTER_BEGIN_(spex_llc_##id, llc, SPEX_LLC, 0, id, sc)
#define LLC_PROBE_END(id)         SPEX_COUNTER_END_(spex_llc_##id, llc, id)
#define FLT_PROBE_BEGIN(id, sc)   SPEX_BEGIN_(spex_flt_##id, flt, SPEX_FLT, id, sc)
#define FLT_PROBE_END(id)         SPEX_END_(spex_flt_##id, flt, id)
#define CTXSW_PROBE_BEGIN(id, sc) SPEX_BEGIN_(spex_ctxsw_##id, ctxsw, SPEX_CTXSW, id, sc)
#define CTXSW_PROBE_END(id)       SPEX_END_(spex_ctxsw_##id, ctxsw, id)
#define PERFCNTR_PROBE_BEGIN(id, sc, pcid)                                                         \
    SPEX_COUNTER_BEGIN_(spex_perfcntr_##id, perfcntr, SPEX_PERFCNTR, pcid, id, sc)
#define PERFCNTR_PROBE_END(id)          SPEX_COUNTER_END_(spex_perfcntr_##id, perfcntr, id)
#define SET_PERFCNTR(pcid, event, mask) SPEX_SET_PERFCNTR_(pcid, event, mask)
#define SET_PERFCNTR_NAME(pcid, name)   SPEX_SET_PERFCNTR_NAME_(pcid, name)
#define SNAPSHOT_PROBE(id, ...)         SPEX_SNAPSHOT_(id, SPEX_FIRST_(__VA_ARGS__, 0), __VA_ARGS__)
#endif

#endif
