/* SPDX-License-Identifier: MIT */
/* Measures what probes cost a program that has its own data in the caches, and the kernel's, when
 * it comes to the next probe: a request is received, a file opened, an answer written, and memory
 * read in between. The other benches of costs have nothing between two executions.
 *
 *     cold [--json] [--rounds N]
 *
 * In each round the same thread executes requests twice, with the probes on and with all off, in an
 * order by chance. The figure is the median over the rounds of what is between the two, in CPU time
 * of that thread. */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <spex/kernel.h>
#include <spex/probe.h>
#include <spex/spex.h>

#include "bench.h"

enum {
    ROUNDS_MAX = 10000,
    REQUESTS = 1000,
    WARM_UP = 100, /* requests after each switch */
    BYTES = 1000,  /* of a request */
    LINE = 64,
    STRIDE = 7, /* lines */
    READS = 100 /* of memory, between two probes */
};

/* How much memory the program goes through: some that a core's own cache holds, and some that it
 * does not. */
static const size_t amounts[] = {256 << 10, 8 << 20};

static const struct choice {
    const char *probes;
    unsigned records; /* of a request */
} choices[] = {{"request", 1}, {"handle", 1}, {"open", 1}, {"connections", 1}, {"*", 4}};

enum {
    AMOUNTS = sizeof(amounts) / sizeof(amounts[0]),
    CHOICES = sizeof(choices) / sizeof(choices[0])
};

static int client, server; /* of a connection */
static char *memory;
static size_t amount, position;
static volatile uint64_t sum;

static void read_memory(void) {
    uint64_t read = 0;
    for (int i = 0; i < READS; i++) {
        read += (uint64_t)memory[position];
        position = (position + (size_t)STRIDE * LINE) % amount;
    }
    sum += read;
}

__attribute__((noinline)) static int open_file(void) {
    SPEX_LAT_BEGIN(open, 1);
    int file = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    SPEX_LAT_END(open);
    return file;
}

__attribute__((noinline)) static void handle(const char *request) {
    SPEX_KERNEL_SCOPE("handle", 1, BYTES);
    int file = open_file();
    read_memory();
    if (file < 0 || write(client, request, BYTES) != BYTES)
        err(1, "a request");
    close(file);
}

static void serve(void) {
    char request[BYTES];
    if (recv(server, request, BYTES, MSG_WAITALL) != BYTES)
        err(1, "a request");
    SPEX_SPAN_BEGIN("request", request);
    read_memory();
    handle(request);
    read_memory();
    SPEX_SPAN_END("request", request);
    SPEX_SNAPSHOT_PROBE("connections", 1, position);
}

static void begin(void) {
    const struct spex_options options = {
        .size = sizeof(options), .probes = "", .out = "/dev/null", .no_calibration = true};
    static const char first[BYTES];
    int ends[2];
    memory = malloc(amounts[AMOUNTS - 1]);
    if (!memory || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        err(1, "cannot begin");
    memset(memory, 1, amounts[AMOUNTS - 1]);
    client = ends[0];
    server = ends[1];
    if (write(client, first, BYTES) != BYTES)
        err(1, "a request");
    int error = spex_start(&options);
    if (error)
        errx(1, "spex does not start: %s", strerror(-error));
}

/* Nanoseconds of a request. */
static double request_ns(const char *probes) {
    struct timespec from, to;
    if (spex_set(probes) < 0)
        errx(1, "%s cannot be set", probes);
    for (int r = 0; r < WARM_UP; r++)
        serve();
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    for (int r = 0; r < REQUESTS; r++)
        serve();
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
    return ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) /
           REQUESTS;
}

static double plain[AMOUNTS][CHOICES][ROUNDS_MAX], more[AMOUNTS][CHOICES][ROUNDS_MAX];

static void measure_round(size_t round) {
    for (int a = 0; a < AMOUNTS; a++) {
        amount = amounts[a];
        position = 0;
        request_ns(""); /* the memory comes into the caches that hold it */
        for (int c = 0; c < CHOICES; c++) {
            double ns[2];
            int first = rand() & 1;
            ns[first] = request_ns(first ? choices[c].probes : "");
            ns[!first] = request_ns(first ? "" : choices[c].probes);
            plain[a][c][round] = ns[0];
            more[a][c][round] = ns[1] - ns[0];
        }
    }
}

static void print_figure(int a, int c, size_t rounds, bool json) {
    struct bench_result off = bench_median(plain[a][c], rounds);
    struct bench_result on = bench_median(more[a][c], rounds);
    const char *name = strcmp(choices[c].probes, "*") == 0 ? "all" : choices[c].probes;
    if (json)
        printf("%s\n  {\"bytes\": %zu, \"probes\": \"%s\", \"records\": %u, \"plain_ns\": %.1f, "
               "\"more_ns\": %.1f, \"ci95\": [%.1f, %.1f]}",
               a + c ? "," : "", amounts[a], name, choices[c].records, off.median, on.median,
               on.low, on.high);
    else
        printf("%5zu KiB, %-12s %u records: %6.1f ns (%.1f to %.1f) more than %.0f ns\n",
               amounts[a] >> 10, name, choices[c].records, on.median, on.low, on.high, off.median);
}

int main(int argc, char **argv) {
    size_t rounds = 200;
    bool json = false;
    bench_options(argc, argv, 1, ROUNDS_MAX, &rounds, &json);
    begin();
    for (size_t r = 0; r < rounds; r++)
        measure_round(r);
    spex_stop();
    if (json)
        printf("{\"bench\": \"cold\", \"rounds\": %zu, \"results\": [", rounds);
    for (int a = 0; a < AMOUNTS; a++)
        for (int c = 0; c < CHOICES; c++)
            print_figure(a, c, rounds, json);
    if (json)
        puts("]}");
    return 0;
}
