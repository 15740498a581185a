/* SPDX-License-Identifier: MIT */
/* Kernels: functions and loops whose time depends on parameters, and on where they are called from.
 *
 *     void sort(struct row *rows, size_t n) {
 *         SPEX_KERNEL_SCOPE("sort", 1, n);     from here to the end of the block
 *         …
 *     }
 *
 *     SPEX_KERNEL_BEGIN(load, 1, n);           what is no block
 *     load(rows, n);
 *     SPEX_KERNEL_END(load);
 *
 * SPEX_KERNEL_SCOPE(name, sc, p1, …) is a probe of type `kernel`. What probe.h says of names, `sc`,
 * threads and signal handlers holds for it, but `sc` is always there: 1 where each execution makes
 * a record. Up to SPEX_KERNEL_PARAMETERS parameters follow it: numbers, as the values of a
 * SNAPSHOT, each evaluated once, and only by an execution that makes a record or is polled. A
 * parameter's name is its text: above, `n`. Record: {ticks, context, parameters}.
 *
 * The calling context (Bhattacharyya and Amza: ADLER, section 3.1) is the path of kernels that are
 * on and that this thread is executing. Every execution of a kernel that is on enters a node below
 * that of the kernel around it, whether it makes a record or not, and leaves it with the block,
 * however the block is left:
 *
 *     main ── sort ── compare          in `compare` called by `sort`, node 3
 *          └─ load ── compare          in `compare` called by `load`, node 5
 *
 * Recursion: a kernel that is called within an execution of its own is in the node of that outer
 * execution. This holds for recursion through several kernels, too.
 *
 * Limits
 *  - A process has SPEX_CONTEXTS_MAX nodes. A kernel that finds none left stays in the node of the
 *    kernel around it, and its records hold that node.
 *  - After a longjmp out of a kernel, the thread stays in the kernel's context until the kernel
 *    around it ends.
 *  - A kernel cannot stand in a SPEX_REGION.
 *  - A coroutine must not be suspended within a kernel: what the thread executes next would be in
 *    the kernel's context. */
#ifndef SPEX_KERNEL_H
#define SPEX_KERNEL_H

#include <spex/detail/names_begin.h>

#include <spex/detail/recording.h>
#include <spex/detail/scopes.h>
#include <spex/probe.h>
#include <spex/record.h>
#include <spex/sdt.h>

SPEX_HEADER_BEGIN_

/* A kernel's state between BEGIN and END, on the program's stack. */
struct spex_kernel_span {
    /* Ticks at BEGIN, of an execution that makes a record or is polled; otherwise 0. */
    uint64_t begin;
    /* The result of spex_sample_. */
    uint32_t weight;
    /* The node that was entered. */
    uint32_t context;
    /* The node to return to; 0: no node was entered, or it has been left. */
    uint32_t before;
};

SPEX_EXTERN_C_BEGIN

/* The node that this thread is in; SPEX_CONTEXT_ROOT outside of all kernels. */
SPEX_PROBE_API extern __thread uint32_t spex_context __attribute__((__tls_model__("initial-exec")));

/* The node that a kernel enters from a node: a hash table over SPEX_CONTEXT_KEY_(node, kernel). The
 * upper half of an entry is the key, the lower half the node that is entered; 0: the entry is
 * empty. Entries are added with a release and never change, so one acquire finds the node. */
#define SPEX_CONTEXT_STEPS_BITS 15
SPEX_PROBE_API extern uint64_t spex_context_steps[1u << SPEX_CONTEXT_STEPS_BITS];

/* The functions of libspex that kernels call. Any thread, signal handlers; lock-free.
 *
 * Returns the node to enter for a key that is not at its first place in the table; adds a node
 * where there is none. Without room it returns the node of the key. */
SPEX_PROBE_API uint32_t spex_context_step(uint32_t key);

/* END of an execution that makes a record. The site knows the number of parameters. */
SPEX_PROBE_API void spex_kernel_end(struct spex_site *site, uint32_t weight, uint32_t context,
                                    uint64_t begin, uint64_t now, const uint64_t *parameters);

/* BEGIN and END of an execution that is polled: the library may record it, or look at it while it
 * goes on, at the rate that its model sets. BEGIN returns its time in ticks; 0: the library does
 * neither. */
SPEX_PROBE_API uint64_t spex_kernel_published(struct spex_site *site, uint32_t context,
                                              const uint64_t *parameters);
SPEX_PROBE_API void spex_kernel_published_end(struct spex_site *site, uint32_t weight,
                                              uint32_t context, uint64_t begin,
                                              const uint64_t *parameters);

/* The end of such an execution that leaves its block without END. */
SPEX_PROBE_API void spex_kernel_published_left(uint64_t begin);

SPEX_EXTERN_C_END

/* A key has the node in its upper 16 bits and the probe's number in the lower ones. The hash is
 * multiplicative (Knuth), and yields an index of the table. */
#define SPEX_CONTEXT_KEY_(node, kernel) ((node) << 16 | (kernel))
#define SPEX_CONTEXT_HASH_(key)         ((key)*2654435761u >> (32 - SPEX_CONTEXT_STEPS_BITS))

