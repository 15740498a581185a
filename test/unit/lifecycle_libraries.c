/* SPDX-License-Identifier: MIT */
/* Libraries with probes that are loaded and unloaded while spex collects. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>

#include <spex/spex.h>

#include "../capture.h"
#include "../check.h"
#include "../status.h"
#include "life.h"
#include "messages.h"
#include "plugin.h"

static const char *plugin_path;

static void *plugin_load(unsigned (**run)(unsigned)) {
    void *plugin = dlopen(plugin_path, RTLD_NOW | RTLD_LOCAL);
    if (!plugin)
        fail_msg("%s", dlerror());
    void *symbol = dlsym(plugin, "plugin_work");
    assert_non_null(symbol);
    memcpy(run, &symbol, sizeof(*run));
    return plugin;
}

TEST_WITH(a_library_obeys_the_selection_made_before_it_came, NULL, stop) {
    struct tally tally = {.probe_id = PLUGIN};
    unsigned (*run)(unsigned);
    capture_start(tally_see, &tally);
    messages_begin();
    assert_int_equal(start("plugin.*:lat"), 0);
    assert_non_null(strstr(messages_end(), "no probe matches"));
    const uint32_t before = status_now().sites;
    for (unsigned round = 0; round < 20; round++) {
        uint32_t sites = status_now().sites;
        void *plugin = plugin_load(&run);
        /* The compiler may have made several sites of a probe; loaded again, they are the same. */
        assert_true(round == 0 ? status_now().sites >= sites + 2 : status_now().sites == sites);
        assert_in_range(status_now().sites_on, 1, status_now().sites - before - 1);
        assert_int_equal(run(10), 10);
        assert_int_equal(dlclose(plugin), 0);
        assert_int_equal(status_now().sites_on, 0);
    }
    spex_stop();
    assert_int_equal(tally.count, 200);
    assert_int_equal(tally.others, 0);
}

static bool sleeps(pid_t thread) {
    char path[64], state = 0;
    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)thread);
    FILE *stat = fopen(path, "re");
    assert_non_null(stat);
    assert_int_equal(fscanf(stat, "%*d (%*[^)]) %c", &state), 1);
    fclose(stat);
    return state == 'S';
}

/* With every probe off, collectors sleep without a limit. */
TEST_WITH(a_library_that_comes_while_all_is_off_is_collected, NULL, stop) {
    struct spex_status before = status_now();
    unsigned (*run)(unsigned);
    pid_t collector = 0;
    messages_begin();
    assert_int_equal(start("plugin.work"), 0);
    messages_end();
    assert_int_equal(threads_find("spex-collector", &collector), 1);
    while (!sleeps(collector))
        sched_yield();
    void *plugin = plugin_load(&run);
    uint64_t executed = run(100);
    alarm(60);
    while (status_now().consumed - before.consumed < executed)
        sched_yield();
    alarm(0);
    spex_stop();
    assert_int_equal(dlclose(plugin), 0);
}

TEST_WITH(a_library_can_be_unloaded_when_spex_has_stopped, NULL, stop) {
    struct tally tally = {.probe_id = PLUGIN};
    unsigned (*run)(unsigned);
    void *plugin = plugin_load(&run);
    run(10);
    capture_start(tally_see, &tally);
    assert_int_equal(start("plugin.work"), 0);
    run(10);
    spex_stop();
    run(10);
    assert_int_equal(dlclose(plugin), 0);
    assert_int_equal(tally.count, 20);
}

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    plugin_path = argv[1];
    return tests_run(NULL, NULL);
}
