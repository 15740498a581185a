/* SPDX-License-Identifier: MIT */
/* Kernels: the calling contexts that threads walk, held against a model of the walk; and what their
 * records hold. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>

#include <spex/kernel.h>

#include "../check.h"
#include "kernels/kernels_here.h"
#include "places.h"
#include "probe/contexts.h"
#include "seen.h"
#include "site/cost.h"
#include "site/registry.h"

enum { MAIN = 1, FIRST, SECOND, LEAF, RECURSIVE, EVEN, ODD, LEFT, SCOPED, SAMPLED, HANDLED };

SPEX_PROBE_NAME(LEAF, "leaf");

enum { PATH_MAX_LENGTH = 16 };

static void begin(const char *probes) {
    struct spex_options options = {.size = sizeof(options), .probes = probes, .out = "/dev/null"};
    seen_start();
    assert_int_equal(spex_start(&options), 0);
}

/* The kernels from the root to the context of this record, as digits: "124". */
static const char *path_of(const struct spex_record *record) {
    static char path[PATH_MAX_LENGTH + 1];
    struct spex_context_node node;
    size_t at = PATH_MAX_LENGTH;
    uint64_t number = record->fields[1];
    while (number != SPEX_CONTEXT_ROOT) {
        assert_true(spex_context_node(number, &node) && at > 0);
        path[--at] = (char)('0' + node.kernel);
        number = node.parent;
    }
    return path + at;
}

/* The record of this kernel that came `nth`. */
static const struct spex_record *record_of(uint16_t kernel, unsigned nth) {
    for (size_t r = 0; r < seen_count; r++)
        if (seen[r].probe_id == kernel && seen[r].probe_type == SPEX_KERNEL && nth-- == 0)
            return &seen[r];
    fail_msg("kernel %u has no such record", kernel);
    return NULL;
}

#define NOINLINE __attribute__((noinline)) static

NOINLINE void leaf(uint64_t n) {
    KERNEL_PROBE_BEGIN(LEAF, 1, n, n * n, n + 1, n + 2); /* as many as there may be */
    __asm__ volatile("" ::: "memory");
    KERNEL_PROBE_END(LEAF);
}

NOINLINE void calls_leaf(int which, uint64_t n) {
    if (which == FIRST) {
        KERNEL_PROBE_BEGIN(FIRST, 1);
        leaf(n);
        KERNEL_PROBE_END(FIRST);
    } else {
        KERNEL_PROBE_BEGIN(SECOND, 1);
        leaf(n);
        KERNEL_PROBE_END(SECOND);
    }
}

static const char *names_of(uint16_t kernel) {
    for (uint32_t s = 0; s < spex_sites_count(); s++)
        if (spex_site_info(s)->probe_type == SPEX_KERNEL && spex_site_info(s)->probe_id == kernel)
            return spex_site_info(s)->parameters;
    return "none";
}

TEST(parameters_are_called_as_they_are_written) {
    assert_string_equal(names_of(LEAF), "n, n * n, n + 1, n + 2");
    assert_string_equal(names_of(MAIN), "");
    assert_string_equal(names_of(SAMPLED), "evaluate()");
}

TEST(a_kernel_has_a_context_for_each_caller) {
    begin("*:kernel");
    {
        KERNEL_PROBE_BEGIN(MAIN, 1);
        calls_leaf(FIRST, 3);
        calls_leaf(SECOND, 5);
        calls_leaf(FIRST, 7);
        KERNEL_PROBE_END(MAIN);
    }
    leaf(9);
    spex_stop();
    assert_int_equal(seen_count, 8);
    assert_string_equal(path_of(record_of(LEAF, 0)), "124");
    assert_string_equal(path_of(record_of(LEAF, 1)), "134");
    assert_string_equal(path_of(record_of(LEAF, 3)), "4");
    assert_string_equal(path_of(record_of(FIRST, 0)), "12");
    assert_string_equal(path_of(record_of(MAIN, 0)), "1");
    assert_int_equal(record_of(LEAF, 0)->fields[1], record_of(LEAF, 2)->fields[1]);
    assert_int_equal(spex_context, SPEX_CONTEXT_ROOT);
}

