/* SPDX-License-Identifier: MIT */
/* The probes of an interval are packed one behind the other into one piece of memory, which is freed
 * with the interval. Who asks for one probe goes through all of them: a few milliseconds for an hour
 * of a thousand probes. */
#include "tools/serve/intervals.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/number.h"
#include "tools/serve/api.h"
#include "tools/serve/http.h"

/* Intervals of each probe in an answer about all probes. */
enum { BRIEF_POINTS = 120 };

/* Values of a probe, buckets of an interval, and probes of a process that are kept. */
enum { VALUES_MOST = 16, BUCKETS_MOST = 128, PROBES_MOST = 4096 };

/* JSON has as many digits as a float. */
#define DIGITS JSON_REAL_PRECISION(7)

/* What is kept of a value of a probe, in this order. */
static const char *const quantiles[] = {"p50",      "p50_low", "p50_high", "p90",     "p90_low",
                                        "p90_high", "p99",     "p99_low",  "p99_high"};
enum { QUANTILES = sizeof(quantiles) / sizeof(quantiles[0]), P99 = 6 };

/* A probe in an interval. `values` times QUANTILES floats follow, and `buckets` numbers of 16 bits
 * (bucket_pack), the first of them that of the bucket `first`. What is not known is NAN. */
struct packed {
    uint16_t probe;
    uint8_t values, buckets;
    uint8_t first, reserved[3];
    float rate, margin, overhead, lost;
};

struct interval {
    /* Its end, in milliseconds since 1970, and how long it is. */
    int64_t time_ms;
    double seconds;
    /* Of the program's CPU time. */
    float overhead, collector;
    float lost;
    uint32_t bytes;
    unsigned char *packed;
};

struct spex_past {
    pid_t process;
    /* Another program in the same process, or another process of the same number, has another. */
    uint64_t loaded_ns;
    char program[SPEX_PROFILE_NAME_BYTES];
    /* Numbers of probes, by what tells them apart; and what they are, by number. */
    json_t *numbers, *probes;
    /* A ring, whose oldest interval is the first. */
    struct interval intervals[SPEX_INTERVALS_MOST];
    size_t first, count;
    size_t bytes;
};

static struct interval *interval_at(struct spex_past *kept, size_t n) {
    return &kept->intervals[(kept->first + n) % SPEX_INTERVALS_MOST];
}

static void interval_drop(struct spex_intervals *intervals, struct spex_past *kept) {
    struct interval *oldest = interval_at(kept, 0);
    kept->bytes -= oldest->bytes;
    intervals->bytes -= oldest->bytes;
    free(oldest->packed);
    *oldest = (struct interval){.packed = NULL};
    kept->first = (kept->first + 1) % SPEX_INTERVALS_MOST;
    kept->count--;
}

static void process_drop(struct spex_intervals *intervals, size_t p) {
    struct spex_past *kept = intervals->processes[p];
    while (kept && kept->count)
        interval_drop(intervals, kept);
    if (kept) {
        json_decref(kept->numbers);
        json_decref(kept->probes);
    }
    free(kept);
    intervals->processes[p] = NULL;
}

void spex_intervals_free(struct spex_intervals *intervals) {
    for (size_t p = 0; p < SPEX_INTERVALS_PROCESSES; p++)
        process_drop(intervals, p);
}

/* Frees intervals of the process that has the most memory first. */
static void make_room(struct spex_intervals *intervals) {
    while (intervals->bytes > SPEX_INTERVALS_BYTES) {
        struct spex_past *most = NULL;
        for (size_t p = 0; p < SPEX_INTERVALS_PROCESSES; p++)
            if (intervals->processes[p] && (!most || intervals->processes[p]->bytes > most->bytes))
                most = intervals->processes[p];
        interval_drop(intervals, most);
    }
}

static int64_t newest(struct spex_past *kept) {
    return kept->count ? interval_at(kept, kept->count - 1)->time_ms : 0;
}

/* A place without a process, or that of the process that ended first. */
static size_t place_of_new(struct spex_intervals *intervals) {
    size_t oldest = 0;
    for (size_t p = 0; p < SPEX_INTERVALS_PROCESSES; p++) {
        if (!intervals->processes[p])
            return p;
        if (newest(intervals->processes[p]) < newest(intervals->processes[oldest]))
            oldest = p;
    }
    process_drop(intervals, oldest);
    return oldest;
}

static struct spex_past *process_new(pid_t process, const struct spex_profile_process *latest) {
    struct spex_past *kept = calloc(1, sizeof(*kept));
    if (!kept)
        return NULL;
    kept->process = process;
    kept->loaded_ns = latest->loaded_ns;
    snprintf(kept->program, sizeof(kept->program), "%s", latest->command);
    kept->numbers = json_object();
    kept->probes = json_array();
    return kept;
}

