/* SPDX-License-Identifier: MIT */
/* The order in which a policy was asked and told, from what a store has, for explorations of
 * several trials at a time that were killed at any moment; and stores that tell of no such
 * order. */
#include <errno.h>

#include "../check.h"
#include "explore/store/history.h"

enum { PLANS_MAX = 64, PLACES_MAX = 5, EVENTS_MAX = 2 * PLANS_MAX };

/* An exploration as it went, and the store as it was when it was killed. */
struct run {
    int events[EVENTS_MAX]; /* n > 0: plan n was made; n < 0: the trial of plan -n was told */
    size_t event_count;
    struct spex_trial trials[PLANS_MAX];
    struct spex_trials stored;
    struct spex_unfinished unfinished[PLANS_MAX * PLACES_MAX];
    size_t unfinished_count;
};

static void store(struct run *run, struct spex_unfinished *places, size_t place, size_t running) {
    run->trials[run->stored.count] =
        (struct spex_trial){.asked = places[place].asked, .told = places[place].told};
    run->stored = (struct spex_trials){.items = run->trials, .count = run->stored.count + 1};
    run->events[run->event_count++] = -(int)places[place].asked;
    places[place] = places[running - 1];
    /* As spex_store_put: each once. */
    for (size_t p = 0; p + 1 < running; p++) {
        bool there = false;
        for (size_t u = 0; u < run->unfinished_count; u++)
            there |= run->unfinished[u].asked == places[p].asked;
        if (!there)
            run->unfinished[run->unfinished_count++] = places[p];
    }
}

/* Begun again: plans that were made after the last trial was stored are not known any more, and are
 * made once more. How many plans there are now. */
static size_t resume(struct run *run, struct spex_unfinished *places, size_t *running) {
    size_t plans = 0, kept = 0, events = 0;
    for (size_t t = 0; t < run->stored.count; t++)
        plans = run->trials[t].asked > plans ? run->trials[t].asked : plans;
    for (size_t u = 0; u < run->unfinished_count; u++)
        plans = run->unfinished[u].asked > plans ? run->unfinished[u].asked : plans;
    for (size_t p = 0; p < *running; p++)
        if (places[p].asked <= plans)
            places[kept++] = places[p];
    for (size_t e = 0; e < run->event_count; e++)
        if (run->events[e] <= (int)plans)
            run->events[events++] = run->events[e];
    *running = kept;
    run->event_count = events;
    return plans;
}

static void make_up(struct run *run, uint64_t *random, size_t place_count, size_t plans) {
    struct spex_unfinished places[PLACES_MAX];
    size_t running = 0;
    *run = (struct run){.event_count = 0};
    for (size_t asked = 0; asked < plans || running;) {
        if (random_below(random, 20) == 0)
            asked = resume(run, places, &running);
        else if (random_below(random, 40) == 0)
            return; /* killed */
        if (asked < plans && running < place_count && random_below(random, 2)) {
            places[running++] =
                (struct spex_unfinished){.asked = ++asked, .told = run->stored.count};
            run->events[run->event_count++] = (int)asked;
        } else if (running) {
            store(run, places, random_below(random, running), running);
            running--;
        }
    }
}

/* As explorer_loop.c replays: the events must come in the same order, but for plans that were made
 * after all that is stored, which nothing came after. */
static void check(const struct run *run) {
    struct spex_history history;
    struct spex_error why = {""};
    size_t event = 0;
    uint64_t told = 0;
    if (spex_history_make(&history, &run->stored, run->unfinished, run->unfinished_count, &why))
        fail_msg("%s", why.text);
    for (uint64_t plan = 1; plan <= history.plans; plan++) {
        for (; told < spex_history_told(&history, plan); told++)
            assert_int_equal(run->events[event++], -(int)run->trials[told].asked);
        assert_int_equal(run->events[event++], (int)plan);
        const struct spex_trial *trial = spex_history_trial(&history, plan);
        if (trial)
            assert_int_equal(trial->asked, plan);
    }
    for (; event < run->event_count; event++)
        assert_true(run->events[event] < 0
                        ? run->trials[told++].asked == (uint64_t)-run->events[event]
                        : (uint64_t)run->events[event] > history.plans);
    assert_int_equal(told, run->stored.count);
    assert_int_equal(spex_history_told(&history, history.plans + 1), run->stored.count);
    assert_null(spex_history_trial(&history, history.plans + 1));
    spex_history_free(&history);
}

TEST(any_order) {
    static struct run run;
    uint64_t random = 1;
    for (int i = 0; i < 20000; i++) {
        make_up(&run, &random, 1 + random_below(&random, PLACES_MAX),
                1 + random_below(&random, PLANS_MAX));
        check(&run);
    }
}

TEST(no_order) {
    static const struct {
        const char *what;
        struct spex_trial trials[2];
        struct spex_unfinished unfinished;
    } cases[] = {
        {"plan 0", {{.asked = 0, .told = 0}, {.asked = 1, .told = 0}}, {0, 0}},
        {"one plan twice", {{.asked = 1, .told = 0}, {.asked = 1, .told = 1}}, {0, 0}},
        {"told before it was planned", {{.asked = 1, .told = 1}, {.asked = 2, .told = 1}}, {0, 0}},
        {"told of what is not there", {{.asked = 1, .told = 0}, {.asked = 2, .told = 3}}, {0, 0}},
        {"planned backwards", {{.asked = 2, .told = 0}, {.asked = 1, .told = 1}}, {0, 0}},
        {"far too many plans", {{.asked = 1, .told = 0}, {.asked = 1u << 30, .told = 1}}, {0, 0}},
        {"a gap", {{.asked = 1, .told = 0}, {.asked = 3, .told = 1}}, {0, 0}},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        struct spex_trial trials[2];
        struct spex_history history = {.trials = NULL};
        struct spex_error why = {""};
        memcpy(trials, cases[c].trials, sizeof(trials));
        const struct spex_trials stored = {.items = trials, .count = 2};
        int err = spex_history_make(&history, &stored, &cases[c].unfinished,
                                    cases[c].unfinished.asked != 0, &why);
        if (err != -EBADMSG || !*why.text)
            fail_msg("%s: %d", cases[c].what, err);
    }
}

TEST(nothing) {
    const struct spex_trials none = {NULL, 0};
    const struct spex_unfinished unfinished = {.asked = 1};
    struct spex_history history;
    struct spex_error why = {""};
    assert_int_equal(spex_history_make(&history, &none, NULL, 0, &why), 0);
    assert_int_equal(spex_history_told(&history, 1), 0);
    assert_null(spex_history_trial(&history, 1));
    spex_history_free(&history);
    /* A plan is one that was made also if its trial never finished: the policy may have been asked
     * for more since. */
    assert_int_equal(spex_history_make(&history, &none, &unfinished, 1, &why), 0);
    assert_int_equal(history.plans, 1);
    assert_int_equal(spex_history_told(&history, 1), 0);
    assert_null(spex_history_trial(&history, 1));
    spex_history_free(&history);
}