TEST(a_record_holds_ticks_and_parameters) {
    begin("leaf");
    uint64_t before = spex_ticks();
    leaf(6);
    uint64_t after = spex_ticks();
    spex_stop();
    const struct spex_record *record = record_of(LEAF, 0);
    assert_int_equal(record->field_count, SPEX_KERNEL_VALUES + 4);
    assert_true(record->fields[0] <= after - before);
    assert_int_equal(record->fields[2], 6);
    assert_int_equal(record->fields[3], 36);
    assert_int_equal(record->fields[5], 8);
    assert_int_equal(record->weight, 1);
}

/* A tick of other processors is longer than an empty span. */
TEST(calibration_has_read_empty_spans) {
    begin("leaf");
    spex_stop();
#ifdef __x86_64__
    assert_true(spex_cost_empty(SPEX_KERNEL).ticks > 0);
#endif
}

/* What is off is in nobody's context. */
TEST(only_kernels_that_are_on_are_in_the_context) {
    begin("leaf,2");
    KERNEL_PROBE_BEGIN(MAIN, 1);
    calls_leaf(FIRST, 3);
    calls_leaf(SECOND, 3);
    KERNEL_PROBE_END(MAIN);
    spex_stop();
    assert_string_equal(path_of(record_of(LEAF, 0)), "24");
    assert_string_equal(path_of(record_of(LEAF, 1)), "4");
}

static unsigned evaluated;

static uint64_t evaluate(void) {
    return ++evaluated;
}

NOINLINE void sampled(void) {
    KERNEL_PROBE_BEGIN(SAMPLED, 1, evaluate());
    leaf(1);
    KERNEL_PROBE_END(SAMPLED);
}

/* Its context is entered by every execution; its parameters are evaluated by those that make
 * records. */
TEST(executions_between_records_are_contexts_too) {
    enum { TIMES = 90, PERIOD = 9 };
    evaluated = 0;
    begin("10@9,leaf");
    for (int i = 0; i < TIMES; i++)
        sampled();
    spex_stop();
    assert_int_equal(seen_count, TIMES + TIMES / PERIOD);
    assert_int_equal(evaluated, TIMES / PERIOD);
    for (size_t r = 0; r < seen_count; r++)
        assert_int_equal(seen[r].weight, seen[r].probe_id == SAMPLED ? PERIOD : 1);
    for (unsigned r = 0; r < TIMES; r++)
        assert_string_equal(path_of(record_of(LEAF, r)), ":4"); /* ':' is '0' + 10 */
}

NOINLINE void recursive(unsigned depth) {
    KERNEL_PROBE_BEGIN(RECURSIVE, 1, depth);
    if (depth > 0)
        recursive(depth - 1);
    leaf(depth);
    KERNEL_PROBE_END(RECURSIVE);
}

NOINLINE void odd(unsigned depth);
NOINLINE void even(unsigned depth) {
    KERNEL_PROBE_BEGIN(EVEN, 1, depth);
    if (depth > 0)
        odd(depth - 1);
    KERNEL_PROBE_END(EVEN);
}

NOINLINE void odd(unsigned depth) {
    KERNEL_PROBE_BEGIN(ODD, 1, depth);
    if (depth > 0)
        even(depth - 1);
    KERNEL_PROBE_END(ODD);
}

TEST(recursion_is_folded) {
    enum { DEPTH = 20 };
    begin("*:kernel");
    recursive(DEPTH);
    even(DEPTH);
    spex_stop();
    for (unsigned r = 0; r <= DEPTH; r++) {
        assert_string_equal(path_of(record_of(RECURSIVE, r)), "5");
        assert_string_equal(path_of(record_of(LEAF, r)), "54");
        assert_int_equal(record_of(RECURSIVE, r)->fields[2], r);
    }
    for (unsigned r = 0; r < DEPTH / 2; r++) {
        assert_string_equal(path_of(record_of(EVEN, r)), "6");
        assert_string_equal(path_of(record_of(ODD, r)), "67");
    }
}

NOINLINE int left(int way) {
    for (int i = 0; i < 2; i++) {
        KERNEL_PROBE_BEGIN(LEFT, 1);
        if (way == 0)
            return 1;
        if (way == 1)
            continue;
        if (way == 2)
            break;
        if (way == 3)
            goto out;
        KERNEL_PROBE_END(LEFT);
    }
out:
    return 0;
}

