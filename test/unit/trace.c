/* SPDX-License-Identifier: MIT */
/* What the writer of traces writes, read back by babeltrace2 and compared with the records that it
 * was given: batches of rings as collectors hand them out, of several CPUs and types, out of order
 * here and there, with losses. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <spex/ticks.h>

#include "../check.h"
#include "ring/probe_type.h"
#include "trace/trace.h"
#include "trace/trace_format.h"

enum { CPUS = 3, ROUNDS = 60, BATCH = 256, MOST = 200000 };

struct written {
    char folder[64];
    struct spex_trace_disk disk;
    struct spex_trace *trace;
    struct spex_record *records;
    size_t count;
    uint64_t lost;
    uint64_t now;
    uint64_t seed;
};

static bool have_babeltrace(void) {
    return system("babeltrace2 --version >/dev/null 2>&1") == 0;
}

static void begin(struct written *written, uint64_t rotate_bytes, uint64_t keep) {
    static uint64_t runs;
    struct spex_error error;
    *written = (struct written){.seed = ++runs, .disk = {.keep = keep}, .now = spex_ticks()};
    strcpy(written->folder, "/tmp/spex-trace-XXXXXX");
    assert_non_null(mkdtemp(written->folder));
    const struct spex_trace_options options = {.directory = written->folder,
                                               .program = "a/test \"program\"",
                                               .process_id = 4711,
                                               .limits.rotate_bytes = rotate_bytes,
                                               .disk = &written->disk};
    assert_int_equal(spex_trace_open(&options, &written->trace, &error), 0);
    written->records = calloc(MOST, sizeof(*written->records));
    assert_non_null(written->records);
    struct spex_stream_site sites[] = {
        {.probe_id = 1, .probe_type = SPEX_LAT, .name = "query", .provider = "lib", .declared = 2},
        {.probe_id = 1, .probe_type = SPEX_CNT, .name = "query", .provider = "lib", .declared = 2},
        {.probe_id = 2,
         .probe_type = SPEX_KERNEL,
         .name = "so\"rt\n",
         .provider = "lib",
         .parameters = "n, f(a, b), ticks, n"},
        {.probe_id = 3, .probe_type = SPEX_SNAPSHOT, .provider = "app", .declared = 4},
    };
    spex_trace_sites(written->trace, sites, COUNT_OF(sites));
}

static void end(struct written *written) {
    char command[128];
    spex_trace_free(written->trace);
    spex_trace_disk_free(&written->disk);
    free(written->records);
    snprintf(command, sizeof(command), "rm -r %s", written->folder);
    assert_int_equal(system(command), 0);
}

static const uint32_t types[] = {SPEX_LAT, SPEX_CNT, SPEX_KERNEL, SPEX_SNAPSHOT, SPEX_SPAN};
static const uint16_t ids[] = {1, 1, 2, 3, 4};

static struct spex_record record_make(struct written *written, unsigned type, unsigned cpu) {
    struct spex_record record = {.timestamp = written->now,
                                 .probe_type = types[type],
                                 .probe_id = ids[type],
                                 .cpu_id = (uint16_t)cpu,
                                 .thread_id = 4711 + cpu,
                                 .weight = 1};
    if (random_below(&written->seed, 10) == 0)
        record.weight =
            (uint32_t)random_next(&written->seed) >> random_below(&written->seed, 32) | 1;
    if (random_below(&written->seed, 10) == 0)
        record.marks = (uint8_t)random_below(&written->seed, 1 << SPEX_MARKS);
    if (random_below(&written->seed, 20) == 0)
        record.thread_id = (uint32_t)random_next(&written->seed);
    record.field_count =
        (uint8_t)(spex_probe_type_first_value(types[type]) + spex_probe_type_values(types[type]));
    record.fields[0] = record.weight;
    for (unsigned v = spex_probe_type_first_value(types[type]); v < record.field_count; v++)
        record.fields[v] = random_next(&written->seed) >> random_below(&written->seed, 64);
    return record;
}

/* A pass of a collector over the rings of all CPUs and types, with records of the same time; a few
 * are late within their batch. */
