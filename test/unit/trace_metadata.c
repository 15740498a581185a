/* SPDX-License-Identifier: MIT */
/* The metadata of a trace, in full: names of events and of their fields as programs and their
 * sources give them, and what of each is written by which layout. */
#define _GNU_SOURCE
#include "trace/metadata.h"

#include <errno.h>

#include "../check.h"

static struct spex_event_classes classes;

/* The text of the metadata from `from` on, without what comes after `to`; freed by the next. */
static const char *part_of(const char *program, const char *from, const char *to) {
    static const uint8_t uuid[SPEX_TRACE_UUID_BYTES] = {0, 1, 2,    3,    4,    5,    6,    7,
                                                        8, 9, 0x1a, 0xab, 0xbc, 0xcd, 0xde, 0xff};
    static char *text;
    const struct spex_metadata metadata = {.uuid = uuid,
                                           .program = program,
                                           .process_id = 4711,
                                           .clock = {2500000000, -5, 77},
                                           .classes = &classes};
    size_t length;
    free(text);
    text = spex_metadata_text(&metadata, &length);
    assert_non_null(text);
    assert_int_equal(strlen(text), length);
    assert_int_equal(strncmp(text, "/* CTF 1.8 */\n\n", 15), 0);
    char *begin = strstr(text, from);
    assert_non_null(begin);
    char *end = strstr(begin, to);
    assert_non_null(end);
    end[strlen(to)] = '\0';
    return begin;
}

static void sites_put(const struct spex_stream_site *sites, size_t count) {
    assert_int_equal(spex_event_classes_sites(&classes, sites, count), 0);
}

/* Adds an event; `values`: stored ones. Returns its id. */
static int32_t event_put(uint16_t probe, uint32_t type, unsigned values, unsigned layout) {
    const struct spex_record record = {.probe_type = type,
                                       .probe_id = probe,
                                       .field_count =
                                           (uint8_t)(spex_probe_type_first_value(type) + values)};
    int32_t id = spex_event_find(&classes, &record, layout);
    assert_int_equal(id, -1);
    id = spex_event_add(&classes, &record, layout);
    assert_int_equal(spex_event_find(&classes, &record, layout), id);
    return id;
}

/* What stands of an event behind its id and stream: its name and fields. */
static void expect_event(int32_t id, const char *name_and_fields) {
    struct spex_growing_text to = {.length = 0};
    char head[64];
    spex_event_print(&classes, (uint32_t)id, &to);
    assert_false(to.failed);
    const char *text = to.text;
    int begin = snprintf(head, sizeof(head), "event { id = %d; stream_id = 0; name = ", (int)id);
    assert_int_equal(strncmp(text, head, (size_t)begin), 0);
    assert_string_equal(text + begin, name_and_fields);
    spex_free(to.text);
}

static int setup(void **state) {
    (void)state;
    memset(&classes, 0, sizeof(classes));
    return 0;
}

static int teardown(void **state) {
    (void)state;
    spex_event_classes_free(&classes);
    return 0;
}

/* A number of two types has the type in the name; one that the program has told nothing of is its
 * number. */
TEST_WITH(events_have_names, setup, teardown) {
    static const struct spex_stream_site sites[] = {
        {.probe_id = 1, .probe_type = SPEX_LAT, .name = "query", .provider = "lib"},
        {.probe_id = 1, .probe_type = SPEX_LAT, .name = "again", .provider = "other"},
        {.probe_id = 2, .probe_type = SPEX_LAT, .name = "a \"b\" \\ c\n", .declared = 9},
        {.probe_id = 3, .probe_type = SPEX_LAT, .provider = "l\"\\b", .declared = 9},
        {.probe_id = 4, .probe_type = SPEX_LAT},
        {.probe_id = 5, .probe_type = SPEX_CNT, .name = "both"},
        {.probe_id = 5, .probe_type = SPEX_LAT, .name = "both"},
        {.probe_id = 6, .probe_type = SPEX_CNT, .name = "else"}};
    static const char *const names[] = {"\"other:again\"",
                                        "\"a \\\"b\\\" \\\\ c?\"",
                                        "\"l\\\"\\\\b:8\"",
                                        "\"4\"",
                                        "\"both:lat\"",
                                        "\"6:lat\"",
                                        "\"7\""};
    sites_put(sites, 3);
    sites_put(sites + 3, COUNT_OF(sites) - 3);
    for (size_t n = 0; n < COUNT_OF(names); n++) {
        char all[128];
        int32_t id = event_put((uint16_t)(n + 1), SPEX_LAT, 1, SPEX_LAYOUT_PLAIN);
        snprintf(all, sizeof(all), "%s; fields := struct { uint8_t ticks; }; };\n", names[n]);
        expect_event(id, all);
    }
    expect_event(event_put(5, SPEX_CNT, 0, SPEX_LAYOUT_PLAIN),
                 "\"both:cnt\"; fields := struct { }; };\n");
}

