/* SPDX-License-Identifier: MIT */
/* Many agents of a fleet in one process, for crowd.py: each has a connection to NATS of its own,
 * and speaks with the master as `spex agent` does, by the same code. What a program would tell is
 * made up: response times of queues, what probes cost, and the times of executions, which have a
 * long tail and of which one in four is recorded. Of kernels each agent has a full turn of an
 * instance each 5 s.
 *
 *     agents NATS-URL FLEET AGENTS INSTANCES PROBES KERNELS
 *
 * Prints a line when all are led, and ends when its input does. */
#include <err.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/random.h"
#include "fleet/lead/kernel_message.h"
#include "ring/probe_type.h"
#include "tools/agent/led.h"
#include "tools/agent/led_profiles.h"

enum { TICK_MS = 100 };

/* Seconds of an instance for a request, a second, and what a probe that is on takes of its time. */
#define SERVICE    0.005
#define THROUGHPUT 60.0
#define PROBE_COST 0.00005

/* Executions of a probe that were recorded, each with a weight. */
enum { RECORDS = 2000, WEIGHT = 4 };

/* Of each kernel, as a turn has it at most (tools/agent/led_kernels.c). */
enum { KERNEL_ROWS = 256, KERNEL_SIZES = 16 };
#define KERNEL_NS UINT64_C(5000000000)

struct crowd {
    struct spex_led *agents;
    /* When the kernels of each agent's instances are due. */
    uint64_t *due_ns;
    struct spex_training *kernels;
    struct spex_circumstances machine;
    struct spex_hosted *instances; /* of each agent, one after another */
    struct spex_worker *workers;   /* of each instance, with what it has measured */
    struct spex_profile_type type;
    struct spex_profile_row *rows;
    struct spex_values values;
    size_t count, each, probes;
    struct spex_random random;
};

/* The first one is of the response time, and not of the map. */
static void fill_probes(struct spex_hosted_probes *probes, size_t count) {
    probes->items = calloc(count + 1, sizeof(*probes->items));
    if (!probes->items)
        err(1, "probes");
    probes->count = count + 1;
    for (size_t p = 0; p <= count; p++) {
        struct spex_hosted_probe *probe = &probes->items[p];
        *probe = (struct spex_hosted_probe){.probe_id = (uint16_t)p,
                                            .type = SPEX_LAT,
                                            .there = true,
                                            .mapped = p > 0,
                                            .response = p == 0};
        snprintf(probe->text, sizeof(probe->text), "shop/handler_of_page_%zu:lat", p);
    }
}

/* From 0 to 1. */
static double unit(struct crowd *crowd) {
    return (double)(spex_random_next(&crowd->random) >> 11) * 0x1p-53;
}

static void fill_values(struct crowd *crowd) {
    struct spex_values *values = &crowd->values;
    spex_values_clear(values);
    for (unsigned r = 0; r < RECORDS; r++) {
        uint64_t value = (uint64_t)(1e6 - 3e5 * log(1 - unit(crowd)));
        spex_histogram_add(&values->histogram, value, WEIGHT);
        spex_variance_single(&values->spread, value, WEIGHT, 1);
        values->mean += ((double)value - values->mean) / (r + 1);
    }
    values->weight = (double)WEIGHT * RECORDS;
    values->min = 1000000;
    values->max = 4000000;
}

/* All instances have measured the same. */
static void fill_rows(struct crowd *crowd) {
    fill_values(crowd);
    crowd->type =
        (struct spex_profile_type){.probe_type = SPEX_LAT, .used = 1, .measured = 1, .empty = 30};
    crowd->rows = calloc(crowd->probes, sizeof(*crowd->rows));
    if (!crowd->rows)
        err(1, "probes");
    for (size_t p = 0; p < crowd->probes; p++)
        crowd->rows[p] =
            (struct spex_profile_row){.probe = {.probe_type = SPEX_LAT,
                                                .probe_id = (uint16_t)(p + 1),
                                                .declared = (uint32_t)p + 2,
                                                .series = 1,
                                                .period = WEIGHT,
                                                .period_last = WEIGHT,
                                                .kind = SPEX_SAMPLING_GEOMETRIC,
                                                .on_seconds = 10,
                                                .count = crowd->values.weight,
                                                .weight = crowd->values.weight,
                                                .weight_squares = (double)WEIGHT * WEIGHT * RECORDS,
                                                .records = RECORDS},
                                      .values = {&crowd->values}};
}

