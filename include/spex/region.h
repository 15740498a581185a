/* SPDX-License-Identifier: MIT */
/* Regions: many probes with little work between them, for what one of them costs. Indirect header: programs include
 * spex/probe.h.
 *
 *     SPEX_REGION(1, 20, {
 *         for (int i = 0; i < 10; i++) {
 *             LAT_PROBE_BEGIN(PARSE, 1);
 *             if (!parse(i))
 *                 break;
 *             LAT_PROBE_END(PARSE);
 *             SNAPSHOT_PROBE(PARSED, 1, i);
 *         }
 *     })
 *
 * `id` is the region's number, a constant of 1 to 65535, and `weight` the most executions of probes that one pass
 * through it is expected to make, a constant of 1 to 16777214. Off, a region costs one load and one branch, and the
 * probes in it nothing. While one of them is on, they are sampled together, at random: each execution with a
 * probability of 1 / period, the shortest period of those that are on; `sc` counts as the period where the selection
 * names none. So counts of what stands in regions are estimates, with an interval, and a period of 1 records all.
 *
 * The body is compiled twice (Liblit, Aiken, Zheng, Jordan: Bug isolation via remote program sampling, PLDI 2003):
 *
 *     entry ──► more than `weight` executions until the next record? ──yes──► fast copy: probes add 1 to a sum
 *                      │                                                                │
 *                      no                                                        left: the sum is counted
 *                      ▼
 *               slow copy: every probe looks whether its turn has come, and is recorded then
 *
 *  - Leaving is free: break, continue, return, goto out of the body, in C++ exceptions. A pass that longjmp or the
 *    thread's end leaves is not counted.
 *  - A label in the body would be there twice: compilers refuse it ("duplicate label"). So would a variable that is
 *    static: "static" is refused, by clang in C with optimisation only, and not where it comes out of a macro. It stands
 *    before the region instead. A string in the body with that word in it, followed by a space, is refused with it.
 *  - The preprocessor sees the body as an argument: no directives in it; and a debugger sees one line.
 *  - A region in the body of another is part of it. One that is entered while another of the same number, or itself,
 *    is being passed (recursion, signal handlers) is a region of its own for that pass, whose probes cost a call.
 *  - A lambda that the body leaves behind must have no probes in it: they would count for a pass that has ended.
 *  - More executions in a pass than `weight` are no loss while they do not reach the next record. When they do, that is
 *    said once on standard error, and the region goes by what it has seen from then on.
 *
 * It is a block, not an expression: no semicolon is needed behind it. */
#ifndef SPEX_REGION_H
#define SPEX_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spex/atomic.h>
#include <spex/compiler.h>
#include <spex/site.h>

/* A thread's pass through a region, on the stack. */
struct spex_region_pass {
    struct spex_site *site; /* the region's own */
    uint32_t *word;         /* the thread's of it; null: nothing is to be counted */
    uint64_t sum;           /* executions since entry, or since the last record */
    uint32_t control;       /* the site's, at entry */
    uint32_t
        left; /* executions then to the next record, itself included; 0: the countdown is another's */
};

struct spex_region_turn {
    uint32_t sampled; /* as spex_sample_ */
    uint32_t left;    /* from here */
};

/* In the thread's word: a pass is under way that has the countdown for itself. */
#define SPEX_REGION_ENTERED (SPEX_CONTROL_PERIOD_MASK + 1)

/* As what is left: this thread has no state. */
#define SPEX_REGION_UNCOUNTED UINT32_MAX

SPEX_EXTERN_C_BEGIN

/* What is left at entry where the inline half does not see that it is enough. */
SPEX_PROBE_API uint32_t spex_region_enter(struct spex_site *region, uint32_t control);

/* An execution in the slow copy whose turn has come, or is to be found out. */
SPEX_PROBE_API struct spex_region_turn spex_region_sample(struct spex_site *region,
                                                          struct spex_site *site, uint32_t control,
                                                          uint32_t left);

