/* SPDX-License-Identifier: MIT */
/* Speaks as the agents of a fleet do, for fleet.py: each host has one instance, which tells once a
 * second what it does, and every 10 s what its probes have measured.
 *
 *     fleet_agents URL FLEET HOSTS PROBES    until its input ends */
#include <err.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fleet/link/link.h"
#include "fleet/message/message.h"
#include "fleet/sums/profile_message.h"

enum { HOSTS_MAX = 10000, PERIOD = 10, RECORDS = 2000 };

struct agents {
    struct spex_link *link;
    const char *fleet;
    unsigned hosts, probes;
    /* The messages of a report and of a profile: all hosts send the same. */
    char *report;
    char *parts[64];
    size_t sizes[64], part_count, bytes;
};

static int keep(void *user, const char *data, size_t size) {
    struct agents *agents = user;
    if (agents->part_count == 64)
        return -1;
    agents->parts[agents->part_count] = malloc(size);
    if (!agents->parts[agents->part_count])
        return -1;
    memcpy(agents->parts[agents->part_count], data, size);
    agents->sizes[agents->part_count++] = size;
    agents->bytes += size;
    return 0;
}

static bool all(void *user, const struct spex_profile_probe *probe) {
    (void)user, (void)probe;
    return true;
}

/* Times as of a server: a long tail, of which one in four is recorded. */
static void values_make(struct spex_values *values) {
    uint64_t state = 1;
    spex_values_clear(values);
    for (unsigned r = 0; r < RECORDS; r++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        double share = (double)(state >> 33) / 0x1p31;
        uint64_t value = (uint64_t)(1e6 - 3e5 * log(1 - share));
        spex_histogram_add(&values->histogram, value, 4);
        spex_variance_single(&values->spread, value, 4, 1);
        values->mean += ((double)value - values->mean) / (r + 1);
    }
    values->weight = 4.0 * RECORDS;
    values->min = 1000000;
    values->max = 4000000;
}

static void profile_make(struct agents *agents) {
    static struct spex_values values;
    struct spex_profile_type type = {.probe_type = SPEX_LAT, .used = 1, .measured = 1, .empty = 30};
    struct spex_profile_row *rows = calloc(agents->probes, sizeof(*rows));
    struct spex_profile profile = {
        .process = {.ticks_per_second = 2e9, .seconds = 10, .began_ns = 1, .threads = 8},
        .types = &type,
        .type_count = 1,
        .rows = rows,
        .row_count = agents->probes};
    struct spex_fleet_profile_writer writer = {
        .by = {.agent = 1, .process = 1, .loaded_ns = 1, .boot = "bench"},
        .wanted = all,
        .send = keep,
        .user = agents};
    if (!rows)
        errx(1, "out of memory");
    values_make(&values);
    for (unsigned p = 0; p < agents->probes; p++)
        rows[p] = (struct spex_profile_row){.probe = {.probe_type = SPEX_LAT,
                                                      .probe_id = (uint16_t)(p + 1),
                                                      .declared = p + 2,
                                                      .series = 1,
                                                      .period = 4,
                                                      .period_last = 4,
                                                      .kind = SPEX_SAMPLING_GEOMETRIC,
                                                      .on_seconds = 10,
                                                      .count = values.weight,
                                                      .weight = values.weight,
                                                      .weight_squares = 16.0 * RECORDS,
                                                      .records = RECORDS},
                                            .values = {&values}};
    if (spex_fleet_profile_write(&writer, &profile) != 0)
        errx(1, "a profile cannot be written");
    free(rows);
}

/* All probes are on. */
static void report_make(struct agents *agents) {
    struct spex_fleet_reported item = {
        .key = {1, 1}, .program = "shop", .response = 0.01, .throughput = 100, .budget = 0.02};
    struct spex_fleet_report report = {.agent = 1, .items = &item, .count = 1};
    float numbers[SPEX_FLEET_PROBES_MAX];
    item.costs = item.rates = numbers;
    for (unsigned p = 0; p < agents->probes; p++) {
        char text[16];
        snprintf(text, sizeof(text), "%u:lat", p + 1);
        if (spex_fleet_texts_add(&report.probes, text) < 0)
            errx(1, "too many probes");
        spex_fleet_set_add(&item.here, p);
        spex_fleet_set_add(&item.on, p);
        numbers[p] = 0.0001f;
    }
    agents->report = spex_fleet_report_write(&report);
    spex_fleet_texts_free(&report.probes);
    if (!agents->report)
        errx(1, "out of memory");
}

static void send_one(struct agents *agents, const char *what, unsigned host, const char *data,
                     size_t size) {
    char subject[SPEX_LINK_NAME_BYTES];
    snprintf(subject, sizeof(subject), "spex.%s.%s.h%u", agents->fleet, what, host);
    spex_link_send(agents->link, subject, data, size);
}

/* Hosts that are due in this hundredth of a second. */
static void step(struct agents *agents, unsigned long tick) {
    for (unsigned h = 0; h < agents->hosts; h++) {
        if (tick % 100 == h % 100)
            send_one(agents, "report", h, agents->report, strlen(agents->report));
        if (tick % (100 * PERIOD) != h * 10 % (100 * PERIOD))
            continue;
        for (size_t p = 0; p < agents->part_count; p++)
            send_one(agents, "profile", h, agents->parts[p], agents->sizes[p]);
    }
}

int main(int argc, char **argv) {
    struct agents agents = {.link = NULL};
    struct spex_error error = {""};
    if (argc != 5)
        errx(2, "usage: fleet_agents URL FLEET HOSTS PROBES");
    const struct spex_link_options options = {.url = argv[1], .name = "fleet_agents"};
    agents.fleet = argv[2];
    agents.hosts = (unsigned)strtoul(argv[3], NULL, 10);
    agents.probes = (unsigned)strtoul(argv[4], NULL, 10);
    if (agents.hosts - 1 >= HOSTS_MAX || agents.probes - 1 >= SPEX_FLEET_PROBES_MAX)
        errx(2, "1 to %d hosts and 1 to %d probes were expected", HOSTS_MAX, SPEX_FLEET_PROBES_MAX);
    profile_make(&agents);
    report_make(&agents);
    if (spex_link_open(&options, &agents.link, &error) != 0)
        errx(1, "%s", error.text);
    printf("%zu\n", agents.bytes);
    fflush(stdout);
    struct pollfd input = {.fd = 0, .events = POLLIN};
    for (unsigned long tick = 0; poll(&input, 1, 10) == 0; tick++)
        step(&agents, tick);
    spex_link_close(agents.link);
    return 0;
}