TEST_WITH(types_have_names_for_their_values, setup, teardown) {
    static const struct {
        uint32_t type;
        unsigned values;
        const char *fields;
    } cases[] = {{SPEX_LAT, 1, " uint8_t ticks;"},
                 {SPEX_TPT, 1, " uint8_t ticks;"},
                 {SPEX_FLT, 1, " uint8_t events;"},
                 {SPEX_CTXSW, 1, " uint8_t events;"},
                 {SPEX_PERFCNTR, 1, " uint8_t events;"},
                 {SPEX_LLC, 2, " uint8_t references; uint8_t misses;"},
                 {SPEX_SPAN, 2, " uint8_t ticks; uint8_t key;"},
                 {SPEX_SNAPSHOT, 3, " uint8_t v0; uint8_t v1; uint8_t v2;"},
                 {SPEX_KERNEL, 2, " uint8_t ticks; uint8_t context;"},
                 {SPEX_KERNEL, 4, " uint8_t ticks; uint8_t context; uint8_t _p0; uint8_t _p1;"}};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        char all[128];
        snprintf(all, sizeof(all), "\"%zu\"; fields := struct {%s }; };\n", c + 1, cases[c].fields);
        expect_event(event_put((uint16_t)(c + 1), cases[c].type, cases[c].values, 0), all);
    }
}

/* The first value has a width of its own. */
TEST_WITH(layouts_are_as_they_are_written, setup, teardown) {
    static const unsigned others = SPEX_LAYOUT_OTHERS;
    expect_event(event_put(1, SPEX_SNAPSHOT, 3, 1 | 3 * others),
                 "\"1\"; fields := struct { uint16_t v0; uint64_t v1; uint64_t v2; }; };\n");
    expect_event(event_put(1, SPEX_SNAPSHOT, 3, 2 | SPEX_LAYOUT_THREAD),
                 "\"1\"; fields := struct { uint32_t tid; uint32_t v0; uint8_t v1; uint8_t v2; }; "
                 "};\n");
    expect_event(event_put(1, SPEX_LAT, 1, 3 | SPEX_LAYOUT_DRAWN),
                 "\"1\"; fields := struct { uint16_t weight; uint8_t marks; uint64_t ticks; }; "
                 "};\n");
    expect_event(event_put(1, SPEX_CNT, 0, SPEX_LAYOUT_FULL | SPEX_LAYOUT_THREAD),
                 "\"1\"; fields := struct { uint32_t tid; uint32_t weight; uint32_t lost; uint8_t "
                 "marks; uint8_t gap; }; };\n");
}

/* The fields of a kernel's parameters that are written so in the source. */
static void expect_parameters(uint16_t probe, const char *parameters, unsigned count,
                              const char *fields) {
    struct spex_stream_site site = {.probe_id = probe, .probe_type = SPEX_KERNEL, .name = "k"};
    char all[512];
    snprintf(site.parameters, sizeof(site.parameters), "%s", parameters);
    sites_put(&site, 1);
    snprintf(all, sizeof(all),
             "\"k\"; fields := struct { uint8_t ticks; uint8_t context;%s }; };\n", fields);
    expect_event(event_put(probe, SPEX_KERNEL, 2 + count, 0), all);
}