/* BEGIN: enters the kernel's node. The usual case is one load and one comparison. */
SPEX_INLINE void spex_kernel_enter_(struct spex_kernel_span *span, uint32_t kernel) {
    uint32_t node = spex_context, key = SPEX_CONTEXT_KEY_(node, kernel);
    const uint64_t *place = &spex_context_steps[SPEX_CONTEXT_HASH_(key)];
    uint64_t step = spex_load_acquire(place); /* N3 (N1 in contexts.c): the node */
    span->before = node;
    span->context = SPEX_LIKELY(step >> 32 == key) ? SPEX_LOW_(step) : spex_context_step(key);
    spex_context = span->context;
}

/* BEGIN of a kernel that is on. Returns what spex_sample_ does; when that is not 0, the caller sets
 * the parameters and calls spex_kernel_begun_. */
SPEX_INLINE uint32_t spex_kernel_begin_(struct spex_site *site, struct spex_kernel_span *span) {
    spex_kernel_enter_(span, spex_load_relaxed(&site->probe_id));
    span->weight = spex_sample_(site);
    return span->weight;
}

SPEX_INLINE void spex_kernel_begun_(struct spex_site *site, struct spex_kernel_span *span,
                                    const uint64_t *parameters) {
    if (SPEX_LIKELY(spex_records_(span->weight)))
        span->begin = spex_ticks();
    else
        span->begin = spex_kernel_published(site, span->context, parameters);
}

/* Returns to the node of the kernel around this one, once. */
SPEX_INLINE void spex_kernel_leave_(struct spex_kernel_span *span) {
    spex_context = span->before;
    span->before = 0;
}

/* At the end of the block: leaves the node, if END has not done so. */
SPEX_INLINE void spex_kernel_out_(struct spex_kernel_span *span) {
    if (SPEX_UNLIKELY(span->before)) {
        spex_kernel_leave_(span);
        if (span->begin && !spex_records_(span->weight))
            spex_kernel_published_left(span->begin);
    }
}

/* END: makes the record or ends the poll, and leaves the node. A kernel that was off at BEGIN has
 * entered none, and does nothing here.
 *
 * `parameters` is not const, because it is not initialised where the weight is 0, and compilers
 * warn when an uninitialised array is passed as const. */
SPEX_INLINE void spex_kernel_end_(struct spex_site *site, struct spex_kernel_span *span,
                                  uint64_t *parameters) {
    if (SPEX_UNLIKELY(span->before)) {
        if (SPEX_UNLIKELY(span->weight)) {
            if (SPEX_LIKELY(spex_records_(span->weight)))
                spex_kernel_end(site, span->weight, span->context, span->begin, spex_ticks(),
                                parameters);
            else
                spex_kernel_published_end(site, span->weight, span->context, span->begin,
                                          parameters);
        }
        spex_kernel_leave_(span);
    }
}

/* The variable of a kernel that ends with its block. */
struct spex_kernel_scope {
    struct spex_site *site;
    struct spex_kernel_span *span;
    uint64_t *parameters;
    uint16_t probe_id;
};

/* The cleanup function of the variable. */
SPEX_INLINE void spex_kernel_scope_end_(const struct spex_kernel_scope *scope) {
    spex_kernel_end_(scope->site, scope->span, scope->parameters);
    SPEX_SDT_SCOPE_END_(kernel_, scope);
}

#ifndef SPEX_DISABLE

/* BEGIN. Leaves a site in the object file, declares the span and the array of parameters, and
 * enters the node if the kernel is on. The control word is loaded first without an acquire, because
 * spex_sample_ loads it again. The cleanup function of the span leaves the node where the block is
 * left without END.
 *
 * The text of the arguments, from `sc` on, follows the source file's name in the site's string: it
 * has the parameters' names. spex_values_[0] is `sc`. */