/* A pass that has come to the next record, or whose word was changed under it. */
SPEX_PROBE_API void spex_region_leave(struct spex_site *region, uint32_t control, uint32_t left,
                                      uint64_t sum);

SPEX_EXTERN_C_END

/* Which copy the code around a probe is, 0 none, 1 fast, 2 slow, and of which region; blocks shadow them. */
enum { spex_region_copy_ = 0, spex_region_id_ = 0 };
extern struct spex_region_pass spex_region_pass_[] __attribute__((weak, visibility("hidden")));

/* Whether the fast copy is to be taken. A region's site always has a countdown: control - word is what is left. */
SPEX_INLINE bool spex_region_enter_(struct spex_region_pass *pass) {
    struct spex_site *site = pass->site;
    if (!SPEX_UNLIKELY(spex_load_relaxed(&site->control)))
        return true;
    uint32_t control = spex_load_acquire(&site->control); /* P1 (P2 in control_word.c) */
    uint32_t weight = spex_load_relaxed(&site->subsample);
    uint32_t *word = spex_executed + site->index;
    uint32_t left = control - spex_load_relaxed(word);
    pass->control = control;
    /* weight < left <= SPEX_CONTROL_PERIOD_MASK: the same generation, and not entered. */
    if (SPEX_LIKELY(left - weight - 1 < SPEX_CONTROL_PERIOD_MASK - weight)) {
        spex_store_relaxed(word, (control - left) | SPEX_REGION_ENTERED);
        pass->word = word;
        pass->left = left;
        return true;
    }
    left = spex_region_enter(site, control);
    if (left == SPEX_REGION_UNCOUNTED)
        return true;
    pass->word = left ? spex_executed + site->index : NULL;
    pass->left = left;
    return left > weight;
}

#ifdef __cplusplus
#define SPEX_REGION_SUM_(pass) static_cast<uint32_t>((pass)->sum)
#else
#define SPEX_REGION_SUM_(pass) ((uint32_t)(pass)->sum)
#endif

SPEX_INLINE void spex_region_leave_(const struct spex_region_pass *pass) {
    if (SPEX_LIKELY(!pass->word))
        return;
    uint32_t begin = pass->control - pass->left;
    if (SPEX_LIKELY(pass->sum < pass->left &&
                    spex_load_relaxed(pass->word) == (begin | SPEX_REGION_ENTERED)))
        spex_store_relaxed(pass->word, begin + SPEX_REGION_SUM_(pass));
    else
        spex_region_leave(pass->site, pass->control, pass->left, pass->sum);
}

/* In the fast copy: nothing is to be recorded. */
SPEX_INLINE uint32_t spex_region_count_(struct spex_region_pass *pass) {
    pass->sum++;
    return 0;
}

SPEX_INLINE uint32_t spex_region_sample_(struct spex_region_pass *pass, struct spex_site *site) {
    pass->sum++;
    if (SPEX_LIKELY(pass->sum < pass->left))
        return 0;
    struct spex_region_turn turn = spex_region_sample(pass->site, site, pass->control, pass->left);
    pass->sum = 0;
    pass->left = turn.left;
    if (SPEX_UNLIKELY(!turn.left))
        pass->word = NULL;
    return turn.sampled;
}

#ifndef SPEX_DISABLE

/* What the body declares static would be there twice. `text`: the body's. */
#ifdef __cplusplus
constexpr bool spex_region_begins_(const char *text, const char *word) {
    while (*word && *text == *word) {
        text++;
        word++;
    }
    return !*word;
}
constexpr bool spex_region_static_(const char *text) {
    for (; *text; text++)
        if (spex_region_begins_(text, "static ") || spex_region_begins_(text, "thread_local "))
            return true;
    return false;
}
#define SPEX_REGION_NO_STATIC_(text)                                                               \
    static_assert(!spex_region_static_(text),                                                      \
                  "spex: a static variable in a SPEX_REGION would be there twice");