TEST_WITH(parameters_have_their_names, setup, teardown) {
    expect_parameters(1, "n, m", 2, " uint8_t _n; uint8_t _m;");
    expect_parameters(2, "n,m", 2, " uint8_t _n; uint8_t _m;");
    expect_parameters(3, "f(a, b), c[i, j], {d, e}.f", 3,
                      " uint8_t _f_a__b_; uint8_t _c_i__j_; uint8_t __d__e__f;");
    expect_parameters(4, "x + 1, y->z", 2, " uint8_t _x___1; uint8_t _y__z;");
    /* Not two of one name, and none that is a field of all events. */
    expect_parameters(5, "n, n, n", 3, " uint8_t _n; uint8_t _p1; uint8_t _p2;");
    expect_parameters(6, "ticks, tid, weight", 3, " uint8_t _p0; uint8_t _p1; uint8_t _p2;");
    expect_parameters(7, "lost, marks, gap, context", 4,
                      " uint8_t _p0; uint8_t _p1; uint8_t _p2; uint8_t _p3;");
    expect_parameters(8, "p1, p1, p1", 3, " uint8_t _p1; uint8_t _p1_; uint8_t _p2;");
    /* Where their number is another, names may be those of others. */
    expect_parameters(9, "n, m", 3, " uint8_t _p0; uint8_t _p1; uint8_t _p2;");
    expect_parameters(10, "n, m", 1, " uint8_t _p0;");
    expect_parameters(11, "", 1, " uint8_t _p0;");
    expect_parameters(12, "n", 1, " uint8_t _n;");
}

TEST_WITH(the_trace_and_its_clock_are_described, setup, teardown) {
    static const char expected[] =
        "trace {\n  major = 1; minor = 8;\n"
        "  uuid = \"00010203-0405-0607-0809-1aabbccddeff\";\n"
        "  byte_order = le;\n"
        "  packet.header := struct { uint32_t magic; uint8_t uuid[16]; uint32_t stream_id; };\n"
        "};\nenv {\n  tracer_name = \"spex\";\n  hostname = \"";
    static const char clock[] =
        "clock {\n  name = \"ticks\";\n  description = \"the processor's time stamp counter\";\n"
        "  freq = 2500000000;\n  offset_s = -5;\n  offset = 77;\n  absolute = true;\n};\n";
    if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
        assert_string_equal(part_of("p", "trace {", "hostname = \""), expected);
    assert_string_equal(part_of("a \"p\\q\"\n", "  procname", "};\n"),
                        "  procname = \"a \\\"p\\\\q\\\"?\";\n  vpid = 4711;\n};\n");
    assert_string_equal(part_of("p", "clock {", "};\n"), clock);
}

/* Behind all else, in the order of their ids. */
TEST_WITH(all_events_are_described, setup, teardown) {
    static const char expected[] =
        "event { id = 0; stream_id = 0; name = \"3\"; fields := struct { uint8_t ticks; }; };\n"
        "event { id = 1; stream_id = 0; name = \"2\"; fields := struct { uint8_t ticks; }; };\n"
        "event { id = 2; stream_id = 0; name = \"3\"; fields := struct { uint16_t ticks; }; };\n";
    part_of("p", "  } v;\n  };\n};\n", "");
    assert_int_equal(event_put(3, SPEX_LAT, 1, 0), 0);
    assert_int_equal(event_put(2, SPEX_LAT, 1, 0), 1);
    assert_int_equal(event_put(3, SPEX_LAT, 1, 1), 2);
    assert_int_equal(classes.count, 2);
    assert_int_equal(classes.event_count, 3);
    assert_int_equal(classes.events[2].id, 2);
    assert_int_equal(classes.events[2].class, 0);
    assert_int_equal(classes.events[2].layout, 1);
    assert_string_equal(part_of("p", "event { id", "uint16_t ticks; }; };\n"), expected);
}

/* There may be so many classes; those that are known stay. */
TEST_WITH(there_are_only_so_many_classes, setup, teardown) {
    struct spex_record record = {.probe_type = SPEX_LAT, .field_count = 1};
    for (uint32_t c = 0; c < SPEX_TRACE_CLASSES_MAX; c++) {
        record.probe_id = (uint16_t)c;
        assert_int_equal(spex_event_add(&classes, &record, 0), c);
    }
    record.probe_id++;
    assert_int_equal(spex_event_add(&classes, &record, 0), -EOVERFLOW);
    assert_int_equal(spex_event_find(&classes, &record, 0), -1);
    record.probe_id = 5;
    assert_int_equal(spex_event_find(&classes, &record, 0), 5);
    assert_int_equal(spex_event_add(&classes, &record, 1), SPEX_TRACE_CLASSES_MAX);
    record.probe_type = SPEX_FLT;
    assert_int_equal(spex_event_find(&classes, &record, 0), -1);
}
