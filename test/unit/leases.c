/* SPDX-License-Identifier: MIT */
/* Leases of selections, by times that the test sets. */
#include <errno.h>

#include <spex/record.h>

#include "selections.h"

/* A selection with the requests of a test: "60 +query" leases "+query" until 60, and "0 query"
 * selects query. */
static void request(struct spex_selection *present, const char *text) {
    int skipped = 0;
    unsigned long until = 0;
    assert_int_equal(sscanf(text, "%lu %n", &until, &skipped), 1);
    struct spex_selection change = parsed(text + skipped);
    assert_int_equal(until ? spex_selection_lease(present, &change, until, 0)
                           : spex_selection_change(present, &change),
                     0);
    assert_null(change.items);
}

/* The period of a LAT probe; 0: it is off. */
static uint32_t period(const struct spex_selection *selection, const char *name) {
    const struct spex_selection_probe probe = {
        .name = name, .file = "net.c", .type = SPEX_LAT, .subsample = SC, .id = 1};
    return spex_selection_sampling(selection, &probe).period;
}

/* Of the probes a and b. */
static void expect(const struct spex_selection *selection, uint32_t a, uint32_t b) {
    assert_int_equal(period(selection, "a"), a);
    assert_int_equal(period(selection, "b"), b);
}

/* What is selected from a time on; whether a lease has ended then. */
static void expect_at(struct spex_selection *selection, uint64_t now, bool ended, uint32_t a,
                      uint32_t b) {
    assert_int_equal(spex_selection_expire(selection, now), ended);
    expect(selection, a, b);
}

TEST(what_was_selected_holds_again) {
    struct spex_selection selection = {0};
    request(&selection, "0 a@7");
    request(&selection, "60 +a@3,b@5");
    expect_at(&selection, 59, false, 3, 5);
    expect_at(&selection, 60, true, 7, 0);
    expect_at(&selection, 61, false, 7, 0);
    spex_selection_free(&selection);
}

TEST(a_lease_that_replaces_is_no_change_of_what_it_stands_for) {
    struct spex_selection selection = {0};
    request(&selection, "0 *@7,b@9");
    request(&selection, "60 b@5");
    expect(&selection, 0, 5);
    request(&selection, "70 off");
    expect(&selection, 0, 0);
    expect_at(&selection, 60, false, 0, 0);
    expect_at(&selection, 70, true, 7, 9);
    assert_int_equal(selection.count, 2);
    spex_selection_free(&selection);
}

TEST(overlapping_leases_end_each_by_itself) {
    struct spex_selection selection = {0};
    request(&selection, "60 +a@3");
    request(&selection, "30 +a@4,b@5");
    expect(&selection, 4, 5);
    expect_at(&selection, 30, true, 3, 0);
    request(&selection, "90 +b@6");
    expect_at(&selection, 60, true, 0, 6);
    expect_at(&selection, 90, true, 0, 0);
    assert_int_equal(selection.count, 0);
    spex_selection_free(&selection);
}

TEST(a_renewal_replaces_what_it_renews) {
    struct spex_selection selection = {0};
    char text[64];
    for (unsigned n = 1; n <= 5000; n++) {
        snprintf(text, sizeof(text), "%u %s", n, n % 2 ? "a@3" : "+a@3,b@5");
        request(&selection, text);
        assert_true(selection.count <= 4);
    }
    expect_at(&selection, 4999, true, 3, 5);
    expect_at(&selection, 5000, true, 0, 0);
    spex_selection_free(&selection);
}

TEST(a_shorter_lease_of_the_same_ends_nothing) {
    struct spex_selection selection = {0};
    request(&selection, "60 +a@3");
    request(&selection, "30 +a@3");
    expect_at(&selection, 30, true, 3, 0);
    expect_at(&selection, 60, true, 0, 0);
    spex_selection_free(&selection);
}

TEST(who_selects_for_good_ends_the_leases_of_that) {
    struct spex_selection selection = {0};
    uint64_t last;
    request(&selection, "60 +a@3,b@5");
    request(&selection, "0 +a@off");
    expect(&selection, 0, 5);
    assert_int_equal(spex_selection_leases(&selection, &last), 60);
    request(&selection, "0 +*:lat@off");
    expect(&selection, 0, 0);
    /* An item of all types, of which the one above has turned off LAT alone. */
    assert_int_equal(spex_selection_leases(&selection, &last), 60);
    request(&selection, "0 +*@off");
    assert_int_equal(spex_selection_leases(&selection, &last), 0);
    request(&selection, "60 +a@3,b@5");
    request(&selection, "0 off");
    expect(&selection, 0, 0);
    assert_int_equal(selection.count, 0);
    request(&selection, "60 a@3");
    request(&selection, "0 b@5");
    expect(&selection, 0, 5);
    assert_int_equal(selection.count, 1);
    spex_selection_free(&selection);
}

