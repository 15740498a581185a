/* SPDX-License-Identifier: MIT */
#include "probe/nesting.h"

#include <math.h>

#include <spex/atomic.h>
#include <spex/site.h>
#include <spex/ticks.h>

#include "probe/executions.h"
#include "probe/threads.h"
#include "ring/probe_type.h"
#include "site/cost.h"
#include "site/registry.h"

/* Ticks from one look to the next, for each site that a look goes through, and for as many more:
 * looking takes about a thousandth of the time at most. */
enum { TICKS_PER_SITE = 1 << 17, SITES_MORE = 16 };

/* Sites that are gone through to find one to arm. */
enum { TRIED_MAX = 64 };

/* Executions of an armed site that may call the library in vain. */
enum { PASSED_MAX = 1024 };

/* Returns what the thread's executions have cost so far, and sets *costs to the sum of the costs of
 * its sites: when that has changed, what was computed before cannot be compared. */
static double cost_spent(const struct spex_thread *thread, double *costs) {
    uint32_t sites = spex_sites_count();
    double spent = 0;
    *costs = 0;
    for (uint32_t site = 0; site < sites; site++) {
        double cost = spex_load_relaxed(&thread->executed[site]) ? spex_cost_of_site(site) : 0;
        if (cost > 0) {
            spent += cost * (double)spex_sampler_executions(thread, site);
            *costs += cost;
        }
    }
    return spent;
}

/* The site's element; NULL: there is none. */
static struct spex_nesting_site *nesting_site(const struct spex_thread *thread, uint32_t site) {
    struct spex_nesting *nesting =
        spex_load_acquire(&thread->nesting); /* T9 (T10 in threads.c): its capacity */
    return nesting && site < nesting->capacity ? &nesting->sites[site] : NULL;
}

/* A SPAN is of no thread, whose probes within it could be counted. */
static bool site_can_be_armed(const struct spex_thread *thread, uint32_t site) {
    return spex_load_relaxed(&thread->executed[site]) && spex_cost_of_site(site) > 0 &&
           spex_probe_type_ticks(spex_site_info(site)->probe_type) &&
           spex_site_info(site)->probe_type != SPEX_SPAN;
}

/* A probe that the handler of a signal interrupts may overwrite the bit; then the site's turn comes
 * again later. */
static void site_arm(struct spex_thread *thread, uint32_t site) {
    uint32_t *word = &thread->executed[site];
    thread->nesting->sites[site].passed = 0;
    spex_store_relaxed(word, spex_load_relaxed(word) | SPEX_SAMPLE_NOTE);
}

static void next_arm(struct spex_thread *thread, struct spex_nesting *nesting) {
    uint32_t sites = spex_sites_count(), site = nesting->armed;
    sites = sites < nesting->capacity ? sites : nesting->capacity;
    for (uint32_t tried = 0; tried < sites && tried < TRIED_MAX; tried++) {
        site = site + 1 < sites ? site + 1 : 0;
        nesting->armed = site;
        if (site_can_be_armed(thread, site)) {
            site_arm(thread, site);
            return;
        }
    }
}

void spex_nesting_look(struct spex_thread *thread, uint64_t now) {
    struct spex_nesting *nesting =
        spex_load_acquire(&thread->nesting); /* T9 (T10 in threads.c): its capacity */
    if (!nesting)
        spex_thread_nesting_want(thread);
    if (!nesting || (int64_t)(now - nesting->due) < 0)
        return;
    nesting->due = now + (uint64_t)TICKS_PER_SITE * (spex_sites_count() + SITES_MORE);
    next_arm(thread, nesting);
}

bool spex_nesting_is_armed(const struct spex_thread *thread, uint32_t site) {
    return spex_load_relaxed(&thread->executed[site]) & SPEX_SAMPLE_NOTE;
}

void spex_nesting_disarm(struct spex_thread *thread, uint32_t site) {
    uint32_t *word = &thread->executed[site];
    spex_store_relaxed(word, spex_load_relaxed(word) & ~SPEX_SAMPLE_NOTE);
}

void spex_nesting_pass(struct spex_thread *thread, uint32_t site) {
    struct spex_nesting_site *element = nesting_site(thread, site);
    uint32_t *word = &thread->executed[site];
    if (element && ++element->passed < PASSED_MAX)
        spex_store_relaxed(word, spex_load_relaxed(word) | SPEX_SAMPLE_NOTE);
}

void spex_nesting_begin(struct spex_thread *thread, uint32_t site) {
    struct spex_nesting_site *element = nesting_site(thread, site);
    if (!element)
        return;
    element->spent = cost_spent(thread, &element->costs);
    element->begin = spex_ticks();
}

void spex_nesting_forget(struct spex_thread *thread, uint32_t site) {
    struct spex_nesting_site *element = nesting_site(thread, site);
    if (element)
        element->begin = 0;
}

static void double_add(double *to, double value) {
    value += *to;
    __atomic_store(to, &value, __ATOMIC_RELAXED);
}

static double double_load(const double *from) {
    double value;
    __atomic_load(from, &value, __ATOMIC_RELAXED);
    return value;
}

/* Relaxed: a reader in between has the sums with and without one of many executions. */
static void sums_add(struct spex_line_sums *sums, double time, double cost) {
    double_add(&sums->x, time);
    double_add(&sums->y, cost);
    double_add(&sums->xx, time * time);
    double_add(&sums->xy, time * cost);
    double_add(&sums->yy, cost * cost);
    double_add(&sums->count, 1);
}

/* Probes within an execution cannot have taken longer than it. A coarse clock, as processors other
 * than x86-64 have, may not have moved meanwhile, which tells nothing. */
void spex_nesting_end(struct spex_thread *thread, uint32_t site, uint64_t now) {
    struct spex_nesting_site *element = nesting_site(thread, site);
    if (!element || !element->begin)
        return;
    if (!now)
        now = spex_ticks();
    double costs, cost = cost_spent(thread, &costs) - element->spent;
    double time = now > element->begin ? (double)(now - element->begin) : 0;
    element->begin = 0;
    if (costs == element->costs && cost >= 0)
        sums_add(&element->sums, time, time > 0 ? fmin(cost, time) : cost);
}

void spex_nesting_add_sums(struct spex_line_sums *sums, uint32_t site) {
    for (uint32_t t = 0; t < spex_threads_used(); t++) {
        const struct spex_nesting *nesting = spex_thread_nesting(spex_threads_state(t));
        if (!nesting || site >= nesting->capacity)
            continue;
        const struct spex_line_sums *of = &nesting->sites[site].sums;
        const struct spex_line_sums more = {.count = double_load(&of->count),
                                            .x = double_load(&of->x),
                                            .y = double_load(&of->y),
                                            .xx = double_load(&of->xx),
                                            .xy = double_load(&of->xy),
                                            .yy = double_load(&of->yy)};
        spex_line_add_sums(sums, &more, 1);
    }
}