TEST(a_block_that_is_left_has_been_left) {
    begin("*:kernel");
    for (int way = 0; way < 5; way++) {
        left(way);
        assert_int_equal(spex_context, SPEX_CONTEXT_ROOT);
    }
    {
        SPEX_KERNEL_SCOPE(SCOPED, 1, 8);
        left(0);
        leaf(1);
    }
    assert_int_equal(spex_context, SPEX_CONTEXT_ROOT);
    spex_stop();
    assert_int_equal(seen_count, 4); /* way 4 ends both of its executions */
    assert_string_equal(path_of(record_of(LEAF, 0)), "94");
    assert_int_equal(record_of(SCOPED, 0)->fields[2], 8);
}

static jmp_buf back;

NOINLINE void jumps(void) {
    KERNEL_PROBE_BEGIN(FIRST, 1);
    longjmp(back, 1);
    KERNEL_PROBE_END(FIRST);
}

NOINLINE void jumps_and_is_back(void) {
    if (setjmp(back) == 0)
        jumps();
}

TEST(the_kernel_around_a_jump_puts_it_right) {
    begin("*:kernel");
    {
        KERNEL_PROBE_BEGIN(MAIN, 1);
        jumps_and_is_back();
        KERNEL_PROBE_END(MAIN);
    }
    assert_int_equal(spex_context, SPEX_CONTEXT_ROOT);
    spex_stop();
}

static void handler(int signal) {
    (void)signal;
    KERNEL_PROBE_BEGIN(HANDLED, 1);
    leaf(2);
    KERNEL_PROBE_END(HANDLED);
}

TEST(a_handler_is_in_the_context_it_interrupts) {
    begin("*:kernel");
    signal(SIGUSR1, handler);
    KERNEL_PROBE_BEGIN(MAIN, 1);
    raise(SIGUSR1);
    leaf(3);
    KERNEL_PROBE_END(MAIN);
    spex_stop();
    assert_string_equal(path_of(record_of(LEAF, 0)), "1;4"); /* ';' is '0' + 11 */
    assert_string_equal(path_of(record_of(LEAF, 1)), "14");
}

/* Two libraries with a kernel 7 of the same name, whose sites are registered as their constructors
 * do it. */
TEST(kernels_of_two_providers) {
    static const char text[] = "library.c\0001";
    static struct spex_site sites[2];
    static const struct spex_probe_name names[2][2] = {{{0, "/liba"}, {7, "sort"}},
                                                       {{0, "/libb"}, {7, "sort"}}};
    static const char *const paths[] = {"liba:sort", "libb:sort"};
    struct spex_kernel_described described;
    struct spex_error why;
    for (int l = 0; l < 2; l++) {
        sites[l] = (struct spex_site){
            .probe_id = 7, .type_number = SPEX_TYPE_NUMBER_(SPEX_KERNEL), .subsample = 1};
        sites[l].file_offset = (intptr_t)text - (intptr_t)&sites[l].file_offset;
        spex_module_register(&sites[l], &sites[l] + 1, names[l], names[l] + 2);
    }
    assert_int_not_equal(sites[0].probe_id, sites[1].probe_id);
    for (int l = 0; l < 2; l++) {
        struct spex_kernel_span span;
        spex_kernel_enter_(&span, sites[l].probe_id);
        assert_int_equal(spex_kernel_describe_context(&spex_kernels_here, span.context,
                                                      sites[l].probe_id, &described, &why),
                         0);
        assert_string_equal(described.path, paths[l]);
        spex_kernel_leave_(&span);
    }
    for (int l = 0; l < 2; l++)
        spex_module_unregister(&sites[l]);
}

/* A context that was entered before spex_stop is left after it, and one that was not is not. */
TEST(contexts_outlive_stop_and_start) {
    begin("*:kernel");
    {
        KERNEL_PROBE_BEGIN(MAIN, 1);
        spex_stop();
        leaf(1);
        begin("*:kernel");
        leaf(2);
        KERNEL_PROBE_END(MAIN);
    }
    leaf(3);
    spex_stop();
    assert_int_equal(spex_context, SPEX_CONTEXT_ROOT);
    assert_int_equal(seen_count, 2); /* MAIN's was on before it was off */
    assert_string_equal(path_of(record_of(LEAF, 0)), "14");
    assert_string_equal(path_of(record_of(LEAF, 1)), "4");
}