#elif defined(__clang__) && !defined(__OPTIMIZE__)
#define SPEX_REGION_NO_STATIC_(text)
#else
void spex_region_static_(void)
    __attribute__((error("spex: a static variable in a SPEX_REGION would be there twice")));
#ifdef __clang__
#define SPEX_REGION_NO_STATIC_(text)                                                               \
    {                                                                                              \
        const char *const spex_static_ = __builtin_strstr(__extension__ text, "static ");          \
        if (__builtin_constant_p(spex_static_ == 0) && spex_static_)                               \
            spex_region_static_();                                                                 \
    }
#else
#define SPEX_REGION_NO_STATIC_(text)                                                               \
    if (__builtin_constant_p(__builtin_strstr(__extension__ text, "static ") != 0) &&              \
        __builtin_strstr(__extension__ text, "static ") != 0)                                      \
        spex_region_static_();
#endif
#endif

#define SPEX_REGION_QUIET_                                                                         \
    _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wshadow\"")
#define SPEX_REGION_LOUD_ _Pragma("GCC diagnostic pop")

/* Conditions that are constants fold away, and with them what must not be there twice: the sites. A region within a
 * copy of another takes the same copy. Blocks and ifs alone, so that break and continue mean what they say. */
#define SPEX_REGION(id, weight, ...)                                                               \
    {                                                                                              \
        SPEX_STATIC_ASSERT_((id) >= 1 && (id) <= 65535, "spex: the id of a region is 1 to 65535"); \
        SPEX_STATIC_ASSERT_((weight) >= 1 && (weight) <= SPEX_CONTROL_PERIOD_MAX,                  \
                            "spex: the weight of a region is 1 to 16777214");                      \
        SPEX_REGION_NO_STATIC_(#__VA_ARGS__)                                                       \
        SPEX_REGION_QUIET_                                                                         \
        enum { spex_region_outer_ = spex_region_copy_, spex_region_outer_id_ = spex_region_id_ };  \
        struct spex_region_pass spex_region_own_                                                   \
            __attribute__((cleanup(spex_region_leave_))) = {NULL, NULL, 0, 0, 0};                  \
        struct spex_region_pass *const spex_region_now_ =                                          \
            spex_region_outer_ == 0 ? &spex_region_own_ : spex_region_pass_;                       \
        SPEX_REGION_LOUD_ {                                                                        \
            SPEX_REGION_QUIET_                                                                     \
            enum { spex_region_id_ = spex_region_outer_ == 0 ? (id) : spex_region_outer_id_ };     \
            struct spex_region_pass *const spex_region_pass_ __attribute__((unused)) =             \
                spex_region_now_;                                                                  \
            SPEX_REGION_LOUD_                                                                      \
            if (spex_region_outer_ == 0)                                                           \
                SPEX_SITE_ASM_(spex_region_own_.site, 0, 0, 0, weight);                            \
            if (spex_region_outer_ == 1 ||                                                         \
                (spex_region_outer_ == 0 && spex_region_enter_(&spex_region_own_))) {              \
                SPEX_REGION_QUIET_                                                                 \
                enum { spex_region_copy_ = 1 };                                                    \
                SPEX_REGION_LOUD_ {                                                                \
                    __VA_ARGS__                                                                    \
                }                                                                                  \
            } else {                                                                               \
                SPEX_REGION_QUIET_                                                                 \
                enum { spex_region_copy_ = 2 };                                                    \
                SPEX_REGION_LOUD_ {                                                                \
                    __VA_ARGS__                                                                    \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }

#else

#define SPEX_REGION(id, weight, ...)                                                               \
    {                                                                                              \
        SPEX_STATIC_ASSERT_((id) >= 1 && (weight) >= 1, "spex: id and weight of a region");        \
        { __VA_ARGS__ }                                                                            \
    }

#endif
#endif
