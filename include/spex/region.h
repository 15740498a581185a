/* SPDX-License-Identifier: MIT */
/* Regions: a region of code with many probes and little work between them costs about as much as
 * one probe while they are off or sampled. Indirect header: programs include spex/probe.h.
 *
 *     SPEX_REGION(1, 20, {
 *         for (int i = 0; i < 10; i++) {
 *             SPEX_LAT_SCOPE("parse");
 *             if (!parse(i))
 *                 break;
 *             SPEX_SNAPSHOT("parsed", i);
 *         }
 *     })
 *
 * SPEX_REGION(id, weight, body)
 *   id      the region's number, a constant of 1 to 65535
 *   weight  the most executions of probes that one pass through the body is expected to make, a
 *           constant of 1 to 16777214
 *   body    a block of statements. SPEX_REGION is a block, too: no semicolon is needed behind it
 *
 * Sampling. While all probes in a region are off, the region costs one load and one branch, and
 * they cost nothing. While one of them is on, all that are on are sampled together, at random: each
 * execution makes a record with probability 1 / period, where the period is the shortest one of
 * those that are on (`sc` where the selection names none). Counts of such probes are therefore
 * estimates, with an interval; with a period of 1 they are exact.
 *
 * The body is compiled twice (Liblit, Aiken, Zheng, Jordan: Bug isolation via remote program
 * sampling, PLDI 2003):
 *
 *     entry ──► more than `weight` executions until the next record?
 *                 │
 *                 ├─ yes ──► fast copy: probes add 1 to a sum, which is counted on leaving
 *                 │
 *                 └─ no ───► slow copy: each probe tests whether it is the next to be recorded
 *
 * A pass that makes more executions than `weight` loses nothing while it does not reach the next
 * record. When it does, one line on standard error says so, and the region uses the number that it
 * has seen from then on.
 *
 * Rules for the body
 *  - It may be left by break, continue, return, goto, and in C++ by an exception. A pass that ends
 *    by longjmp or by the thread's end is not counted.
 *  - No label: it would exist twice, and compilers report "duplicate label".
 *  - No static variable: it would exist twice. "static" in the body is an error, except where clang
 *    compiles C without optimisation, and where the word comes out of a macro. A string in the body
 *    that contains the word and a space is an error, too. Declare the variable before the region.
 *  - No preprocessor directive: the body is the argument of a macro. A debugger sees it as one
 *    line.
 *    clang's -Wdeclaration-after-statement warns of the probes there.
 *  - No KERNEL probe (kernel.h).
 *  - A region within the body of another is a part of the outer one.
 *  - A region that is entered while the same thread passes through a region with the same id
 *    (recursion, a signal handler) is sampled by itself for that pass; its probes cost a call each.
 *  - A lambda that outlives the pass must have no probes: they would count for a pass that has
 *    ended.
 *
 * Threads and signal handlers: as probe.h. */
#ifndef SPEX_REGION_H
#define SPEX_REGION_H

#include <spex/detail/names_begin.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spex/atomic.h>
#include <spex/compiler.h>
#include <spex/site.h>

SPEX_HEADER_BEGIN_

/* One pass of a thread through a region, on the thread's stack. */
struct spex_region_pass {
    /* The region's site. */
    struct spex_site *site;
    /* The thread's count of that site (spex_executed); NULL: nothing is to be counted. */
    uint32_t *word;
    /* Executions since entry, or since the last record. */
    uint64_t sum;
    /* The site's control word at entry. */
    uint32_t control;
    /* Executions from there to the next record, that one included; 0: another pass has the
     * countdown. */
    uint32_t left;
};

/* What spex_region_sample decides about an execution. */
struct spex_region_turn {
    /* As the result of spex_sample_. */
    uint32_t sampled;
    /* Executions from here to the next record. */
    uint32_t left;
};

/* A bit of the thread's count: a pass is under way, which has the countdown. */
#define SPEX_REGION_ENTERED (SPEX_CONTROL_PERIOD_MASK + 1)

/* A value of `left`: this thread has no state. The pass takes the fast copy, with 0 in `left`, and
 * its executions are told as not recorded. */
#define SPEX_REGION_UNCOUNTED UINT32_MAX

SPEX_EXTERN_C_BEGIN

/* The functions of libspex that regions call. Any thread, signal handlers.
 *
 * spex_region_enter returns `left` at entry, where the inline half cannot tell that it is larger
 * than the weight. */
SPEX_PROBE_API uint32_t spex_region_enter(struct spex_site *region, uint32_t control);

/* An execution in the slow copy that is recorded, or for which the library decides. */
SPEX_PROBE_API struct spex_region_turn spex_region_sample(struct spex_site *region,
                                                          struct spex_site *site, uint32_t control,
                                                          uint32_t left);

/* The end of a pass that has reached the next record, or whose count has been changed meanwhile. */
SPEX_PROBE_API void spex_region_leave(struct spex_site *region, uint32_t control, uint32_t left,
                                      uint64_t sum);

SPEX_EXTERN_C_END

/* The copy that a probe stands in (0: none, 1: fast, 2: slow), and the region's id. Blocks within
 * SPEX_REGION shadow these names. */
enum { spex_region_copy_ = 0, spex_region_id_ = 0 };
extern struct spex_region_pass spex_region_pass_[]
    __attribute__((__weak__, __visibility__("hidden")));