static void pass(struct written *written, size_t most) {
    uint64_t from = written->now, longest = from;
    for (unsigned cpu = 0; cpu < CPUS; cpu++)
        for (unsigned type = 0; type < COUNT_OF(types); type++) {
            struct spex_record batch[BATCH];
            size_t count = random_below(&written->seed, most + 1);
            written->now = from + type;
            for (size_t r = 0; r < count; r++) {
                written->now += 10 + 10 * random_below(&written->seed, 100);
                batch[r] = record_make(written, type, cpu);
                /* Odd times are of CPU 1 alone, and so on: all differ. */
                batch[r].timestamp = batch[r].timestamp / 10 * 10 + cpu * 3 + type % 3;
            }
            if (count > 10 && random_below(&written->seed, 4) == 0) {
                struct spex_record early = batch[3];
                memmove(&batch[3], &batch[4], 4 * sizeof(early));
                batch[7] = early;
            }
            if (count && random_below(&written->seed, 10) == 0) {
                batch[0].gap = 1;
                batch[0].lost = (uint32_t)random_below(&written->seed, 1000);
                written->lost += batch[0].lost;
                spex_trace_lost(written->trace, written->lost);
            }
            spex_trace_records(written->trace, batch, count);
            assert_true(written->count + count <= MOST);
            memcpy(&written->records[written->count], batch, count * sizeof(*batch));
            written->count += count;
            longest = written->now > longest ? written->now : longest;
        }
    written->now = longest + 100;
    spex_trace_pass(written->trace, written->now);
}

/* What babeltrace2 finds: events in the order of their time, and discarded ones. Anything that it
 * says besides is a failure. */
struct found {
    struct event {
        uint64_t time;
        uint64_t thread, weight, marks, gap;
        uint64_t values; /* digested */
    } * events;
    size_t count;
    uint64_t discarded;
};

static uint64_t digest(uint64_t values, uint64_t value) {
    return values * 31 + value + 1;
}

static void field_take(struct event *event, const char *name, uint64_t value) {
    if (strcmp(name, "tid") == 0)
        event->thread = value;
    else if (strcmp(name, "weight") == 0)
        event->weight = value;
    else if (strcmp(name, "marks") == 0)
        event->marks = value;
    else if (strcmp(name, "gap") == 0)
        event->gap = value;
    else if (strcmp(name, "lost") != 0 && strcmp(name, "cpu_id") != 0)
        event->values = digest(event->values, value);
}

/* The number behind the prefix of a line. */
static uint64_t number_after(const char *line, const char *prefix) {
    char *end = NULL;
    uint64_t number =
        strncmp(line, prefix, strlen(prefix)) == 0 ? strtoull(line + strlen(prefix), &end, 10) : 0;
    if (!end || end == line + strlen(prefix))
        fail_msg("babeltrace2: %s", line);
    return number;
}

/* "[TIME] … { cpu_id = 0, tid = 1 }, { ticks = 3 }". */
static void event_take(struct found *found, char *line) {
    struct event event = {.time = number_after(line, "["), .weight = 1};
    char *fields = strstr(line, "{ cpu_id = "), *rest;
    assert_non_null(fields);
    for (char *field = strtok_r(fields, "{},\n", &rest); field;
         field = strtok_r(NULL, "{},\n", &rest)) {
        char *equals = strstr(field, " = ");
        if (!equals)
            continue;
        *equals = '\0';
        field_take(&event, field + strspn(field, " "), number_after(equals + 1, "= "));
    }
    found->events[found->count++] = event;
}

static void warning_take(struct found *found, char *line) {
    found->discarded += number_after(line, "WARNING: Tracer discarded ");
}

/* Takes the lines of one of the program's outputs: its events, or what it complains of. */
static void lines_take(struct found *found, const char *command,
                       void (*take)(struct found *, char *)) {
    char line[4096];
    FILE *from = popen(command, "r");
    assert_non_null(from);
    while (fgets(line, sizeof(line), from))
        take(found, line);
    assert_int_equal(pclose(from), 0);
}

/* Of one time there may be several, which are read in any order. */
static int by_event(const void *a, const void *b) {
    const struct event *one = a, *other = b;
    if (one->time != other->time)
        return one->time > other->time ? 1 : -1;
    return memcmp(one, other, sizeof(*one));
}

/* babeltrace2 merges streams by nanoseconds, so ticks may be out of order by some. */
static void expect_order(const struct found *found) {
    const uint64_t nanosecond = 10;
    for (size_t e = 1; e < found->count; e++)
        assert_true(found->events[e].time + nanosecond > found->events[e - 1].time);
}

static void read_back(const struct written *written, struct found *found) {
    char command[256];
    *found = (struct found){.events = calloc(MOST, sizeof(*found->events))};
    assert_non_null(found->events);
    snprintf(command, sizeof(command), "babeltrace2 --clock-cycles --no-delta %s/* 2>%s.said",
             written->folder, written->folder);
    lines_take(found, command, event_take);
    expect_order(found);
    qsort(found->events, found->count, sizeof(*found->events), by_event);
    snprintf(command, sizeof(command), "cat %s.said; rm %s.said", written->folder, written->folder);
    lines_take(found, command, warning_take);
}

