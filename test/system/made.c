/* SPDX-License-Identifier: MIT */
/* Writes traces whose contents are known, for tests of what reads them, and for benches.
 *
 *     made DIR KIND COUNT
 *
 * KIND is
 *
 *     all      records of all types, some sampled, from two CPUs and two threads, with a kernel
 *              within another, a slice that overlaps another, and marks
 *     spans    LAT records of one thread and CPU alone
 *     open     SPAN records of one probe: half of COUNT are open at once, then the other half
 *     names    kernels with names that are markup, controls or no UTF-8, and within one of them COUNT
 *              calling contexts with hardly any time
 *     sampled  LAT records of 100 probes that are executed COUNT times together, at random times
 *              and for random times, and recorded at random by periods that change. COUNT is also
 *              the seed
 *     slower   the same, with 0.8 as many executions a second, each of 1.5 times the time
 *     calls    kernels "sort", "parse", "hash" and "copy" within "main", COUNT executions in turn, each
 *              for a random time, half of them recorded. COUNT is also the seed
 *     changed  the same with other numbers of contexts; "sort" takes 1.5 times the time, "parse" is
 *              executed half as often, and "move" is in the place of "copy"
 *
 * There are about COUNT records; of samples, fewer. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <spex/record.h>

#include <spex/ticks.h>

#include "base/clock.h"
#include "trace/trace.h"
#include "trace/trace_format.h"

/* Ticks of a round, in which each probe makes some records. A trace is longer than it takes to be
 * made on a busy machine, so that the trace's end is that of its records. */
enum { ROUND = 20000000, BATCH = 256 };

enum { QUERY, OUTER, INNER, QUEUE, HITS, FAULTS, CACHE, SWITCHES, EVENTS, PACE, REQUEST, SITES };

static const struct spex_stream_site sites[SITES] = {
    [QUERY] = {.probe_id = 1, .probe_type = SPEX_LAT, .name = "query", .file = "made.c", .line = 1},
    [OUTER] = {.probe_id = 2,
               .probe_type = SPEX_KERNEL,
               .name = "outer",
               .file = "made.c",
               .line = 2,
               .parameters = "n, m"},
    [INNER] = {.probe_id = 3,
               .probe_type = SPEX_KERNEL,
               .name = "inner",
               .file = "made.c",
               .line = 3,
               .parameters = "n"},
    [QUEUE] = {.probe_id = 4, .probe_type = SPEX_SNAPSHOT, .name = "queue", .file = "made.c"},
    [HITS] = {.probe_id = 5, .probe_type = SPEX_CNT, .declared = 6, .file = "made.c"},
    [FAULTS] = {.probe_id = 6, .probe_type = SPEX_FLT, .name = "a \"name\"", .file = "made.c"},
    [CACHE] = {.probe_id = 7, .probe_type = SPEX_LLC, .name = "cache", .file = "made.c"},
    [SWITCHES] = {.probe_id = 8, .probe_type = SPEX_CTXSW, .name = "switches", .file = "made.c"},
    [EVENTS] = {.probe_id = 9, .probe_type = SPEX_PERFCNTR, .name = "events", .file = "made.c"},
    [PACE] = {.probe_id = 10, .probe_type = SPEX_TPT, .name = "pace", .file = "made.c"},
    [REQUEST] = {.probe_id = 11, .probe_type = SPEX_SPAN, .name = "request", .file = "made.c"},
};

/* Contexts of the two kernels, one within the other. */
static const struct spex_stream_context contexts[] = {{2, SPEX_CONTEXT_ROOT, 2}, {3, 2, 3}};

struct made {
    struct spex_trace *trace;
    struct spex_record batch[BATCH];
    size_t count;
    uint64_t records;
};

static void flush(struct made *made) {
    if (made->count)
        spex_trace_records(made->trace, made->batch, made->count);
    made->count = 0;
}

/* Adds a record; a batch is of one ring. */
static struct spex_record *add(struct made *made, unsigned site, unsigned thread, uint64_t now,
                               uint32_t weight) {
    const struct spex_record *first = &made->batch[0];
    if (made->count && (made->count == BATCH || first->probe_type != sites[site].probe_type ||
                        first->cpu_id != thread))
        flush(made);
    struct spex_record *record = &made->batch[made->count++];
    *record = (struct spex_record){.timestamp = now,
                                   .probe_type = sites[site].probe_type,
                                   .probe_id = sites[site].probe_id,
                                   .thread_id = 1000 + thread,
                                   .cpu_id = (uint16_t)thread,
                                   .weight = weight};
    made->records++;
    return record;
}

static void values(struct spex_record *record, unsigned count, const uint64_t *fields) {
    record->field_count = (uint8_t)count;
    memcpy(record->fields, fields, count * sizeof(*fields));
}

#define VALUES(record, ...)                                                                        \
    values(record, sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), (uint64_t[]){__VA_ARGS__})