static void fill_worker(struct crowd *crowd, const struct spex_hosted *hosted,
                        struct spex_worker *worker) {
    *worker = (struct spex_worker){.process = hosted->process,
                                   .has_now = true,
                                   .now = {.process = {.process_id = (uint32_t)hosted->process,
                                                       .loaded_ns = hosted->loaded_ns,
                                                       .began_ns = 1,
                                                       .ticks_per_second = 2e9,
                                                       .seconds = 10,
                                                       .threads = 8},
                                           .types = &crowd->type,
                                           .type_count = 1,
                                           .rows = crowd->rows,
                                           .row_count = crowd->probes}};
}

static void fill(struct crowd *crowd) {
    fill_rows(crowd);
    for (size_t i = 0; i < crowd->count * crowd->each; i++) {
        struct spex_hosted *hosted = &crowd->instances[i];
        hosted->process = (pid_t)(1000 + i);
        hosted->loaded_ns = 1 + i;
        snprintf(hosted->command, sizeof(hosted->command), "shop");
        hosted->lease.state = SPEX_HELD;
        fill_probes(&hosted->probes, crowd->probes);
        fill_worker(crowd, hosted, &crowd->workers[i]);
    }
}

/* All instances have executed the same. */
static void fill_kernels(struct crowd *crowd, size_t count) {
    static const char *const names[] = {"size"};
    char path[48];
    int error = spex_training_create(&crowd->kernels, 1);
    error = error ? error : spex_circumstances_now("/proc/self/exe", &crowd->machine);
    for (size_t k = 0; k < count && !error; k++) {
        struct spex_trained *kernel;
        snprintf(path, sizeof(path), "request/kernel_%zu", k);
        error = spex_training_kernel(crowd->kernels, path, names, 1, &kernel);
        for (size_t r = 0; r < KERNEL_ROWS && !error; r++) {
            double size = (double)(1000 * (1 + r % KERNEL_SIZES));
            error = spex_trained_add(crowd->kernels, kernel, &size,
                                     1e-8 * size * (1 + 0.1 * unit(crowd)), 100);
        }
    }
    if (error)
        errx(1, "kernels: %s", strerror(-error));
}

static int send_kernels(void *user, const char *text, size_t size) {
    const struct spex_led *led = user;
    char subject[SPEX_LINK_NAME_BYTES];
    snprintf(subject, sizeof(subject), "spex.%s.kernels.%s", led->fleet, led->host);
    return spex_link_send(led->link, subject, text, size);
}

/* Agents have their turns at different times. */
static void tell_kernels(struct crowd *crowd, size_t a, uint64_t now_ns) {
    struct spex_led *led = &crowd->agents[a];
    const struct spex_kernel_writer writer = {.agent = led->agent,
                                              .machine = &crowd->machine,
                                              .most = KERNEL_ROWS,
                                              .factor = 1.5,
                                              .send = send_kernels,
                                              .user = led};
    if (!crowd->due_ns[a])
        crowd->due_ns[a] = now_ns + KERNEL_NS * a / crowd->count;
    if (!led->led || now_ns < crowd->due_ns[a])
        return;
    crowd->due_ns[a] = now_ns + KERNEL_NS;
    if (spex_kernel_messages_write(&writer, crowd->kernels) != 0)
        errx(1, "agent %zu: the kernels cannot be sent", a);
}

static void open_all(struct crowd *crowd, const char *url, const char *fleet) {
    const struct spex_link_options options = {.url = url, .name = "spex agent"};
    for (size_t a = 0; a < crowd->count; a++) {
        struct spex_error error = {""};
        char host[32];
        snprintf(host, sizeof(host), "host-%zu", a);
        if (spex_led_open(&crowd->agents[a], &options, fleet, host, 10, &error) != 0)
            errx(1, "agent %zu: %s", a, error.text);
    }
}

