/* SPDX-License-Identifier: MIT */
/* Requests for leases, and what a profile tells of them. */
#include "serving.h"

#include "requesting.h"

/* The status of a request for so many milliseconds. */
static int ask_for(int fd, enum spex_control_kind kind, uint32_t lease_ms, const char *text,
                   struct spex_profile_reader *reader) {
    assert_true(caller_send(fd, kind, lease_ms, text));
    assert_int_equal(caller_receive(fd, reader), 1);
    return reader->status;
}

/* What holds beside the selection is told apart from it. */
TEST_WITH(a_selection_is_leased, serving_setup, serving_teardown) {
    static const uint32_t wrong[] = {0, 49, 86400001, UINT32_MAX};
    struct spex_profile_reader reader = {0};
    int fd = caller_connect();
    for (size_t w = 0; w < COUNT_OF(wrong); w++) {
        assert_int_equal(ask_for(fd, SPEX_CONTROL_LEASE, wrong[w], "*", &reader), -EINVAL);
        assert_string_equal(reader.text, "a lease of 50 ms to a day was expected");
    }
    assert_int_equal(ask_for(fd, SPEX_CONTROL_LEASE, 60000, "request.work@", &reader), -EINVAL);
    assert_int_equal(ask_for(fd, SPEX_CONTROL_LEASE, 60000, "+request.work", &reader), 1);
    assert_int_equal(caller_ask(fd, SPEX_CONTROL_PROFILE, NULL, &reader), 0);
    const struct spex_profile_process *process = &reader.profile.process;
    assert_string_equal(process->selection, "off");
    assert_string_equal(process->leased, "+request.work");
    assert_true(process->lease_seconds > 0 && process->lease_seconds <= 60);
    for (size_t s = 0; s < reader.profile.site_count; s++) {
        const struct spex_profile_site *site = &reader.profile.sites[s];
        assert_int_equal(site->lease_ms != 0, site->probe_id == WORK);
        assert_in_range(site->lease_ms, 0, 60000);
    }
    assert_int_equal(ask_for(fd, SPEX_CONTROL_LEASE_FOLLOW, 50, "request.*", &reader), 1);
    assert_int_equal(ask_for(fd, SPEX_CONTROL_LEASE, 50, "+request.work", &reader), 1);
    spex_profile_reader_free(&reader);
    close(fd);
    assert_int_equal(spex_set("off"), 0);
    assert_int_equal(spex_set_for("request.*", 0.05), 1);
    WAIT_UNTIL(status_now().sites_on == 0);
}

static int ask_as(int fd, uint32_t holder, enum spex_control_kind kind, uint32_t lease_ms,
                  const char *text, struct spex_profile_reader *reader) {
    struct spex_error error;
    assert_int_equal(spex_client_send_as(fd, holder, kind, lease_ms, text, &error), 0);
    assert_int_equal(caller_receive(fd, reader), 1);
    return reader->status;
}

TEST_WITH(a_holder_renews_and_ends_its_lease, serving_setup, serving_teardown) {
    struct spex_profile_reader reader = {0};
    int fd = caller_connect();
    assert_int_equal(ask_as(fd, 7, SPEX_CONTROL_RENEW, 60000, NULL, &reader), -ENOENT);
    assert_string_equal(reader.text, "there is no such lease any more");
    assert_int_equal(ask_as(fd, 7, SPEX_CONTROL_LEASE, 60000, "+request.work", &reader), 1);
    assert_int_equal(ask_as(fd, 8, SPEX_CONTROL_RENEW, 60000, NULL, &reader), -ENOENT);
    assert_int_equal(ask_as(fd, 0, SPEX_CONTROL_RENEW, 60000, NULL, &reader), -ENOENT);
    assert_int_equal(ask_as(fd, 7, SPEX_CONTROL_RENEW, 49, NULL, &reader), -EINVAL);
    assert_int_equal(ask_as(fd, 7, SPEX_CONTROL_RENEW, 120000, NULL, &reader), 1);
    assert_int_equal(caller_ask(fd, SPEX_CONTROL_PROFILE, NULL, &reader), 0);
    assert_true(reader.profile.process.lease_seconds > 60);
    assert_int_equal(ask_as(fd, 7, SPEX_CONTROL_LEASE, 60000, "+request.*@2", &reader), 1);
    assert_int_equal(caller_ask(fd, SPEX_CONTROL_PROFILE, NULL, &reader), 0);
    assert_string_equal(reader.profile.process.leased, "+request.*@2");
    assert_int_equal(ask_as(fd, 7, SPEX_CONTROL_RENEW, 0, NULL, &reader), 0);
    assert_int_equal(ask_as(fd, 7, SPEX_CONTROL_RENEW, 0, NULL, &reader), -ENOENT);
    spex_profile_reader_free(&reader);
    close(fd);
}

/* What the process that answers says of its budget. */
static double budget_now(int fd, struct spex_profile_reader *reader) {
    assert_int_equal(caller_ask(fd, SPEX_CONTROL_PROFILE, NULL, reader), 0);
    return reader->profile.process.budget;
}

TEST_WITH(a_budget_goes_with_a_lease, serving_setup, serving_teardown) {
    static const char *const wrong[] = {"+request.work", "0 +request.work", "1.5 +request.work",
                                        "0.02",          "0.02 ",           "0.02 +request.work@"};
    struct spex_profile_reader reader = {0};
    int fd = caller_connect();
    for (size_t w = 0; w < COUNT_OF(wrong); w++)
        assert_int_equal(ask_as(fd, 7, SPEX_CONTROL_LEASE_BUDGET, 60000, wrong[w], &reader),
                         -EINVAL);
    assert_int_equal(ask_as(fd, 0, SPEX_CONTROL_LEASE_BUDGET, 60000, "0.02 +request.work", &reader),
                     -EINVAL);
    assert_int_equal(ask_as(fd, 7, SPEX_CONTROL_LEASE_BUDGET, 60000, "0.02 +request.work", &reader),
                     1);
    assert_string_equal(reader.text, "");
    WAIT_UNTIL(budget_now(fd, &reader) == 0.02);
    assert_int_equal(ask_as(fd, 8, SPEX_CONTROL_LEASE_BUDGET, 60000, "0.01 +request.work", &reader),
                     1);
    WAIT_UNTIL(budget_now(fd, &reader) == 0.01);
    assert_int_equal(ask_as(fd, 8, SPEX_CONTROL_RENEW, 0, NULL, &reader), 1);
    WAIT_UNTIL(budget_now(fd, &reader) == 0.02);
    assert_int_equal(ask_as(fd, 7, SPEX_CONTROL_RENEW, 50, NULL, &reader), 1);
    WAIT_UNTIL(status_now().sites_on == 0);
    WAIT_UNTIL(budget_now(fd, &reader) == 0);
    assert_int_equal(ask_as(fd, 7, SPEX_CONTROL_LEASE_BUDGET, 60000, "0.5 +request.work", &reader),
                     1);
    WAIT_UNTIL(budget_now(fd, &reader) == 0.5);
    spex_profile_reader_free(&reader);
    close(fd);
}

int main(void) {
    return tests_run(serving_begin, serving_end);
}
