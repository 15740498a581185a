/* SPDX-License-Identifier: MIT */
/* What agents and master send each other: read back as it was written. What is refused is in
 * fleet_bounds.c. */
#include "../check.h"

#include <math.h>

#include "fleet/decide/message.h"

TEST(a_report_is_read_as_it_was_written) {
    struct spex_fleet_reported item = {.key = {7, 123456789012345678},
                                       .program = "shop",
                                       .response = 0.25,
                                       .throughput = NAN,
                                       .budget = 0.01,
                                       .why = "b\xc3\xa4"};
    struct spex_fleet_report report = {
        .agent = 4000000000u, .desired = 9, .items = &item, .count = 1};
    struct spex_fleet_report read;
    struct spex_error error;
    float costs[6] = {-1, -1, -1, -1, 0.5f, -1};
    for (int p = 0; p < 6; p++) {
        char text[8];
        snprintf(text, sizeof(text), "a%d:lat", p);
        assert_int_equal(spex_fleet_texts_add(&report.probes, text), p);
    }
    item.costs = costs;
    float rates[6] = {0, -1, -1, -1, 250, -1};
    item.rates = rates;
    spex_fleet_set_add(&item.here, 5);
    spex_fleet_set_add(&item.here, 4);
    spex_fleet_set_add(&item.on, 4);
    spex_fleet_set_add(&item.on, 0);
    char *text = spex_fleet_report_write(&report);
    assert_int_equal(spex_fleet_report_read(text, strlen(text), &read, &error), 0);
    assert_int_equal(read.agent, report.agent);
    assert_int_equal(read.desired, 9);
    assert_int_equal(read.probes.count, 6);
    assert_string_equal(read.probes.items[5], "a5:lat");
    assert_int_equal(read.count, 1);
    assert_memory_equal(&read.items->key, &item.key, sizeof(item.key));
    assert_memory_equal(&read.items->here, &item.here, sizeof(item.here));
    assert_memory_equal(&read.items->on, &item.on, sizeof(item.on));
    assert_true(read.items->response == 0.25 && isnan(read.items->throughput));
    assert_true(read.items->costs[4] == 0.5f && read.items->costs[0] < 0 &&
                read.items->costs[5] < 0);
    assert_true(read.items->rates[4] == 250 && read.items->rates[0] == 0);
    assert_string_equal(read.items->why, item.why);
    spex_fleet_report_free(&read);
    spex_fleet_texts_free(&report.probes);
    free(text);
}

TEST(what_is_desired_is_read_as_it_was_written) {
    struct spex_fleet_wanted items[2] = {{.key = {1, 2}}, {.key = {3, 4}}};
    struct spex_fleet_desired desired = {.number = 12, .items = items, .count = 2}, read;
    struct spex_error error;
    spex_fleet_texts_add(&desired.probes, "a:lat");
    spex_fleet_set_add(&items[1].probes, 0);
    char *text = spex_fleet_desired_write(&desired);
    assert_int_equal(spex_fleet_desired_read(text, strlen(text), &read, &error), 0);
    const struct spex_fleet_wanted *found = spex_fleet_desired_find(&read, &items[1].key);
    assert_true(read.number == 12 && found && spex_fleet_set_has(&found->probes, 0));
    found = spex_fleet_desired_find(&read, &items[0].key);
    assert_true(found && !spex_fleet_set_has(&found->probes, 0));
    const struct spex_fleet_instance_key other = {3, 5};
    assert_null(spex_fleet_desired_find(&read, &other));
    spex_fleet_desired_free(&read);
    spex_fleet_texts_free(&desired.probes);
    free(text);
}