/* Returns true when the pass takes the fast copy. A region's site always has a countdown, so
 * control - word is what is left of it. */
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
    if (left == SPEX_REGION_UNCOUNTED) {
        pass->word = word;
        return true;
    }
    pass->word = left ? spex_executed + site->index : SPEX_NULL_;
    pass->left = left;
    return left > weight;
}

SPEX_INLINE struct spex_site **spex_region_site_(struct spex_region_pass *pass) {
    return &pass->site;
}

/* The end of a pass: gives the countdown back, less the executions of the pass. */
SPEX_INLINE void spex_region_leave_(const struct spex_region_pass *pass) {
    if (SPEX_LIKELY(!pass->word))
        return;
    uint32_t begin = pass->control - pass->left;
    if (SPEX_LIKELY(pass->sum < pass->left &&
                    spex_load_relaxed(pass->word) == (begin | SPEX_REGION_ENTERED)))
        spex_store_relaxed(pass->word, begin + SPEX_CAST_(uint32_t, pass->sum));
    else
        spex_region_leave(pass->site, pass->control, pass->left, pass->sum);
}

/* A probe in the fast copy: makes no record. */
SPEX_INLINE uint32_t spex_region_count_(struct spex_region_pass *pass) {
    pass->sum++;
    return 0;
}

/* A probe in the slow copy; returns what spex_sample_ does. */
SPEX_INLINE uint32_t spex_region_sample_(struct spex_region_pass *pass, struct spex_site *site) {
    pass->sum++;
    if (SPEX_LIKELY(pass->sum < pass->left))
        return 0;
    struct spex_region_turn turn = spex_region_sample(pass->site, site, pass->control, pass->left);
    pass->sum = 0;
    pass->left = turn.left;
    if (SPEX_UNLIKELY(!turn.left))
        pass->word = SPEX_NULL_;
    return turn.sampled;
}

#ifndef SPEX_DISABLE

/* Refuses a static variable in the body, which the two copies would have twice. `text` is the
 * body's text.
 *
 * C++: constexpr functions search the text. C++11 allows them one return statement each, so the
 * search is recursive; it halves the text, to stay within the compiler's limit of depth (512).
 * C: gcc, and clang with optimisation, fold strstr, and a call of a function that has the attribute
 * "error" remains where the word was found. */
#ifdef __cplusplus
constexpr bool spex_region_begins_(const char *text, const char *word) {
    return !*word || (*text == *word && spex_region_begins_(text + 1, word + 1));
}
constexpr bool spex_region_static_(const char *text, size_t length) {
    return length > 1
               ? spex_region_static_(text, length / 2) ||
                     spex_region_static_(text + length / 2, length - length / 2)
               : spex_region_begins_(text, "static ") || spex_region_begins_(text, "thread_local ");
}
#define SPEX_REGION_NO_STATIC_(text)                                                               \
    static_assert(!spex_region_static_(text, sizeof(text)),                                        \
                  "spex: a static variable in a SPEX_REGION would be there twice");
#elif defined(__clang__) && !defined(__OPTIMIZE__)
#define SPEX_REGION_NO_STATIC_(text)
#else
void spex_region_static_(void)
    __attribute__((__error__("spex: a static variable in a SPEX_REGION would be there twice")));
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
    SPEX_LATE_BEGIN_                                                                               \
    _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wshadow\"")
#define SPEX_REGION_LOUD_ _Pragma("GCC diagnostic pop") SPEX_LATE_END_

/* The conditions are constants, so that the compiler drops the sites of the fast copy: each site
 * exists once. A region in a copy of another region takes the same copy. The macro consists of
 * blocks and ifs, so that break and continue in the body belong to the loop around the region. */
#define SPEX_REGION(id, weight, ...)                                                               \
    {                                                                                              \
        SPEX_STATIC_ASSERT_((id) >= 1 && (id) <= 65535, "spex: the id of a region is 1 to 65535"); \
        SPEX_STATIC_ASSERT_((weight) >= 1 && (weight) <= SPEX_CONTROL_PERIOD_MAX,                  \
                            "spex: the weight of a region is 1 to 16777214");                      \
        SPEX_REGION_NO_STATIC_(#__VA_ARGS__)                                                       \
        SPEX_REGION_QUIET_                                                                         \
        enum { spex_region_outer_ = spex_region_copy_, spex_region_outer_id_ = spex_region_id_ };  \
        struct spex_region_pass spex_region_own_                                                   \
            __attribute__((__cleanup__(spex_region_leave_))) = {SPEX_NULL_, SPEX_NULL_, 0, 0, 0};  \
        struct spex_region_pass *const spex_region_now_ =                                          \
            spex_region_outer_ == 0 ? &spex_region_own_ : spex_region_pass_;                       \
        SPEX_REGION_LOUD_ {                                                                        \
            SPEX_REGION_QUIET_                                                                     \
            enum { spex_region_id_ = spex_region_outer_ == 0 ? (id) : spex_region_outer_id_ };     \
            struct spex_region_pass *const spex_region_pass_ = spex_region_now_;                   \
            (void)spex_region_pass_;                                                               \
            SPEX_REGION_LOUD_                                                                      \
            if (spex_region_outer_ == 0)                                                           \
                SPEX_SITE_ASM_(*spex_region_site_(&spex_region_own_), 0, 0, 0, 0, weight, "");     \
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

SPEX_HEADER_END_

#include <spex/detail/names_end.h>

#endif