/* A report of a program, once a second. */
static void tell(struct crowd *crowd, struct spex_hosted *hosted, uint64_t now_ns) {
    double on = 0;
    for (size_t p = 1; p < hosted->probes.count; p++) {
        struct spex_hosted_probe *probe = &hosted->probes.items[p];
        bool is_on = spex_hosted_probe_is_on(probe);
        probe->share = is_on ? PROBE_COST * (0.9 + 0.2 * unit(crowd)) : 0;
        probe->rate = is_on ? THROUGHPUT * (0.9 + 0.2 * unit(crowd)) : -1;
        on += probe->share;
    }
    double service = SERVICE * (1 + on);
    hosted->response.throughput = THROUGHPUT * (0.95 + 0.1 * unit(crowd));
    hosted->response.response = service / (1 - hosted->response.throughput * service);
    hosted->heard_ns = now_ns;
}

static bool step(struct crowd *crowd, size_t a) {
    struct spex_led *led = &crowd->agents[a];
    struct spex_error error = {""};
    uint64_t now_ns = spex_clock_ns(CLOCK_MONOTONIC);
    int taken = spex_led_step(led, &error);
    if (taken < 0)
        errx(1, "agent %zu: %s", a, error.text);
    for (size_t i = a * crowd->each; i < (a + 1) * crowd->each; i++) {
        struct spex_hosted *hosted = &crowd->instances[i];
        const struct spex_hosted_wish wish = spex_led_wish(led, hosted);
        if (taken)
            spex_hosted_probes_wish(&hosted->probes, &wish);
        if (now_ns - hosted->heard_ns >= UINT64_C(1000000000))
            tell(crowd, hosted, now_ns);
        crowd->workers[i].heard_ns = hosted->heard_ns;
    }
    const struct spex_worker_feed feed = {.workers = &crowd->workers[a * crowd->each],
                                          .count = crowd->each};
    if (spex_led_report(led, &crowd->instances[a * crowd->each], crowd->each) != 0 ||
        spex_led_profiles(led, &crowd->instances[a * crowd->each], crowd->each, &feed) != 0)
        errx(1, "agent %zu: out of memory", a);
    tell_kernels(crowd, a, now_ns);
    return led->led;
}

/* The agents' turns are spread over a tick, as those of machines would be. */
static void run(struct crowd *crowd) {
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    bool told = false;
    while (poll(&input, 1, 0) == 0) {
        uint64_t begin_ns = spex_clock_ns(CLOCK_MONOTONIC);
        size_t led = 0;
        for (size_t a = 0; a < crowd->count; a++) {
            led += step(crowd, a);
            uint64_t due_ns = begin_ns + TICK_MS * UINT64_C(1000000) * (a + 1) / crowd->count;
            uint64_t now_ns = spex_clock_ns(CLOCK_MONOTONIC);
            if (now_ns < due_ns)
                usleep((useconds_t)((due_ns - now_ns) / 1000));
        }
        if (led == crowd->count && !told) {
            printf("led\n");
            fflush(stdout);
            told = true;
        }
    }
}

static size_t number(const char *text, size_t most) {
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    if (*end || value > most)
        errx(2, "a number up to %zu was expected, not %s", most, text);
    return value;
}

int main(int argc, char **argv) {
    static struct crowd crowd;
    if (argc != 7)
        errx(2, "usage: agents NATS-URL FLEET AGENTS INSTANCES PROBES KERNELS");
    crowd.count = number(argv[3], 2000);
    crowd.each = number(argv[4], SPEX_FLEET_HOST_INSTANCES_MAX);
    crowd.probes = number(argv[5], SPEX_FLEET_PROBES_MAX - 1);
    crowd.agents = calloc(crowd.count, sizeof(*crowd.agents));
    crowd.instances = calloc(crowd.count * crowd.each, sizeof(*crowd.instances));
    crowd.workers = calloc(crowd.count * crowd.each, sizeof(*crowd.workers));
    crowd.due_ns = calloc(crowd.count, sizeof(*crowd.due_ns));
    if (!crowd.agents || !crowd.instances || !crowd.workers || !crowd.due_ns)
        err(1, "agents");
    spex_random_seed(&crowd.random, 1, 0);
    fill(&crowd);
    fill_kernels(&crowd, number(argv[6], SPEX_TRAINING_KERNELS));
    open_all(&crowd, argv[1], argv[2]);
    run(&crowd);
    for (size_t a = 0; a < crowd.count; a++)
        spex_led_close(&crowd.agents[a]);
    return 0;
}
