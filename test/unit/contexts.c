/* SPDX-License-Identifier: MIT */
/* The tree of calling contexts against a plain model of it, until it has no room any more; and in
 * several threads at once. */
#include <pthread.h>

#include <spex/atomic.h>
#include <spex/kernel.h>

#include "../check.h"
#include "probe/contexts.h"

enum { KERNELS = 60, STEPS = 200000, THREADS = 4, TOGETHER = 400, FIRST_KERNEL = 1000 };

/* By node: its parent, its kernel, and where each kernel leads from it; 0: not known. */
static struct {
    uint32_t parent;
    uint16_t kernel;
    uint32_t to[KERNELS];
} model[SPEX_CONTEXTS_MAX + 1];

/* The last node that there is. */
static uint32_t last = SPEX_CONTEXT_ROOT;

static void expect_node(uint32_t number) {
    struct spex_context_node node;
    assert_true(spex_context_node(number, &node));
    assert_int_equal(node.parent, model[number].parent);
    assert_int_equal(node.kernel, model[number].kernel);
}

/* The node of the kernel around `from`, or a new one. */
static uint32_t model_step(uint32_t from, unsigned kernel, uint32_t is) {
    uint16_t number = (uint16_t)(FIRST_KERNEL + kernel);
    uint32_t *to = &model[from].to[kernel], at = from;
    while (!*to && at != SPEX_CONTEXT_ROOT && model[at].kernel != number)
        at = model[at].parent;
    if (!*to && at != SPEX_CONTEXT_ROOT)
        *to = at;
    if (!*to && is != from) {
        *to = ++last;
        model[last].parent = from;
        model[last].kernel = number;
    }
    return *to ? *to : from;
}

static pthread_barrier_t barrier;
static uint32_t found[THREADS][TOGETHER];

static void *step_together(void *number) {
    uint32_t *mine = found[*(const unsigned *)number];
    for (unsigned s = 0; s < TOGETHER; s++) {
        pthread_barrier_wait(&barrier);
        mine[s] = spex_context_step(SPEX_CONTEXT_ROOT << 16 | (FIRST_KERNEL + KERNELS + s));
    }
    return NULL;
}

/* Whoever comes first, all threads go to the same node, which is the kernel's. */
TEST(threads_agree_on_new_contexts) {
    static const unsigned numbers[THREADS] = {0, 1, 2, 3};
    pthread_t threads[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (unsigned t = 0; t < THREADS; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, step_together, (void *)&numbers[t]), 0);
    for (unsigned t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    pthread_barrier_destroy(&barrier);
    for (unsigned s = 0; s < TOGETHER; s++) {
        struct spex_context_node node;
        for (unsigned t = 1; t < THREADS; t++)
            assert_int_equal(found[t][s], found[0][s]);
        assert_true(spex_context_node(found[0][s], &node));
        assert_int_equal(node.parent, SPEX_CONTEXT_ROOT);
        assert_int_equal(node.kernel, FIRST_KERNEL + KERNELS + s);
    }
}

TEST(any_walk_is_that_of_the_model) {
    uint64_t seed = 1, refused = 0;
    uint32_t from = SPEX_CONTEXT_ROOT;
    struct spex_context_node node;
    assert_int_equal(spex_contexts_refused(), 0);
    while (spex_context_node(last + 1, &node))
        last++;
    const uint32_t first = last + 1;
    for (unsigned s = 0; s < STEPS; s++) {
        unsigned kernel = (unsigned)random_below(&seed, KERNELS);
        uint32_t key = from << 16 | (FIRST_KERNEL + kernel);
        bool known = model[from].to[kernel];
        uint32_t to = spex_context_step(key);
        assert_int_equal(to, model_step(from, kernel, to));
        /* Where a kernel stays in the context around it, there was no room. */
        refused += !known && !model[from].to[kernel];
        assert_int_equal(spex_contexts_refused(), refused);
        assert_true(!refused || last > SPEX_CONTEXTS_MAX / 4);
        assert_true(last <= SPEX_CONTEXTS_MAX);
        from = to;
        while (from != SPEX_CONTEXT_ROOT && random_below(&seed, 3) == 0)
            from = model[from].parent;
    }
    for (uint32_t number = first; number <= last; number++)
        expect_node(number);
    assert_true(last > SPEX_CONTEXTS_MAX / 4 && refused > 0);
    assert_false(spex_context_node(0, &node));
    assert_false(spex_context_node(SPEX_CONTEXT_ROOT, &node));
    assert_false(spex_context_node(last + 1, &node));
    assert_false(spex_context_node(SPEX_CONTEXTS_MAX + 1, &node));
    assert_false(spex_context_node(UINT64_C(1) << 32 | 2, &node));
}