static size_t place_of(const struct spex_intervals *intervals, pid_t process) {
    size_t p = 0;
    while (p < SPEX_INTERVALS_PROCESSES &&
           !(intervals->processes[p] && intervals->processes[p]->process == process))
        p++;
    return p;
}

/* NULL: there is no memory for it. */
static struct spex_past *process_of(struct spex_intervals *intervals, pid_t process,
                                    const struct spex_profile_process *latest) {
    size_t place = place_of(intervals, process);
    if (place < SPEX_INTERVALS_PROCESSES) {
        if (intervals->processes[place]->loaded_ns == latest->loaded_ns)
            return intervals->processes[place];
        process_drop(intervals, place);
    }
    place = place_of_new(intervals);
    return intervals->processes[place] = process_new(process, latest);
}

/* NAN: not known. */
static float number_of(const json_t *json, const char *name) {
    const json_t *value = json_object_get(json, name);
    return json_is_number(value) ? (float)json_number_value(value) : NAN;
}

static float share_of(const json_t *json, const char *name, double whole) {
    return whole > 0 ? (float)(number_of(json, name) / whole) : NAN;
}

/* What tells a probe apart, as JSON; and its values' names and units. */
static json_t *about_probe(const json_t *probe) {
    static const char *const names[] = {"provider", "name", "id", "type"};
    json_t *about = json_object();
    for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++)
        json_object_set(about, names[n], json_object_get(probe, names[n]));
    return about;
}

static json_t *about_values(const json_t *probe) {
    json_t *list = json_array(), *value;
    size_t v;
    json_array_foreach(json_object_get(probe, "values"), v, value) {
        if (v < VALUES_MOST)
            json_array_append_new(list,
                                  json_pack("{s:O, s:O}", "name", json_object_get(value, "name"),
                                            "unit", json_object_get(value, "unit")));
    }
    return list;
}

/* Its number; -1: there are too many, or no memory. */
static int number_of_probe(struct spex_past *kept, const json_t *probe) {
    json_t *about = about_probe(probe);
    char *key = about ? json_dumps(about, JSON_COMPACT) : NULL;
    json_t *known = key ? json_object_get(kept->numbers, key) : NULL;
    int number = known ? (int)json_integer_value(known) : -1;
    size_t next = json_array_size(kept->probes);
    if (key && !known && next < PROBES_MOST &&
        json_object_set_new(about, "values", about_values(probe)) == 0 &&
        json_object_set_new(kept->numbers, key, json_integer((json_int_t)next)) == 0 &&
        json_array_append(kept->probes, about) == 0)
        number = (int)next;
    free(key);
    json_decref(about);
    return number;
}

/* A logarithm with an error of 0.07 % at most; 0: the bucket is empty. */
static uint16_t bucket_pack(double rate) {
    double packed = rate > 0 ? 512 * log2(rate) + 16384 : 0;
    return packed < 1 ? rate > 0 : packed > UINT16_MAX ? UINT16_MAX : (uint16_t)lround(packed);
}

static double bucket_unpack(uint16_t packed) {
    return packed ? exp2((packed - 16384.0) / 512) : 0;
}

/* Packs what an interval has of a probe. Returns the bytes; 0: it is not kept. */
static size_t probe_pack(struct spex_past *kept, const json_t *probe, double seconds,
                         double program_seconds, unsigned char *to) {
    const json_t *values = json_object_get(probe, "values"),
                 *histogram = json_object_get(probe, "histogram"),
                 *counts = json_object_get(histogram, "counts");
    int number = number_of_probe(kept, probe);
    if (number < 0)
        return 0;
    size_t value_count = json_array_size(values), bucket_count = json_array_size(counts);
    struct packed packed = {
        .probe = (uint16_t)number,
        .values = (uint8_t)(value_count < VALUES_MOST ? value_count : VALUES_MOST),
        .buckets = (uint8_t)(bucket_count < BUCKETS_MOST ? bucket_count : BUCKETS_MOST),
        .first = (uint8_t)json_integer_value(json_object_get(histogram, "first")),
        /* What it is at least is no figure of a line. */
        .rate =
            json_is_true(json_object_get(probe, "rate_at_least")) ? NAN : number_of(probe, "rate"),
        .margin = share_of(probe, "count_margin", seconds),
        .overhead = share_of(probe, "overhead_seconds", program_seconds),
        .lost = number_of(probe, "lost"),
    };
    unsigned char *at = to + sizeof(packed);
    memcpy(to, &packed, sizeof(packed));
    for (unsigned v = 0; v < packed.values; v++)
        for (unsigned q = 0; q < QUANTILES; q++, at += sizeof(float)) {
            float value = number_of(json_array_get(values, v), quantiles[q]);
            memcpy(at, &value, sizeof(value));
        }
    for (unsigned b = 0; b < packed.buckets; b++, at += sizeof(uint16_t)) {
        uint16_t bucket = bucket_pack(json_number_value(json_array_get(counts, b)) / seconds);
        memcpy(at, &bucket, sizeof(bucket));
    }
    return (size_t)(at - to);
}

