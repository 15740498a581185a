/* SPDX-License-Identifier: MIT */
/* A lease that a thread renews beside a command that does other things. */
#define _GNU_SOURCE
#include "serving.h"

#include "requesting.h"
#include "tools/attach/lease_keeper.h"

enum { LEASE_MS = 600, RENEWALS = 2 };

static double lease_seconds(void) {
    struct spex_profile_reader reader = {0};
    int fd = caller_connect();
    assert_int_equal(caller_ask(fd, SPEX_CONTROL_PROFILE, NULL, &reader), 0);
    double left = reader.profile.process.lease_seconds;
    spex_profile_reader_free(&reader);
    close(fd);
    return left;
}

/* The time that is left grows by a renewal alone. */
TEST_WITH(a_lease_is_kept_until_the_end, serving_setup, serving_teardown) {
    struct spex_held_lease lease;
    struct spex_lease_keeper keeper;
    struct spex_error error;
    spex_held_lease_open(&lease, getpid(), LEASE_MS);
    assert_int_equal(spex_held_lease_take(&lease, "+request.work", &error), 0);
    assert_int_equal(status_now().sites_on, 1);
    assert_int_equal(spex_lease_keeper_start(&keeper, &lease), 0);
    unsigned renewals = 0;
    for (double before = lease_seconds(); renewals < RENEWALS;) {
        double now = lease_seconds();
        renewals += now > before;
        before = now;
    }
    spex_lease_keeper_stop(&keeper);
    assert_int_equal(spex_held_lease_close(&lease, spex_deadline_in(60), &error), 0);
    assert_int_equal(status_now().sites_on, 0);
}

/* Whoever looks for the socket knows SPEX_CONTROL as it was at exec. */
int main(int argc, char **argv) {
    if (argc == 1) {
        serving_begin(NULL);
        execl("/proc/self/exe", argv[0], serving_directory, NULL);
        return 1;
    }
    snprintf(serving_directory, sizeof(serving_directory), "%s", argv[1]);
    return tests_run(NULL, serving_end);
}