TEST(a_selection_for_good_beside_a_lease_stays) {
    struct spex_selection selection = {0};
    request(&selection, "60 +a@3");
    request(&selection, "0 +b@5");
    expect_at(&selection, 60, true, 0, 5);
    request(&selection, "90 a@3");
    request(&selection, "0 +a@4");
    expect(&selection, 4, 0);
    expect_at(&selection, 90, true, 4, 5);
    spex_selection_free(&selection);
}

/* What a program needs itself is not the user's to lease. */
TEST(no_item_decides_where_a_lease_replaces) {
    const struct spex_selection_probe probe = {.name = "c", .type = SPEX_LAT, .id = 3};
    struct spex_selection selection = {0};
    request(&selection, "0 *@off");
    assert_non_null(spex_selection_decider(&selection, &probe));
    request(&selection, "60 a");
    assert_null(spex_selection_decider(&selection, &probe));
    spex_selection_free(&selection);
}

static void expect_texts(const struct spex_selection *selection, const char *held,
                         const char *leased) {
    char text[64];
    assert_int_equal(spex_selection_text(selection, text, sizeof(text)), 0);
    assert_string_equal(text, held);
    assert_int_equal(spex_selection_leased_text(selection, text, sizeof(text)), 0);
    assert_string_equal(text, leased);
}

TEST(leases_are_told_apart) {
    struct spex_selection selection = {0};
    char small[8];
    expect_texts(&selection, "off", "");
    request(&selection, "60 +a@3,b");
    expect_texts(&selection, "off", "+a@3,b");
    request(&selection, "0 +c@5,d");
    expect_texts(&selection, "c@5,d", "+a@3,b");
    request(&selection, "70 off");
    expect_texts(&selection, "c@5,d", "off");
    request(&selection, "80 e,ffffff");
    expect_texts(&selection, "c@5,d", "e,ffffff");
    assert_int_equal(spex_selection_leased_text(&selection, small, sizeof(small)), -E2BIG);
    assert_string_equal(small, "");
    assert_int_equal(spex_selection_leased_text(&selection, NULL, 0), -E2BIG);
    spex_selection_free(&selection);
}

TEST(a_selection_holds_a_limited_number_of_leases) {
    struct spex_selection selection = {0};
    char text[64];
    for (unsigned n = 0; n < SPEX_SELECTION_ITEMS_MAX; n++) {
        snprintf(text, sizeof(text), "%u +a@3", 2 * SPEX_SELECTION_ITEMS_MAX - n);
        request(&selection, text);
    }
    struct spex_selection change = parsed("+a@3");
    assert_int_equal(spex_selection_lease(&selection, &change, 1, 0), -E2BIG);
    assert_int_equal(selection.count, SPEX_SELECTION_ITEMS_MAX);
    request(&selection, "5000 +a@4");
    assert_int_equal(selection.count, 1);
    spex_selection_free(&selection);
}

/* As a request of a holder. */
static void hold(struct spex_selection *present, const char *text, uint64_t until,
                 uint32_t holder) {
    struct spex_selection change = parsed(text);
    assert_int_equal(spex_selection_lease(present, &change, until, holder), 0);
}

TEST(a_holder_has_one_lease) {
    struct spex_selection selection = {0};
    hold(&selection, "+a@3,b@5", 60, 1);
    hold(&selection, "+b@7", 50, 1);
    expect(&selection, 0, 7);
    assert_int_equal(selection.count, 1);
    expect_at(&selection, 50, true, 0, 0);
    spex_selection_free(&selection);
}

TEST(a_holder_ends_what_it_holds_alone) {
    struct spex_selection selection = {0};
    request(&selection, "0 b@9");
    request(&selection, "60 +a@3");
    hold(&selection, "+a@5,b@5", 90, 1);
    hold(&selection, "a@7", 99, 2);
    expect(&selection, 7, 0);
    assert_true(spex_selection_renew(&selection, 2, 0));
    expect(&selection, 5, 5);
    assert_true(spex_selection_renew(&selection, 1, 0));
    expect(&selection, 3, 9);
    assert_false(spex_selection_renew(&selection, 1, 100));
    expect_at(&selection, 60, true, 0, 9);
    spex_selection_free(&selection);
}

TEST(a_holder_renews_what_it_holds_alone) {
    struct spex_selection selection = {0};
    hold(&selection, "+a@3", 60, 1);
    hold(&selection, "+b@3", 60, 2);
    assert_true(spex_selection_renew(&selection, 1, 80));
    assert_false(spex_selection_renew(&selection, 3, 80));
    expect_at(&selection, 60, true, 3, 0);
    expect_at(&selection, 80, true, 0, 0);
    assert_false(spex_selection_renew(&selection, 1, 90));
    spex_selection_free(&selection);
}

TEST(what_was_ended_by_hand_is_not_renewed) {
    struct spex_selection selection = {0};
    hold(&selection, "+a@3,b@3", 60, 1);
    request(&selection, "0 +a@off");
    assert_true(spex_selection_renew(&selection, 1, 80));
    expect(&selection, 0, 3);
    request(&selection, "0 off");
    assert_false(spex_selection_renew(&selection, 1, 90));
    expect(&selection, 0, 0);
    spex_selection_free(&selection);
}
