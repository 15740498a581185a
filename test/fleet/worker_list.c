/* SPDX-License-Identifier: MIT */
/* The workers that an exploration has heard of: who is known, how many are of a class, and what is
 * told of it. */
#define _GNU_SOURCE
#include "../check.h"

#include "fleet/trials/worker_list.h"

enum { WORKERS = 20, KERNELS = 3 };

static struct spex_worker_list list;

static int begin(void **state) {
    (void)state;
    list = (struct spex_worker_list){.items = NULL};
    return 0;
}

static int end(void **state) {
    (void)state;
    spex_worker_list_free(&list);
    return list.count || list.items;
}

static struct spex_trial_worker worker_of(uint64_t id, unsigned kernel) {
    struct spex_trial_worker worker = {.id = id, .key = "00000000000000cc"};
    char host[24], version[24];
    snprintf(host, sizeof(host), "host%u", (unsigned)id);
    snprintf(version, sizeof(version), "6.%u", kernel);
    for (size_t c = 0; c < SPEX_ON_COUNT; c++)
        worker.machine.texts[c] = strdup(c == SPEX_ON_HOST     ? host
                                         : c == SPEX_ON_KERNEL ? version
                                                               : "x");
    return worker;
}

static void hear(uint64_t id, unsigned kernel, double now) {
    struct spex_trial_worker worker = worker_of(id, kernel);
    assert_int_equal(spex_worker_list_hear(&list, &worker, now), 0);
    for (size_t c = 0; c < SPEX_ON_COUNT; c++)
        assert_null(worker.machine.texts[c]);
}

static const char *class_of(unsigned kernel) {
    static char class[SPEX_CLASS_BYTES];
    struct spex_trial_worker worker = worker_of(1, kernel);
    spex_circumstances_class(&worker.machine, class);
    spex_circumstances_free(&worker.machine);
    return class;
}

static const struct spex_known_worker *known(uint64_t id) {
    for (size_t w = 0; w < list.count; w++)
        if (list.items[w].worker.id == id)
            return &list.items[w];
    return NULL;
}

/* Whoever comes, changes and is silent, by a model. One of another class is to be told of again. */
TEST_WITH(workers_by_a_model, begin, end) {
    double heard[WORKERS];
    unsigned kernels[WORKERS] = {0};
    bool there[WORKERS] = {false}, told[WORKERS] = {false};
    uint64_t seed = 1;
    for (double now = 0; now < 3000; now++) {
        size_t counts[KERNELS] = {0}, count = 0;
        unsigned w = (unsigned)random_below(&seed, WORKERS);
        unsigned kernel = (unsigned)random_below(&seed, KERNELS);
        hear(100 + w, kernel, now);
        told[w] = there[w] && kernels[w] == kernel && told[w];
        there[w] = true;
        heard[w] = now;
        kernels[w] = kernel;
        if (random_below(&seed, 3) == 0) {
            ((struct spex_known_worker *)(uintptr_t)known(100 + w))->told = told[w] = true;
        }
        double since = now - (double)random_below(&seed, 60);
        spex_worker_list_forget(&list, since);
        for (unsigned o = 0; o < WORKERS; o++) {
            there[o] = there[o] && heard[o] >= since;
            const struct spex_known_worker *found = known(100 + o);
            assert_int_equal(found != NULL, there[o]);
            if (!found)
                continue;
            counts[kernels[o]]++;
            count++;
            assert_true(found->heard == heard[o]);
            assert_int_equal(found->told, told[o]);
            assert_string_equal(found->class, class_of(kernels[o]));
            assert_int_equal(atoi(found->worker.machine.texts[SPEX_ON_HOST] + 4), 100 + o);
        }
        assert_int_equal(list.count, count);
        for (unsigned k = 0; k < KERNELS; k++) {
            assert_int_equal(spex_worker_list_count(&list, class_of(k)), counts[k]);
            const struct spex_known_worker *first = spex_worker_list_first(&list, class_of(k));
            assert_int_equal(first != NULL, counts[k] > 0);
            if (first)
                assert_string_equal(first->class, class_of(k));
        }
    }
}

static void expect_text(unsigned kernel, const char *behind) {
    char text[512], expected[512];
    snprintf(expected, sizeof(expected), "class %s:%s", class_of(kernel), behind);
    spex_worker_list_class_text(&list, class_of(kernel), text, sizeof(text));
    char *at = strstr(text, "; hosts");
    if (at) /* what machines have is named elsewhere */
        memmove(strchr(text, ':') + 1, at, strlen(at) + 1);
    assert_string_equal(text, expected);
}

/* Those that are there, and no longer those that were. */
TEST_WITH(a_class_is_told_with_its_hosts, begin, end) {
    expect_text(0, "");
    hear(1, 0, 1);
    hear(2, 1, 2);
    hear(3, 0, 3);
    hear(4, 0, 4);
    expect_text(0, "; hosts host1, host3, host4");
    expect_text(1, "; hosts host2");
    spex_worker_list_forget(&list, 2);
    expect_text(0, "; hosts host4, host3");
    spex_worker_list_forget(&list, 4);
    expect_text(0, "; hosts host4");
    expect_text(1, "");
}

/* More are not known, and whoever is known still is. */
TEST_WITH(there_is_room_for_so_many, begin, end) {
    for (uint64_t id = 1; id <= SPEX_WORKERS_MAX; id++)
        hear(id, 0, 1);
    struct spex_trial_worker late = worker_of(SPEX_WORKERS_MAX + 1, 0);
    assert_int_equal(spex_worker_list_hear(&list, &late, 1), 0);
    assert_int_equal(list.count, SPEX_WORKERS_MAX);
    assert_null(known(SPEX_WORKERS_MAX + 1));
    spex_circumstances_free(&late.machine);
    hear(SPEX_WORKERS_MAX, 1, 2);
    assert_int_equal(spex_worker_list_count(&list, class_of(1)), 1);
}