/* One round of a thread: `inner` takes 20 % of `outer`, twice, and stands for 4 executions each. */
static void round_make(struct made *made, unsigned thread, uint64_t now, uint64_t number) {
    VALUES(add(made, INNER, thread, now + 30000, 4), 10000, 3, number);
    VALUES(add(made, INNER, thread, now + 50000, 4), 10000, 3, number);
    VALUES(add(made, OUTER, thread, now + 60000, 4), 50000, 2, number, 7);
    VALUES(add(made, QUERY, thread, now + 40000, 1), 5000 + number % 7 * 1000);
    VALUES(add(made, QUERY, thread, now + 90000, 1), 5000 + number % 7 * 1000);
    VALUES(add(made, QUEUE, thread, now + 70000, 1), number, UINT64_MAX - number);
    VALUES(add(made, HITS, thread, now + 71000, 10), 10);
    VALUES(add(made, FAULTS, thread, now + 72000, 1), number % 3);
    VALUES(add(made, CACHE, thread, now + 73000, 2), 100 + number, number);
    VALUES(add(made, SWITCHES, thread, now + 74000, 1), 0);
    VALUES(add(made, EVENTS, thread, now + 75000, 1), 1000 * number);
    VALUES(add(made, PACE, thread, now + 80000, 5), 5, 25000);
}

/* Two executions of one thread of which neither is within the other. */
static void overlap_make(struct made *made, uint64_t now) {
    VALUES(add(made, QUERY, 0, now + 2000, 1), 1000);
    VALUES(add(made, QUERY, 0, now + 2500, 1), 1000);
}

static void all_make(struct made *made, uint64_t begin, uint64_t count) {
    uint64_t now = begin;
    overlap_make(made, now);
    for (uint64_t number = 0; made->records < count; number++, now += ROUND) {
        for (unsigned thread = 0; thread < 2; thread++)
            round_make(made, thread, now, number);
        flush(made);
        spex_trace_pass(made->trace, now + ROUND);
    }
}

static void spans_make(struct made *made, uint64_t begin, uint64_t count) {
    for (uint64_t now = begin; made->records < count; now += 200) {
        VALUES(add(made, QUERY, 0, now, 1), 100 + now % 64);
        if (made->count == BATCH) {
            flush(made);
            spex_trace_pass(made->trace, now);
        }
    }
    flush(made);
}

/* Of each half, the last begins before the first ends. Their keys are numbers, and three threads
 * end them. */
static void open_make(struct made *made, uint64_t begin, uint64_t count) {
    uint64_t half = count / 2;
    for (uint64_t number = 0; number < count; number++) {
        uint64_t end = begin + (number / half * 2 + 1) * half * 1000 + number % half * 1000;
        struct spex_record *record = add(made, REQUEST, 0, end, 1);
        record->thread_id = (uint32_t)(1000 + number % 3);
        VALUES(record, half * 1000, number);
    }
    flush(made);
}

/* Contexts of names, and of what is within the first of them. */
enum { NAMED = 100, WITHIN = 200 };

static void named_make(struct made *made, unsigned kernel, struct spex_stream_context context,
                       uint64_t now, const struct spex_record *like) {
    struct spex_record *record = add(made, OUTER, 0, now, like->weight);
    spex_trace_contexts(made->trace, &context, 1);
    record->probe_id = (uint16_t)kernel;
    VALUES(record, like->fields[0], context.number);
    flush(made);
}

static void names_make(struct made *made, uint64_t begin, uint64_t count) {
    static const char *const names[] = {"<script>alert(1)</script>",
                                        "]]>&\"'",
                                        "\x1b[31mred",
                                        "\xff\xfe\xed\xa0\x80",
                                        "\xef\xbf\xbe",
                                        "\xe2\x80\xaetxt",
                                        "</title></svg>",
                                        "onload=\"alert(1)\" is longer than its frame is wide"};
    enum { NAMES = sizeof(names) / sizeof(names[0]) };
    const struct spex_record usual = {.weight = 10000, .fields = {100000}},
                             narrow = {.weight = 1, .fields = {1}};
    for (unsigned n = 0; n < NAMES; n++) {
        struct spex_stream_site site = {
            .index = NAMED + n, .probe_id = (uint16_t)(NAMED + n), .probe_type = SPEX_KERNEL};
        snprintf(site.name, sizeof(site.name), "%s", names[n]);
        spex_trace_sites(made->trace, &site, 1);
        named_make(made, NAMED + n,
                   (struct spex_stream_context){NAMED + n, SPEX_CONTEXT_ROOT, NAMED + n},
                   begin + n * ROUND, &usual);
    }
    for (unsigned n = 0; n < count; n++)
        named_make(made, 3, (struct spex_stream_context){WITHIN + n, NAMED, 3},
                   begin + NAMES * ROUND + n, &narrow);
}

/* From 0 to 1, both excluded (splitmix64 by Steele, Lea and Flood). */
static double draw(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return ((double)((z ^ z >> 31) >> 12) + 0.5) / 0x1p52;
}

enum { SAMPLED = 100, FIRST_SAMPLED = 100, GAP = 100000, TIME = 10000 };