enum {
    PACKED_MOST = sizeof(struct packed) + VALUES_MOST * QUANTILES * sizeof(float) +
                  BUCKETS_MOST * sizeof(uint16_t)
};

/* Packs all probes of an interval. False: there is no memory. */
static bool interval_pack(struct spex_past *kept, const json_t *figures,
                          struct interval *interval) {
    const json_t *probes = json_object_get(figures, "probes");
    double program_seconds = json_number_value(json_object_get(figures, "program_seconds"));
    unsigned char *packed = malloc(json_array_size(probes) * PACKED_MOST + 1), *end = packed;
    json_t *probe;
    size_t p;
    if (!packed)
        return false;
    json_array_foreach(probes, p, probe) {
        end += probe_pack(kept, probe, interval->seconds, program_seconds, end);
    }
    interval->bytes = (uint32_t)(end - packed);
    interval->packed = realloc(packed, interval->bytes + 1);
    if (!interval->packed)
        interval->packed = packed;
    interval->overhead = share_of(figures, "overhead_seconds", program_seconds);
    interval->collector = share_of(figures, "collector_seconds", program_seconds);
    interval->lost = number_of(json_object_get(figures, "records"), "lost");
    return true;
}

void spex_intervals_take(struct spex_intervals *intervals, pid_t process,
                         const struct spex_profile_process *latest, const json_t *json) {
    const json_t *figures = json_object_get(json, "figures");
    struct interval interval = {
        .time_ms = json_integer_value(json_object_get(json, "time")),
        .seconds = json_number_value(json_object_get(figures, "seconds")),
    };
    struct spex_past *kept = interval.seconds > 0 ? process_of(intervals, process, latest) : NULL;
    if (!kept || !interval_pack(kept, figures, &interval))
        return;
    if (kept->count == SPEX_INTERVALS_MOST)
        interval_drop(intervals, kept);
    *interval_at(kept, kept->count++) = interval;
    kept->bytes += interval.bytes;
    intervals->bytes += interval.bytes;
    make_room(intervals);
}

/* The next probe of an interval behind `at`; NULL: there is none. */
static const unsigned char *packed_next(const struct interval *interval, const unsigned char *at,
                                        struct packed *packed) {
    if (at) {
        memcpy(packed, at, sizeof(*packed));
        at += sizeof(*packed) + (size_t)packed->values * QUANTILES * sizeof(float) +
              packed->buckets * sizeof(uint16_t);
    } else {
        at = interval->packed;
    }
    if (at >= interval->packed + interval->bytes)
        return NULL;
    memcpy(packed, at, sizeof(*packed));
    return at;
}

