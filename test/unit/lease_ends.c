/* SPDX-License-Identifier: MIT */
/* Leases in a program: who ends them, at times that the test sets, and by the library's own clock
 * where no control thread runs. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <sys/wait.h>

#include "../children.h"
#include "../status.h"
#include "base/clock.h"
#include "life.h"
#include "site/registry.h"

#define SECOND UINT64_C(1000000000)

/* A test that waits in vain ends by its alarm. */
static void wait_for_sites_on(uint32_t on) {
    alarm(120);
    while (status_now().sites_on != on)
        poll(NULL, 0, 1);
    alarm(0);
}

/* Ends the leases that are over so many seconds from now. */
static void end_in(uint64_t seconds) {
    spex_sites_leases_end(spex_clock_ns(CLOCK_BOOTTIME) + seconds * SECOND);
}

TEST_WITH(a_lease_ends_at_its_time, NULL, stop) {
    char text[64];
    assert_int_equal(start("off"), 0);
    assert_int_equal(spex_set_for("+life.work", 1000), 1);
    assert_int_equal(status_now().collectors, 1);
    assert_in_range(spex_sites_leased(text, sizeof(text)), 1, 1000 * SECOND);
    assert_string_equal(text, "+life.work");
    end_in(900);
    assert_int_equal(status_now().sites_on, 1);
    end_in(1000);
    assert_int_equal(status_now().sites_on, 0);
    assert_int_equal(spex_sites_leased(text, sizeof(text)), 0);
    assert_string_equal(text, "");
    spex_stop();
}

/* The collector, since there is no control thread. */
TEST_WITH(the_library_ends_it_itself, NULL, stop) {
    setenv("SPEX_CONTROL", "off", 1);
    assert_int_equal(start("off"), 0);
    assert_int_equal(thread_count("spex-control"), 0);
    assert_int_equal(spex_set_for("life.work", 0.05), 1);
    wait_for_sites_on(0);
    spex_stop();
}

/* No site is on while it lasts, so that the collector sleeps. */
TEST_WITH(what_was_leased_off_goes_on_again, NULL, stop) {
    setenv("SPEX_CONTROL", "off", 1);
    assert_int_equal(start("life.work"), 0);
    assert_int_equal(spex_set_for("off", 0.05), 0);
    wait_for_sites_on(1);
    spex_stop();
}

TEST_WITH(a_stop_ends_all_leases, NULL, stop) {
    assert_int_equal(start("off"), 0);
    assert_int_equal(spex_set_for("life.work", 1000), 1);
    spex_stop();
    assert_int_equal(start("off"), 0);
    assert_int_equal(status_now().sites_on, 0);
    assert_int_equal(spex_leases_due_ns(), UINT64_MAX);
    spex_stop();
}

TEST_WITH(the_program_ends_a_lease_by_hand, NULL, stop) {
    assert_int_equal(start("off"), 0);
    assert_int_equal(spex_set_for("+life.work", 1000), 1);
    assert_int_equal(spex_set("+life.work@off"), 0);
    assert_int_equal(spex_leases_due_ns(), UINT64_MAX);
    assert_int_equal(spex_set_for("+life.work", 1000), 1);
    assert_int_equal(spex_set("off"), 0);
    assert_int_equal(spex_leases_due_ns(), UINT64_MAX);
    spex_stop();
}

TEST_WITH(bad_leases_are_refused, NULL, stop) {
    static const double wrong[] = {0, -1, 0.049, 86401, INFINITY, -INFINITY, NAN};
    assert_int_equal(spex_set_for("*", 1), -EPERM);
    assert_int_equal(start("off"), 0);
    for (size_t w = 0; w < COUNT_OF(wrong); w++)
        assert_int_equal(spex_set_for("*", wrong[w]), -EINVAL);
    assert_int_equal(status_now().sites_on, 0);
    spex_stop();
}

static int child_has_the_rest(void) {
    char text[64];
    if (status_now().sites_on != 1 || spex_sites_leased(text, sizeof(text)) > 1000 * SECOND)
        return 1;
    end_in(1000);
    return status_now().sites_on != 0;
}

static void child_ends_it_itself(void) {
    wait_for_sites_on(0);
    _exit(0);
}

static int status_of(pid_t child) {
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

TEST_WITH(a_child_has_what_is_left, NULL, stop) {
    SKIP_WITHOUT_FOLLOWERS();
    setenv("SPEX_CONTROL", "off", 1);
    setenv("SPEX_FORKS", "follow", 1);
    assert_int_equal(start("off"), 0);
    setenv("SPEX_FORKS", "", 1);
    assert_int_equal(spex_set_for("life.work", 1000), 1);
    pid_t child = fork();
    if (child == 0)
        _exit(child_has_the_rest());
    assert_int_equal(status_of(child), 0);
    assert_int_equal(status_now().sites_on, 1);
    assert_int_equal(spex_set("off"), 0);
    assert_int_equal(spex_set_for("life.work", 0.2), 1);
    child = fork();
    if (child == 0)
        child_ends_it_itself();
    assert_int_equal(status_of(child), 0);
    spex_stop();
}

/* A program that does not follow forks has clean children. */
TEST_WITH(other_children_have_nothing, NULL, stop) {
    assert_int_equal(start("off"), 0);
    assert_int_equal(spex_set_for("life.work", 1000), 1);
    pid_t child = fork();
    if (child == 0)
        _exit(status_now().sites_on != 0 || spex_leases_due_ns() != UINT64_MAX);
    assert_int_equal(status_of(child), 0);
    assert_int_equal(status_now().sites_on, 1);
    spex_stop();
}