static void sampled_sites(struct made *made) {
    for (unsigned probe = 0; probe < SAMPLED; probe++) {
        struct spex_stream_site site = {.index = FIRST_SAMPLED + probe,
                                        .probe_id = (uint16_t)(FIRST_SAMPLED + probe),
                                        .probe_type = SPEX_LAT,
                                        .file = "made.c"};
        snprintf(site.name, sizeof(site.name), "p%u", probe);
        spex_trace_sites(made->trace, &site, 1);
    }
}

/* Times between executions, and those that they take, are exponential. */
static void sampled_make(struct made *made, uint64_t begin, uint64_t count, bool slower) {
    unsigned period[SAMPLED] = {0};
    uint64_t state = count;
    double now = 0;
    sampled_sites(made);
    for (uint64_t execution = 0; execution < count; execution++) {
        now -= log(draw(&state)) * (slower ? GAP / 0.8 : GAP);
        unsigned probe = (unsigned)(draw(&state) * SAMPLED);
        double time = -log(draw(&state)) * (slower ? TIME * 1.5 : TIME);
        if (!period[probe] || draw(&state) < 0.01)
            period[probe] = 4u << 2 * (unsigned)(draw(&state) * 3);
        if (draw(&state) * period[probe] >= 1)
            continue;
        struct spex_record *record = &made->batch[made->count++];
        *record = (struct spex_record){.timestamp = begin + (uint64_t)now,
                                       .probe_type = SPEX_LAT,
                                       .probe_id = (uint16_t)(FIRST_SAMPLED + probe),
                                       .thread_id = 1000,
                                       .weight = period[probe],
                                       .marks = SPEX_MARK_DRAWN};
        VALUES(record, (uint64_t)time);
        made->records++;
        if (made->count == BATCH) {
            flush(made);
            spex_trace_pass(made->trace, begin + (uint64_t)now);
        }
    }
    flush(made);
}

enum { CALLED = 300, CALLS = 5 };

/* Callers have lower numbers than those within them. */
static void calls_know(struct made *made, bool changed) {
    const char *const names[CALLS] = {"main", "sort", "parse", "hash", changed ? "move" : "copy"};
    for (unsigned n = 0; n < CALLS; n++) {
        unsigned place = changed && n ? CALLS - n : n;
        struct spex_stream_context context = {CALLED + place, n ? CALLED : SPEX_CONTEXT_ROOT,
                                              CALLED + n};
        struct spex_stream_site site = {
            .index = CALLED + n, .probe_id = (uint16_t)(CALLED + n), .probe_type = SPEX_KERNEL};
        snprintf(site.name, sizeof(site.name), "%s", names[n]);
        spex_trace_sites(made->trace, &site, 1);
        spex_trace_contexts(made->trace, &context, 1);
    }
}

static void calls_make(struct made *made, uint64_t begin, uint64_t count, bool changed) {
    uint64_t state = count;
    calls_know(made, changed);
    for (uint64_t execution = 0; execution < count; execution++) {
        unsigned n = 1 + (unsigned)(execution % (CALLS - 1));
        double time = -log(draw(&state)) * (changed && n == 1 ? TIME * 1.5 : TIME);
        bool executed = !changed || n != 2 || execution / (CALLS - 1) % 2;
        if (!executed || draw(&state) < 0.5)
            continue;
        struct spex_record *record = add(made, OUTER, 0, begin + (execution + 1) * GAP, 2);
        record->probe_id = (uint16_t)(CALLED + n);
        VALUES(record, (uint64_t)time, CALLED + (changed ? CALLS - n : n));
    }
    flush(made);
    spex_trace_pass(made->trace, begin + count * GAP);
}

int main(int argc, char **argv) {
    static struct made made;
    struct spex_trace_disk disk = {0};
    struct spex_error error;
    if (argc != 4)
        return 2;
    const struct spex_trace_options options = {
        .directory = argv[1], .program = "made", .process_id = getpid(), .disk = &disk};
    if (spex_trace_open(&options, &made.trace, &error) != 0) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    spex_trace_sites(made.trace, sites, SITES);
    spex_trace_contexts(made.trace, contexts, 2);
    uint64_t begin = spex_instant_now().ticks, count = strtoull(argv[3], NULL, 10);
    if (strcmp(argv[2], "all") == 0)
        all_make(&made, begin, count);
    else if (strcmp(argv[2], "open") == 0)
        open_make(&made, begin, count);
    else if (strcmp(argv[2], "names") == 0)
        names_make(&made, begin, count);
    else if (strcmp(argv[2], "sampled") == 0 || strcmp(argv[2], "slower") == 0)
        sampled_make(&made, begin, count, strcmp(argv[2], "slower") == 0);
    else if (strcmp(argv[2], "calls") == 0 || strcmp(argv[2], "changed") == 0)
        calls_make(&made, begin, count, strcmp(argv[2], "changed") == 0);
    else
        spans_make(&made, begin, count);
    spex_trace_lost(made.trace, 17);
    spex_trace_mark(made.trace, spex_ticks(), "a \"mark\"");
    spex_trace_end(made.trace);
    printf("%s\n", spex_trace_directory(made.trace));
    fprintf(stderr, "%llu\n", (unsigned long long)made.records);
    spex_trace_free(made.trace);
    spex_trace_disk_free(&disk);
    return 0;
}