/* null: not known. */
static json_t *number_json(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

static void append(json_t *object, const char *list, double value) {
    json_array_append_new(json_object_get(object, list), number_json(value));
}

static json_t *lists_json(json_t *object, const char *const *names, size_t count) {
    for (size_t n = 0; n < count; n++)
        json_object_set_new(object, names[n], json_array());
    return object;
}

static const char *const interval_lists[] = {"times", "seconds", "overhead", "collector", "lost"};
static const char *const brief_lists[] = {"rate", "p99", "overhead"};
static const char *const probe_lists[] = {"rate", "margin", "overhead", "lost", "histograms"};
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static void interval_add(json_t *answer, const struct interval *interval) {
    json_array_append_new(json_object_get(answer, "times"), json_integer(interval->time_ms));
    append(answer, "seconds", interval->seconds);
    append(answer, "overhead", interval->overhead);
    append(answer, "collector", interval->collector);
    append(answer, "lost", interval->lost);
}

static float quantile_at(const unsigned char *at, unsigned value, unsigned quantile) {
    float number;
    memcpy(&number, at + sizeof(struct packed) + (value * QUANTILES + quantile) * sizeof(float),
           sizeof(number));
    return number;
}

/* Lists have one element for each interval, null where the probe is not in it. */
static void brief_fill(json_t *probes, size_t length) {
    json_t *probe;
    size_t p;
    json_array_foreach(probes, p, probe) {
        for (size_t n = 0; n < COUNT(brief_lists); n++)
            while (json_array_size(json_object_get(probe, brief_lists[n])) < length)
                json_array_append_new(json_object_get(probe, brief_lists[n]), json_null());
    }
}

static void brief_add(json_t *probes, const struct interval *interval) {
    struct packed packed;
    for (const unsigned char *at = packed_next(interval, NULL, &packed); at;
         at = packed_next(interval, at, &packed)) {
        json_t *probe = json_array_get(probes, packed.probe);
        append(probe, "rate", packed.rate);
        append(probe, "p99", packed.values ? quantile_at(at, 0, P99) : NAN);
        append(probe, "overhead", packed.overhead);
    }
}

static json_t *buckets_json(const unsigned char *at, const struct packed *packed) {
    json_t *list = packed->buckets ? json_array() : json_null();
    if (packed->buckets)
        json_array_append_new(list, json_integer(packed->first));
    at += sizeof(*packed) + (size_t)packed->values * QUANTILES * sizeof(float);
    for (unsigned b = 0; b < packed->buckets; b++, at += sizeof(uint16_t)) {
        uint16_t bucket;
        memcpy(&bucket, at, sizeof(bucket));
        json_array_append_new(list, json_real(bucket_unpack(bucket)));
    }
    return list;
}

/* Adds what the interval has of the probe; what it has not is null. */
static void probe_add(json_t *probe, size_t number, const struct interval *interval) {
    json_t *values = json_object_get(probe, "values"), *value;
    struct packed packed;
    const unsigned char *at = packed_next(interval, NULL, &packed);
    while (at && packed.probe != number)
        at = packed_next(interval, at, &packed);
    if (!at)
        packed = (struct packed){.rate = NAN, .margin = NAN, .overhead = NAN, .lost = NAN};
    append(probe, "rate", packed.rate);
    append(probe, "margin", packed.margin);
    append(probe, "overhead", packed.overhead);
    append(probe, "lost", packed.lost);
    json_array_append_new(json_object_get(probe, "histograms"), buckets_json(at, &packed));
    size_t v;
    json_array_foreach(values, v, value) {
        for (unsigned q = 0; q < QUANTILES; q++)
            append(value, quantiles[q], v < packed.values ? quantile_at(at, (unsigned)v, q) : NAN);
    }
}

static void brief_set(struct spex_past *kept, json_t *answer) {
    size_t every = (kept->count + BRIEF_POINTS - 1) / BRIEF_POINTS, p;
    json_t *probes = json_deep_copy(kept->probes), *probe;
    json_array_foreach(probes, p, probe) {
        lists_json(probe, brief_lists, COUNT(brief_lists));
    }
    for (size_t n = every ? (kept->count - 1) % every : 0, length = 1; n < kept->count;
         n += every, length++) {
        interval_add(answer, interval_at(kept, n));
        brief_add(probes, interval_at(kept, n));
        brief_fill(probes, length);
    }
    json_object_set_new(answer, "probes", probes);
}

static void detail_set(struct spex_past *kept, size_t number, json_t *answer) {
    json_t *probe = json_deep_copy(json_array_get(kept->probes, number)), *value;
    size_t v;
    lists_json(probe, probe_lists, COUNT(probe_lists));
    json_array_foreach(json_object_get(probe, "values"), v, value) {
        lists_json(value, quantiles, QUANTILES);
    }
    for (size_t n = 0; n < kept->count; n++) {
        interval_add(answer, interval_at(kept, n));
        probe_add(probe, number, interval_at(kept, n));
    }
    json_object_set_new(answer, "probe", probe);
}

static enum MHD_Result answer_json(struct spex_request *request, json_t *json) {
    char *text = json ? json_dumps(json, JSON_COMPACT | DIGITS) : NULL;
    json_decref(json);
    return spex_http_answer(request, MHD_HTTP_OK, "application/json", text,
                            text ? strlen(text) : 0);
}

static json_t *answer_begin(const char *program, pid_t process) {
    return lists_json(json_pack("{s:s, s:I}", "program", program, "pid", (json_int_t)process),
                      interval_lists, COUNT(interval_lists));
}

/* A process that was not followed has told nothing. */
enum MHD_Result spex_api_history(struct spex_request *request) {
    const struct spex_intervals *intervals = &request->server->events.past;
    pid_t pid = spex_http_process(request->connection);
    size_t place = place_of(intervals, pid);
    int64_t number = 0;
    if (pid <= 0)
        return spex_http_refuse(request, MHD_HTTP_BAD_REQUEST, "?process=PID was expected");
    const char *text =
        MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, "probe");
    struct spex_past *kept = place < SPEX_INTERVALS_PROCESSES ? intervals->processes[place] : NULL;
    if (text && (!kept || !spex_number_integer(text, &number) || number < 0 ||
                 (size_t)number >= json_array_size(kept->probes)))
        return spex_http_refuse(
            request, MHD_HTTP_BAD_REQUEST,
            "&probe=NUMBER was expected, a number of the probes of the process");
    json_t *answer = answer_begin(kept ? kept->program : "", pid);
    if (!kept)
        json_object_set_new(answer, "probes", json_array());
    else if (text)
        detail_set(kept, (size_t)number, answer);
    else
        brief_set(kept, answer);
    return answer_json(request, answer);
}