/* Threads that walk the same graph at once come to the same nodes. */
enum { WALKERS = 8, STEPS = 20000, WALK_FROM = 1000, WALK_KERNELS = 6 };

static uint32_t node_by_path[1 << 20]; /* six digits of base 7 */

static uint32_t walk_key(const unsigned *path, unsigned depth) {
    uint32_t key = 1;
    for (unsigned d = 0; d < depth; d++)
        key = key * 7 + path[d];
    return key % (1 << 20);
}

static bool walked(const unsigned *path, unsigned depth, unsigned kernel) {
    for (unsigned d = 0; d < depth; d++)
        if (path[d] == kernel)
            return true;
    return false;
}

/* A node of another number may be there for the same path; what it says of itself must be right. */
static bool node_is(uint64_t number, const unsigned *path, unsigned depth) {
    while (depth > 0) {
        struct spex_context_node node;
        if (!spex_context_node(number, &node) || node.kernel != WALK_FROM + path[--depth])
            return false;
        number = node.parent;
    }
    return number == SPEX_CONTEXT_ROOT;
}

/* What is wrong, or NULL. */
static const char *wrong_of_walk(uint64_t seed) {
    for (int s = 0; s < STEPS; s++) {
        struct spex_kernel_span spans[WALK_KERNELS] = {{0}};
        unsigned path[WALK_KERNELS], depth = 0;
        while (depth < WALK_KERNELS) {
            unsigned kernel = (unsigned)random_below(&seed, WALK_KERNELS);
            if (walked(path, depth, kernel))
                break;
            spex_kernel_enter_(&spans[depth], WALK_FROM + kernel);
            path[depth++] = kernel;
            uint32_t *known = &node_by_path[walk_key(path, depth)], none = 0;
            if (!node_is(spex_context, path, depth) ||
                (!spex_cas_relaxed(known, &none, spex_context) && none != spex_context))
                return "a node of another path, or two of one";
        }
        while (depth > 0)
            spex_kernel_leave_(&spans[--depth]);
    }
    return spex_context == SPEX_CONTEXT_ROOT ? NULL : "not at the root";
}

struct walker {
    pthread_t thread;
    uint64_t seed;
    const char *wrong;
};

static void *walk(void *arg) {
    struct walker *walker = arg;
    walker->wrong = wrong_of_walk(walker->seed);
    return NULL;
}

TEST(threads_come_to_the_same_nodes) {
    struct walker walkers[WALKERS];
    for (unsigned w = 0; w < WALKERS; w++) {
        walkers[w] = (struct walker){.seed = w};
        assert_int_equal(pthread_create(&walkers[w].thread, NULL, walk, &walkers[w]), 0);
    }
    for (unsigned w = 0; w < WALKERS; w++) {
        pthread_join(walkers[w].thread, NULL);
        if (walkers[w].wrong)
            fail_msg("%s", walkers[w].wrong);
    }
    assert_int_equal(spex_contexts_refused(), 0);
}

/* Last, as it leaves no room. */
TEST(a_full_graph_keeps_kernels_where_they_are) {
    struct spex_kernel_span span = {0}, inner = {0};
    uint64_t refused = spex_contexts_refused();
    uint32_t kernel = 20000;
    for (; kernel < 20000 + SPEX_CONTEXTS_MAX && spex_contexts_refused() == refused; kernel++) {
        spex_kernel_enter_(&span, kernel);
        spex_kernel_leave_(&span);
    }
    assert_true(spex_contexts_refused() > refused);
    assert_true(kernel > 20000 + SPEX_CONTEXTS_MAX / 2);
    spex_kernel_enter_(&span, 20000);
    assert_int_not_equal(spex_context, SPEX_CONTEXT_ROOT);
    spex_kernel_enter_(&inner, 20001);
    assert_int_equal(spex_context, span.context);
    spex_kernel_leave_(&inner);
    spex_kernel_leave_(&span);
    assert_int_equal(spex_context, SPEX_CONTEXT_ROOT);
}