#define SPEX_KERNEL_BEGIN_(var, id, sc, text, ...)                                                 \
    (void)0;                                                                                       \
    SPEX_LATE_BEGIN_                                                                               \
    SPEX_BRACES_(var)                                                                              \
    SPEX_STATIC_ASSERT_(spex_region_copy_ == 0, "spex: a kernel cannot stand in a SPEX_REGION");   \
    SPEX_STATIC_ASSERT_(SPEX_COUNT_(__VA_ARGS__) <= SPEX_KERNEL_PARAMETERS + 1,                    \
                        "spex: too many parameters for one kernel");                               \
    SPEX_CHECK_ID_(id);                                                                            \
    SPEX_KINDS_(var##_kinds, __VA_ARGS__);                                                         \
    SPEX_VALUES_SITE_(var##_site, SPEX_KERNEL, SPEX_COUNT_(__VA_ARGS__) - 1, var##_kinds, id, sc,  \
                      text, #id);                                                                  \
    SPEX_SDT_BEGIN_(kernel_, id);                                                                  \
    uint64_t var##_parameters[SPEX_KERNEL_PARAMETERS];                                             \
    struct spex_kernel_span var __attribute__((__cleanup__(spex_kernel_out_))) = {0, 0, 0, 0};     \
    if (SPEX_UNLIKELY(spex_site_on_(var##_site))) {                                                \
        if (SPEX_UNLIKELY(spex_kernel_begin_(var##_site, &var))) {                                 \
            const uint64_t spex_values_[] = {SPEX_WORDS_(__VA_ARGS__)};                            \
            for (unsigned spex_at_ = 1; spex_at_ < SPEX_COUNT_(__VA_ARGS__); spex_at_++)           \
                var##_parameters[spex_at_ - 1] = spex_values_[spex_at_];                           \
            spex_kernel_begun_(var##_site, &var, var##_parameters);                                \
        }                                                                                          \
    }                                                                                              \
    SPEX_LATE_END_(void) 0

/* END, for the variables of BEGIN. */
#define SPEX_KERNEL_END_(var, id)                                                                  \
    SPEX_SDT_END_(spex_kernel_end_(var##_site, &var, var##_parameters), kernel_, id)

/* The scope is declared behind the span, so that its cleanup, END, comes first. */
#define SPEX_KERNEL_SCOPE_(var, id, sc, text, ...)                                                 \
    SPEX_KERNEL_BEGIN_(var##_span, id, sc, text, __VA_ARGS__);                                     \
    SPEX_LATE_BEGIN_                                                                               \
    const struct spex_kernel_scope var                                                             \
        __attribute__((__cleanup__(spex_kernel_scope_end_), __unused__)) = {                       \
            var##_span_site, &var##_span, var##_span_parameters, SPEX_ID_(id)};                    \
    SPEX_LATE_END_(void) 0

#else

/* With SPEX_DISABLE the arguments are compiled and never evaluated, and END needs its BEGIN, as in
 * spex/detail/disabled.h. */
#define SPEX_KERNEL_NOTHING_(...)                                                                  \
    do {                                                                                           \
        SPEX_KINDS_(spex_kinds_, __VA_ARGS__);                                                     \
        if (0) {                                                                                   \
            uint64_t spex_values_[] = {SPEX_WORDS_(__VA_ARGS__)};                                  \
            (void)spex_values_;                                                                    \
        }                                                                                          \
    } while (0)
#define SPEX_KERNEL_BEGIN_(var, id, sc, text, ...)                                                 \
    (void)0;                                                                                       \
    enum { var = SPEX_NUMBER_(id) + 0 * (sc) };                                                    \
    SPEX_KERNEL_NOTHING_(__VA_ARGS__)
#define SPEX_KERNEL_END_(var, id) ((void)var)
#define SPEX_KERNEL_SCOPE_(var, id, sc, text, ...)                                                 \
    (void)0;                                                                                       \
    SPEX_STATIC_ASSERT_(SPEX_NUMBER_(id) >= 0 && (sc) >= 1,                                        \
                        "spex: an id and a subsampling counter");                                  \
    SPEX_KERNEL_NOTHING_(__VA_ARGS__)

#endif

#define SPEX_KERNEL_SCOPE(id, ...)                                                                 \
    SPEX_KERNEL_SCOPE_AT_(__COUNTER__, id, SPEX_FIRST_(__VA_ARGS__, 0), #__VA_ARGS__, __VA_ARGS__)
#define SPEX_KERNEL_SCOPE_AT_(number, id, sc, text, ...)                                           \
    SPEX_KERNEL_SCOPE_NAMED_(number, id, sc, text, __VA_ARGS__)
#define SPEX_KERNEL_SCOPE_NAMED_(number, id, sc, text, ...)                                        \
    SPEX_KERNEL_SCOPE_(spex_scope_##number##_needs_braces, id, sc, text, __VA_ARGS__)

#define SPEX_KERNEL_BEGIN(name, ...)                                                               \
    SPEX_KERNEL_BEGIN_(spex_kernel_##name##_needs_braces, #name, SPEX_FIRST_(__VA_ARGS__, 0),      \
                       #__VA_ARGS__, __VA_ARGS__)
#define SPEX_KERNEL_END(name) SPEX_KERNEL_END_(spex_kernel_##name##_needs_braces, #name)

/* With a number, as in paper.h. */
#define SPEX_KERNEL_PROBE_BEGIN(id, ...)                                                           \
    SPEX_KERNEL_BEGIN_(spex_kernel_##id##_needs_braces, id, SPEX_FIRST_(__VA_ARGS__, 0),           \
                       #__VA_ARGS__, __VA_ARGS__)
#define SPEX_KERNEL_PROBE_END(id) SPEX_KERNEL_END_(spex_kernel_##id##_needs_braces, id)
#ifndef SPEX_NO_SHORT_NAMES
#define KERNEL_PROBE_BEGIN SPEX_KERNEL_PROBE_BEGIN
#define KERNEL_PROBE_END   SPEX_KERNEL_PROBE_END
#endif

SPEX_HEADER_END_

#include <spex/detail/names_end.h>

#endif