static struct event event_of(const struct spex_record *record) {
    struct event event = {.time = record->timestamp,
                          .thread = record->thread_id,
                          .weight = record->weight,
                          .marks = record->marks,
                          .gap = record->gap};
    for (unsigned v = spex_probe_type_first_value(record->probe_type); v < record->field_count; v++)
        event.values = digest(event.values, record->fields[v]);
    return event;
}

static void expect_event(const struct event *event, const struct event *expected) {
    assert_int_equal(event->time, expected->time);
    assert_int_equal(event->thread, expected->thread);
    assert_int_equal(event->weight, expected->weight);
    assert_int_equal(event->marks, expected->marks);
    assert_int_equal(event->gap, expected->gap);
    assert_int_equal(event->values, expected->values);
}

/* The events that are to be found, in their order. */
static struct event *events_of(const struct written *written) {
    struct event *events = calloc(written->count + 1, sizeof(*events));
    assert_non_null(events);
    for (size_t r = 0; r < written->count; r++)
        events[r] = event_of(&written->records[r]);
    qsort(events, written->count, sizeof(*events), by_event);
    return events;
}

static void expect_all(struct written *written, const struct found *found) {
    assert_int_equal(found->count, written->count);
    assert_int_equal(found->discarded, written->lost);
    struct spex_trace_totals totals = spex_trace_totals(written->trace);
    assert_int_equal(totals.records, written->count);
    assert_int_equal(totals.lost, written->lost);
    struct event *expected = events_of(written);
    for (size_t r = 0; r < written->count; r++)
        expect_event(&found->events[r], &expected[r]);
    free(expected);
}

TEST(test_all_is_read_back) {
    struct written written;
    struct found found;
    begin(&written, 0, 0);
    for (int r = 0; r < ROUNDS; r++)
        pass(&written, r % 7 == 0 ? BATCH : 5);
    spex_trace_mark(written.trace, 1, "a mark");
    written.lost += 77;
    spex_trace_lost(written.trace, written.lost);
    spex_trace_end(written.trace);
    assert_int_equal(spex_trace_error(written.trace), 0);
    read_back(&written, &found);
    expect_all(&written, &found);
    free(found.events);
    end(&written);
}

/* Pauses of more than 2^32 ticks, and files of one write each. */
TEST(test_rotation_and_pauses) {
    struct written written;
    struct found found;
    begin(&written, 65536, 0);
    for (int r = 0; r < ROUNDS; r++) {
        pass(&written, BATCH);
        if (r % 10 == 0)
            written.now += (UINT64_C(1) << 32) / 10 * 13;
    }
    spex_trace_end(written.trace);
    read_back(&written, &found);
    expect_all(&written, &found);
    free(found.events);
    end(&written);
}

/* More events than have room in a tag of 16 bits. */
TEST(test_many_classes) {
    struct written written;
    struct found found;
    enum { PROBES = SPEX_TRACE_SHORT_IDS / 2 + 100 };
    begin(&written, 0, 0);
    for (unsigned r = 0; r < PROBES * 2; r++) {
        struct spex_record record = record_make(&written, 0, 0);
        record.probe_id = (uint16_t)(10 + r % PROBES);
        record.timestamp = written.now += 10 + (r % 7 == 0) * 100000;
        record.weight = 1 + r / PROBES;
        record.marks = 0;
        record.fields[0] = UINT64_C(1) << r % 3 * 8;
        spex_trace_records(written.trace, &record, 1);
        written.records[written.count++] = record;
    }
    spex_trace_end(written.trace);
    read_back(&written, &found);
    expect_all(&written, &found);
    free(found.events);
    end(&written);
}

/* Records that come after the watermark has passed them. */
TEST(test_late_records) {
    struct written written;
    struct found found;
    begin(&written, 0, 0);
    uint64_t from = written.now;
    for (int r = 0; r < ROUNDS; r++) {
        pass(&written, 20);
        struct spex_record late = record_make(&written, 0, 1);
        late.timestamp = from + 7 - 10 * (uint64_t)r;
        spex_trace_records(written.trace, &late, 1);
        written.records[written.count++] = late;
    }
    spex_trace_end(written.trace);
    read_back(&written, &found);
    expect_all(&written, &found);
    free(found.events);
    end(&written);
}

/* Without records, and with losses alone. */
TEST(test_without_records) {
    for (unsigned lost = 0; lost < 2; lost++) {
        struct written written;
        struct found found;
        begin(&written, 0, 0);
        written.lost = lost;
        spex_trace_lost(written.trace, lost);
        spex_trace_end(written.trace);
        if (lost) {
            read_back(&written, &found);
            expect_all(&written, &found);
            free(found.events);
        }
        end(&written);
    }
}

