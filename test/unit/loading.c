/* SPDX-License-Identifier: MIT */
/* A library with probes is loaded and unloaded hundreds of times while probes of it, and of the
 * program, are on and threads record: sites come and go, and every execution is recorded once.
 *
 * loading PLUGIN */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>

#include "../check.h"
#include "../status.h"
#include "places.h"
#include "plugin.h"

enum { LOADS = 500, CALLS = 5, THREADS = 2, PLUGIN_ID = 21 };

static const char *plugin_path;
static bool running;
static uint64_t executed;

static void see(const struct spex_record *record, void *context) {
    struct places_tally *tallies = context;
    struct spex_record here = *record;
    bool plugin = record->probe_id == PLUGIN_ID;
    here.probe_id = plugin ? PLACES_ID : here.probe_id;
    places_see(&here, &tallies[plugin]);
}

static void *recorder_run(void *arg) {
    (void)arg;
    for (uint64_t rounds = 0;; rounds++) {
        if (!spex_load_relaxed(&running)) {
            spex_fetch_add_relaxed(&executed, rounds);
            return NULL;
        }
        places_all();
        sched_yield();
    }
}

static void load_call_unload(void) {
    unsigned (*run)(unsigned);
    void *plugin = dlopen(plugin_path, RTLD_NOW | RTLD_LOCAL);
    if (!plugin)
        fail_msg("%s", dlerror());
    void *symbol = dlsym(plugin, "plugin_work");
    assert_non_null(symbol);
    memcpy(&run, &symbol, sizeof(run));
    assert_int_equal(run(CALLS), CALLS);
    assert_int_equal(dlclose(plugin), 0);
    assert_null(dlopen(plugin_path, RTLD_NOW | RTLD_NOLOAD));
}

TEST(sites_come_and_go) {
    struct places_tally tallies[2] = {{{0}, {0}, 0}, {{0}, {0}, 0}};
    pthread_t threads[THREADS];
    capture_start(see, tallies);
    assert_int_equal(places_start(NULL, 1u << 18), 0);
    assert_true(spex_set("40,21") > 0);
    spex_store_relaxed(&running, true);
    for (unsigned t = 0; t < THREADS; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, recorder_run, NULL), 0);
    uint32_t sites = 0, on = status_now().sites_on;
    for (unsigned load = 0; load < LOADS; load++) {
        load_call_unload();
        assert_int_equal(status_now().sites_on, on);
        if (load == 0)
            sites = status_now().sites;
        assert_int_equal(status_now().sites, sites);
        if (load % 50 == 0)
            assert_true(spex_set("40,21") > 0);
    }
    spex_store_relaxed(&running, false);
    for (unsigned t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    spex_stop();
    assert_int_equal(status_now().sites_refused, 0);
    assert_true(places_are(&tallies[0], executed));
    /* LAT and SNAPSHOT, as many executions each. */
    for (unsigned type = 0; type < PLACES_TYPES; type++) {
        bool there = 1u << type & (SPEX_LAT | SPEX_SNAPSHOT);
        assert_int_equal(tallies[1].records[type], there ? LOADS * CALLS : 0);
    }
    assert_true(places_accounted(executed * PLACES_TYPES + 2 * LOADS * CALLS));
}

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    plugin_path = argv[1];
    return tests_run(NULL, NULL);
}