/* A reader of the folder takes each file for a stream, also of a writer that has just been killed. */
TEST(test_what_is_not_complete_is_hidden) {
    struct written written;
    _Alignas(struct inotify_event) char made[1 << 16];
    begin(&written, 0, 0);
    int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    const char *folder = spex_trace_directory(written.trace);
    assert_true(inotify_add_watch(watch, folder, IN_CREATE | IN_MOVED_TO) >= 0);
    pass(&written, BATCH);
    spex_trace_end(written.trace);
    ssize_t size = read(watch, made, sizeof(made)), moved = 0;
    for (ssize_t at = 0; at < size;) {
        const struct inotify_event *event = (const void *)(made + at);
        bool into = event->mask & IN_MOVED_TO, stream = strncmp(event->name, "cpu_", 4) == 0;
        assert_true(event->name[0] == '.' || into || stream);
        moved += into;
        at += (ssize_t)(sizeof(*event) + event->len);
    }
    assert_true(moved > 0 && close(watch) == 0);
    end(&written);
}

static uint64_t bytes_in(const char *folder) {
    char command[128], line[64];
    uint64_t bytes = 0;
    snprintf(command, sizeof(command), "find %s -type f -printf '%%s\\n'", folder);
    FILE *from = popen(command, "r");
    assert_non_null(from);
    while (fgets(line, sizeof(line), from))
        bytes += strtoul(line, NULL, 10);
    pclose(from);
    return bytes;
}

/* The frames of the journal's last profile. */
static void last_profile_read(const struct written *written, char text[64]) {
    static char journal[4 << 20];
    struct spex_journal_header header;
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/.spex/journal", spex_trace_directory(written->trace));
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t length = fread(journal, 1, sizeof(journal), file);
    fclose(file);
    for (size_t at = 0; at + sizeof(header) <= length;) {
        memcpy(&header, journal + at, sizeof(header));
        at += sizeof(header);
        if (header.kind == SPEX_JOURNAL_PROFILE)
            memcpy(text, journal + at + sizeof(uint64_t), 64);
        at += (size_t)header.count * header.entry_bytes;
    }
}

/* Profiles that the bound leaves out are older than the last. */
TEST(test_bounded_room_has_the_last_profile) {
    static char profile[12000];
    struct written written;
    char text[64] = "";
    begin(&written, 0, UINT64_C(2) << 20);
    for (int r = 0; r < 100; r++) {
        snprintf(profile, sizeof(profile), "number %d", r);
        spex_trace_profile(written.trace, profile, sizeof(profile));
    }
    spex_trace_end(written.trace);
    last_profile_read(&written, text);
    assert_string_equal(text, "number 99");
    assert_true(written.disk.bytes < 100 * sizeof(profile) / 2);
    end(&written);
}

/* The bound holds, and what is left are the newest records. */
TEST(test_bounded_room) {
    struct written written;
    struct found found;
    const uint64_t keep = UINT64_C(2) << 20;
    begin(&written, 0, keep);
    for (int r = 0; r < ROUNDS; r++) {
        pass(&written, BATCH);
        assert_true(written.disk.bytes <= keep);
    }
    spex_trace_end(written.trace);
    assert_true(written.disk.removed > 0);
    assert_int_equal(written.disk.bytes, bytes_in(written.folder));
    assert_true(written.disk.bytes <= keep && written.disk.bytes > keep / 2);
    assert_int_equal(spex_trace_totals(written.trace).records, written.count);
    read_back(&written, &found);
    struct event *expected = events_of(&written);
    assert_true(found.count < written.count && found.count > 0);
    expect_event(&found.events[found.count - 1], &expected[written.count - 1]);
    free(expected);
    free(found.events);
    end(&written);
}

/* A file that may not grow, as on a full disk. */
TEST(test_full_disk) {
    struct written written;
    struct found found;
    struct rlimit before, limit;
    begin(&written, 0, 0);
    getrlimit(RLIMIT_FSIZE, &before);
    limit = before;
    limit.rlim_cur = 300001;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    for (int r = 0; r < ROUNDS; r++)
        pass(&written, BATCH);
    spex_trace_end(written.trace);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(spex_trace_error(written.trace), -EFBIG);
    struct spex_trace_totals totals = spex_trace_totals(written.trace);
    assert_true(totals.records > 0);
    assert_int_equal(totals.records + totals.lost, written.count + written.lost);
    read_back(&written, &found);
    assert_int_equal(found.count, totals.records);
    free(found.events);
    end(&written);
}

int main(void) {
    if (!have_babeltrace()) {
        fprintf(stderr, "babeltrace2 is not installed: traces cannot be read back\n");
        return 77;
    }
    return tests_run(NULL, NULL);
}
