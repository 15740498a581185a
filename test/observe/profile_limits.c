/* SPDX-License-Identifier: MIT */
/* A profile that is too large, or empty, is no reason to run out of memory, or worse. */
#include <errno.h>
#include <math.h>

#include <spex/record.h>

#include "../check.h"
#include "observe/profile_reader.h"

enum { ROWS = 4096, VALUES_MAX = ROWS * SPEX_MAX_FIELDS };

static int take(struct spex_profile_reader *reader, uint16_t kind, const void *entries,
                size_t bytes, uint32_t count) {
    static char frame[SPEX_CONTROL_FRAME_BYTES];
    struct spex_error error;
    struct spex_control_frame head = {
        .magic = SPEX_CONTROL_MAGIC,
        .version = SPEX_CONTROL_VERSION,
        .kind = kind,
        .number = 5,
        .entry_bytes = kind == SPEX_CONTROL_DONE ? 1 : (uint32_t)bytes,
        .count = count,
    };
    memcpy(frame, &head, sizeof(head));
    if (bytes)
        memcpy(frame + sizeof(head), entries, bytes);
    return spex_profile_reader_take(reader, frame, sizeof(head) + bytes, &error);
}

static void begin(struct spex_profile_reader *reader) {
    static const struct spex_profile_process process;
    static const struct spex_profile_type type = {.probe_type = SPEX_LAT};
    assert_int_equal(take(reader, SPEX_CONTROL_PROCESS, &process, sizeof(process), 1), 0);
    assert_int_equal(take(reader, SPEX_CONTROL_TYPES, &type, sizeof(type), 1), 0);
}

TEST(a_profile_without_probes) {
    struct spex_profile_reader reader = {.status = 0};
    begin(&reader);
    assert_int_equal(take(&reader, SPEX_CONTROL_DONE, NULL, 0, 0), 1);
    assert_true(reader.complete);
    assert_int_equal(reader.number, 5);
    assert_int_equal(reader.profile.row_count, 0);
    spex_profile_reader_free(&reader);
}

static int take_row(struct spex_profile_reader *reader, uint16_t id) {
    const struct spex_profile_probe probe = {.probe_type = SPEX_SNAPSHOT, .probe_id = id};
    int err = take(reader, SPEX_CONTROL_PROBE, &probe, sizeof(probe), 1);
    for (uint32_t series = 0; series < SPEX_MAX_FIELDS && !err; series++) {
        const struct spex_control_values values = {.series = series, .weight = 1};
        err = take(reader, SPEX_CONTROL_VALUES, &values, sizeof(values), 0);
    }
    return err;
}

/* As many as a program can have are taken, each time anew; more are no profile. All of them would
 * be 700 MB. */
TEST(there_are_no_more_values_than_a_program_can_have) {
    struct spex_profile_reader reader = {.status = 0};
    for (int time = 0; time < 2; time++) {
        begin(&reader);
        assert_int_equal(reader.values, 0);
        reader.values = VALUES_MAX - SPEX_MAX_FIELDS;
        assert_int_equal(take_row(&reader, 0), 0);
        assert_int_equal(reader.values, VALUES_MAX);
        assert_int_equal(take(&reader, SPEX_CONTROL_DONE, NULL, 0, 0), 1);
        assert_int_equal(reader.profile.row_count, 1);
    }
    begin(&reader);
    reader.values = VALUES_MAX;
    assert_int_equal(take_row(&reader, 0), -EPROTO);
    spex_profile_reader_free(&reader);
}

/* ---- memory of users ---- */

enum { VALUES = sizeof(struct spex_values) };

/* A user alone has half, and gets no more when others have come. */
TEST(nobody_has_more_than_is_free) {
    struct spex_shares shares = {.most = 120};
    struct spex_share *one = spex_share_join(&shares, 1), *other = spex_share_join(&shares, 2);
    assert_ptr_equal(spex_share_join(&shares, 1), one);
    assert_false(spex_share_take(one, 61));
    assert_true(spex_share_take(one, 60));
    assert_false(spex_share_take(one, 1));
    assert_true(spex_share_take(other, 30));
    assert_false(spex_share_take(other, 1));
    spex_share_give(one, 60);
    assert_true(spex_share_take(other, 15));
    assert_false(spex_share_take(one, SIZE_MAX));
    assert_true(spex_share_take(NULL, SIZE_MAX));
    spex_share_give(other, 45);
    assert_int_equal(shares.taken, 0);
    spex_share_leave(one);
    spex_share_leave(one);
    spex_share_leave(other);
    assert_null(shares.first);
}

/* Each part of a profile counts, and what is refused is as if it had not come. */
TEST(a_profile_takes_no_more_than_its_users_share) {
    struct spex_shares shares = {.most = 4 * SPEX_MAX_FIELDS * VALUES};
    struct spex_share *share = spex_share_join(&shares, 1);
    struct spex_profile_reader reader = {.share = share};
    for (int time = 0; time < 3; time++) {
        uint16_t rows = 0;
        int err = 0;
        begin(&reader);
        while (!err && rows < ROWS)
            err = take_row(&reader, rows++);
        assert_int_equal(err, -EDQUOT);
        assert_in_range(rows, 2, 3);
        assert_in_range(shares.taken, SPEX_MAX_FIELDS * VALUES, shares.most / 2);
        spex_profile_reader_restart(&reader);
        assert_int_equal(shares.taken, 0);
    }
    begin(&reader);
    assert_int_equal(take_row(&reader, 0), 0);
    assert_int_equal(take(&reader, SPEX_CONTROL_DONE, NULL, 0, 0), 1);
    struct spex_profile kept = reader.profile;
    reader.profile = (struct spex_profile){.types = NULL};
    assert_int_equal(kept.bytes, shares.taken);
    spex_profile_reader_free(&reader);
    assert_int_equal(kept.bytes, shares.taken);
    spex_profile_free(&kept);
    assert_int_equal(shares.taken, 0);
    spex_share_leave(share);
}

struct passed {
    size_t rows, series;
    int err;
};

static int pass_row(void *user, const struct spex_profile *profile,
                    const struct spex_profile_row *row) {
    struct passed *passed = user;
    assert_int_equal(profile->type_count, 1);
    assert_int_equal(row->probe.probe_id, passed->rows++);
    for (unsigned s = 0; s < row->probe.series; s++)
        passed->series += row->values[s]->weight > 0;
    return passed->err;
}

/* All rows are told, with their values, and there is room for few of them alone. */
TEST(rows_are_passed_on_and_not_kept) {
    struct spex_shares shares = {.most = 8 * SPEX_MAX_FIELDS * VALUES};
    struct spex_share *share = spex_share_join(&shares, 1);
    struct passed passed = {.rows = 0};
    struct spex_profile_reader reader = {.share = share, .row = pass_row, .user = &passed};
    const struct spex_profile_site site = {.probe_type = SPEX_LAT};
    begin(&reader);
    reader.row = NULL; /* of the next report */
    assert_int_equal(take(&reader, SPEX_CONTROL_SITES, &site, sizeof(site), 1), 0);
    for (uint16_t row = 0; row < 100; row++) {
        assert_int_equal(take_row(&reader, row), 0);
        assert_int_equal(passed.rows, row);
    }
    assert_int_equal(take(&reader, SPEX_CONTROL_DONE, NULL, 0, 0), 1);
    assert_int_equal(passed.rows, 100);
    assert_int_equal(passed.series, 100 * SPEX_MAX_FIELDS);
    assert_true(reader.complete);
    assert_int_equal(reader.profile.row_count + reader.profile.site_count, 0);
    begin(&reader);
    assert_int_equal(take_row(&reader, 0), 0);
    assert_int_equal(take(&reader, SPEX_CONTROL_DONE, NULL, 0, 0), 1);
    assert_int_equal(reader.profile.row_count, 1);
    reader.row = pass_row;
    passed = (struct passed){.err = -EDQUOT};
    begin(&reader);
    assert_int_equal(take_row(&reader, 0), 0);
    assert_int_equal(take_row(&reader, 1), -EDQUOT);
    spex_profile_reader_free(&reader);
    assert_int_equal(shares.taken, 0);
    spex_share_leave(share);
}

/* What a frame of this kind is answered where the double at `offset` of its entry has the value. */
static int take_figure(uint16_t kind, const void *entry, size_t bytes, size_t offset,
                       double value) {
    struct spex_profile_reader reader = {.status = 0};
    char changed[2048];
    assert_true(bytes <= sizeof(changed));
    memcpy(changed, entry, bytes);
    memcpy(changed + offset, &value, sizeof(value));
    if (kind != SPEX_CONTROL_PROCESS)
        begin(&reader);
    if (kind == SPEX_CONTROL_VALUES) {
        const struct spex_profile_probe probe = {.probe_type = SPEX_LAT};
        assert_int_equal(take(&reader, SPEX_CONTROL_PROBE, &probe, sizeof(probe), 1), 0);
    }
    int err = take(&reader, kind, changed, bytes, kind != SPEX_CONTROL_VALUES);
    spex_profile_reader_free(&reader);
    return err;
}

/* Figures are finite and of limited size, amounts are not negative. */
TEST(figures_are_in_range) {
    static const struct spex_profile_process process;
    static const struct spex_profile_type type = {.probe_type = SPEX_LAT};
    static const struct spex_profile_probe probe = {.probe_type = SPEX_LAT};
    static const struct spex_control_values values = {.weight = 1};
#define IN(entry, type, member) &(entry), sizeof(entry), offsetof(struct type, member)
#define PROCESS(member)         SPEX_CONTROL_PROCESS, IN(process, spex_profile_process, member)
#define TYPE(member)            SPEX_CONTROL_TYPES, IN(type, spex_profile_type, member)
#define PROBE(member)           SPEX_CONTROL_PROBE, IN(probe, spex_profile_probe, member)
#define VALUES(member)          SPEX_CONTROL_VALUES, IN(values, spex_control_values, member)
    static const struct {
        uint16_t kind;
        const void *entry;
        size_t bytes, offset;
        bool amount;
        double most;
    } figures[] = {
        {PROCESS(ticks_per_second), true, 1e30},
        {PROCESS(seconds), true, 1e30},
        {PROCESS(program_seconds), true, 1e30},
        {PROCESS(collector_seconds), true, 1e30},
        {PROCESS(lease_first_seconds), true, 1e30},
        {TYPE(test), false, 1e30},
        {TYPE(skip), false, 1e30},
        {TYPE(record), false, 1e30},
        {TYPE(polled), false, 1e30},
        {TYPE(empty), true, 1e30},
        {TYPE(empty_error), true, 1e30},
        {TYPE(drawn), true, 1e30},
        {PROBE(on_seconds), true, 1e30},
        {PROBE(count), true, 1e30},
        {PROBE(weight_squares), true, 1e30},
        {PROBE(lost), true, 1e30},
        {PROBE(count_variance), true, 1e30},
        {PROBE(weight), true, 1e30},
        {PROBE(polled_seconds), true, 1e30},
        {PROBE(held_seconds), true, 1e30},
        {PROBE(uncounted), true, 1e30},
        {PROBE(held_count), true, 1e30},
        {VALUES(weight), true, 1e30},
        {VALUES(mean), false, 1e30},
        {VALUES(min), false, 1e30},
        {VALUES(max), false, 1e30},
        {VALUES(origin), false, 1e30},
        {VALUES(squares), false, 1e89},
        {VALUES(distances), false, 1e89},
        {VALUES(products), false, 1e89},
        {VALUES(weights), false, 1e89},
        {VALUES(weights_all), false, 1e89},
        {VALUES(squared), false, 1e89},
        {VALUES(local), false, 1e89},
    };
    for (size_t f = 0; f < COUNT_OF(figures); f++) {
        uint16_t kind = figures[f].kind;
        const void *entry = figures[f].entry;
        size_t bytes = figures[f].bytes, offset = figures[f].offset;
        assert_int_equal(take_figure(kind, entry, bytes, offset, 0), 0);
        assert_int_equal(take_figure(kind, entry, bytes, offset, figures[f].most), 0);
        assert_int_equal(take_figure(kind, entry, bytes, offset, -1),
                         figures[f].amount ? -EPROTO : 0);
        assert_int_equal(take_figure(kind, entry, bytes, offset, 100 * figures[f].most), -EPROTO);
        assert_int_equal(take_figure(kind, entry, bytes, offset, NAN), -EPROTO);
    }
}

/* A type of no probe is refused, in whatever entry it stands. */
TEST(types_are_those_of_probes) {
    static const uint32_t types[] = {0, SPEX_CNT | SPEX_LAT, 1u << 31};
    for (size_t t = 0; t < COUNT_OF(types); t++) {
        const struct spex_profile_type type = {.probe_type = types[t]};
        const struct spex_profile_site good = {.probe_type = SPEX_LAT},
                                       bad = {.probe_type = types[t]};
        const struct spex_profile_probe probe = {.probe_type = types[t]};
        const struct {
            uint16_t kind;
            const void *entry;
            size_t bytes;
        } entries[] = {{SPEX_CONTROL_TYPES, &type, sizeof(type)},
                       {SPEX_CONTROL_SITES, &bad, sizeof(bad)},
                       {SPEX_CONTROL_PROBE, &probe, sizeof(probe)}};
        for (size_t e = 0; e < COUNT_OF(entries); e++) {
            struct spex_profile_reader reader = {.status = 0};
            begin(&reader);
            assert_int_equal(take(&reader, SPEX_CONTROL_SITES, &good, sizeof(good), 1), 0);
            assert_int_equal(take(&reader, entries[e].kind, entries[e].entry, entries[e].bytes, 1),
                             -EPROTO);
            spex_profile_reader_free(&reader);
        }
    }
}

/* What comes of a row with this execution, of which another release sends less or nothing. */
static int take_slowest(struct spex_profile_slowest slowest, size_t left_out, uint64_t *ticks) {
    struct spex_profile_reader reader = {.status = 0};
    const struct spex_profile_probe probe = {.probe_type = SPEX_LAT, .slowest = slowest};
    begin(&reader);
    int err = take(&reader, SPEX_CONTROL_PROBE, &probe, sizeof(probe) - left_out, 1);
    *ticks = reader.incoming.rows[0].probe.slowest.ticks;
    spex_profile_reader_free(&reader);
    return err;
}

TEST(the_slowest_execution_is_possible) {
    const struct spex_profile_slowest good = {.ticks = UINT64_MAX,
                                              .realtime_ns = INT64_MAX,
                                              .thread_id = INT32_MAX,
                                              .cpu_id = UINT16_MAX,
                                              .process_id = INT32_MAX};
    struct spex_profile_slowest bad[] = {good, good, good, good};
    uint64_t ticks;
    assert_int_equal(take_slowest(good, 0, &ticks), 0);
    assert_true(ticks == UINT64_MAX);
    const size_t behind =
        sizeof(struct spex_profile_probe) - offsetof(struct spex_profile_probe, slowest);
    assert_int_equal(take_slowest(good, behind, &ticks), 0);
    assert_true(ticks == 0);
    bad[0].realtime_ns++;
    bad[1].thread_id++;
    bad[2].cpu_id++;
    bad[3].process_id++;
    for (size_t b = 0; b < COUNT_OF(bad); b++)
        assert_int_equal(take_slowest(bad[b], 0, &ticks), -EPROTO);
}

TEST(reasons_are_printable) {
    struct spex_profile_reader reader = {.status = 0};
    struct spex_profile_probe probe = {.probe_type = SPEX_LAT, .why = "its \033[31mreason"};
    begin(&reader);
    assert_int_equal(take(&reader, SPEX_CONTROL_PROBE, &probe, sizeof(probe), 1), 0);
    assert_string_equal(reader.incoming.rows[0].probe.why, "its ?[31mreason");
    spex_profile_reader_free(&reader);
}

/* What comes of an answer's frame with this head and so many bytes behind it. */
static int take_head(struct spex_control_frame head, size_t behind) {
    struct spex_profile_reader reader = {.status = 0};
    struct spex_error error;
    static char frame[sizeof(head) + 4];
    memcpy(frame, &head, sizeof(head));
    int err = spex_profile_reader_take(&reader, frame, sizeof(head) + behind, &error);
    spex_profile_reader_free(&reader);
    return err;
}

TEST(frames_are_as_long_as_they_say) {
    const struct spex_control_frame good = {.magic = SPEX_CONTROL_MAGIC,
                                            .version = SPEX_CONTROL_VERSION,
                                            .kind = SPEX_CONTROL_DONE,
                                            .entry_bytes = 1,
                                            .count = 2};
    struct spex_control_frame head = good;
    assert_int_equal(take_head(head, 2), 1);
    assert_int_equal(take_head(head, 1), -EPROTO);
    assert_int_equal(take_head(head, 3), -EPROTO);
    assert_int_equal(take_head(head, (size_t)-1), -EPROTO);
    head.magic++;
    assert_int_equal(take_head(head, 2), -EPROTO);
    head = good;
    head.entry_bytes = 2;
    head.count = 1;
    assert_int_equal(take_head(head, 2), -EPROTO);
    /* Of another version, DONE alone can be read. */
    head = good;
    head.version++;
    assert_int_equal(take_head(head, 2), 1);
    head.kind = SPEX_CONTROL_PROCESS;
    assert_int_equal(take_head(head, 2), -EPROTONOSUPPORT);
    /* There is one process. */
    head.version--;
    assert_int_equal(take_head(head, 2), -EPROTO);
}

/* What comes of a row with these series. */
static int take_series(const uint32_t *series, size_t count) {
    struct spex_profile_reader reader = {.status = 0};
    const struct spex_profile_probe probe = {.probe_type = SPEX_LAT};
    begin(&reader);
    int err = take(&reader, SPEX_CONTROL_PROBE, &probe, sizeof(probe), 1);
    for (size_t s = 0; s < count && !err; s++) {
        const struct spex_control_values values = {.series = series[s]};
        err = take(&reader, SPEX_CONTROL_VALUES, &values, sizeof(values), 0);
    }
    spex_profile_reader_free(&reader);
    return err;
}

/* Series come in their order, the losses of each behind it; those that this build has no room for
 * are left out. */
TEST(series_come_in_order) {
    enum { LOSSES = SPEX_CONTROL_LOSSES, MANY = SPEX_MAX_FIELDS };
    static const uint32_t good[] = {0, LOSSES | 0, 1, 2, LOSSES | 2, MANY, LOSSES | MANY},
                          first[] = {1}, losses_first[] = {LOSSES | 0}, again[] = {0, 0},
                          twice[] = {0, LOSSES | 0, LOSSES | 0}, late[] = {0, 1, LOSSES | 0},
                          last[] = {MANY - 1};
    assert_int_equal(take_series(good, COUNT_OF(good)), 0);
    assert_int_equal(take_series(first, COUNT_OF(first)), -EPROTO);
    assert_int_equal(take_series(losses_first, COUNT_OF(losses_first)), -EPROTO);
    assert_int_equal(take_series(again, COUNT_OF(again)), -EPROTO);
    assert_int_equal(take_series(twice, COUNT_OF(twice)), -EPROTO);
    assert_int_equal(take_series(late, COUNT_OF(late)), -EPROTO);
    assert_int_equal(take_series(last, COUNT_OF(last)), -EPROTO);
}

/* All of a text's bytes are those that no text may have. */
static void expect_text(const char *text, size_t size) {
    assert_int_equal(strlen(text), size - 1);
    assert_int_equal(strspn(text, "?"), size - 1);
}

#define EXPECT_TEXT(text) expect_text((text), sizeof(text))

/* Of a release that lies: texts have an end, and are printable. */
TEST(texts_end_and_can_be_shown) {
    struct spex_profile_reader reader = {.status = 0};
    struct spex_profile_process process = {.process_id = 1};
    struct spex_profile_type type = {.probe_type = SPEX_LAT};
    struct spex_profile_site site = {.probe_type = SPEX_LAT};
    struct spex_profile_probe probe = {.probe_type = SPEX_LAT};
    memset(process.command, 0xff, sizeof(process.command));
    memset(process.selection, 0xff, sizeof(process.selection));
    memset(process.rate_policy, 0xff, sizeof(process.rate_policy));
    memset(process.leased, 0xff, sizeof(process.leased));
    memset(type.text, 0xff, sizeof(type.text));
    memset(site.name, 0xff, sizeof(site.name));
    memset(site.file, 0xff, sizeof(site.file));
    memset(site.parameters, 0xff, sizeof(site.parameters));
    memset(site.provider, 0xff, sizeof(site.provider));
    memset(probe.name, 0xff, sizeof(probe.name));
    memset(probe.provider, 0xff, sizeof(probe.provider));
    memset(probe.why, 0xff, sizeof(probe.why));
    assert_int_equal(take(&reader, SPEX_CONTROL_PROCESS, &process, sizeof(process), 1), 0);
    assert_int_equal(take(&reader, SPEX_CONTROL_TYPES, &type, sizeof(type), 1), 0);
    assert_int_equal(take(&reader, SPEX_CONTROL_SITES, &site, sizeof(site), 1), 0);
    assert_int_equal(take(&reader, SPEX_CONTROL_PROBE, &probe, sizeof(probe), 1), 0);
    assert_int_equal(take(&reader, SPEX_CONTROL_DONE, NULL, 0, 0), 1);
    const struct spex_profile *profile = &reader.profile;
    EXPECT_TEXT(profile->process.command);
    EXPECT_TEXT(profile->process.selection);
    EXPECT_TEXT(profile->process.rate_policy);
    EXPECT_TEXT(profile->process.leased);
    EXPECT_TEXT(profile->types[0].text);
    EXPECT_TEXT(profile->sites[0].name);
    EXPECT_TEXT(profile->sites[0].file);
    EXPECT_TEXT(profile->sites[0].parameters);
    EXPECT_TEXT(profile->sites[0].provider);
    EXPECT_TEXT(profile->rows[0].probe.name);
    EXPECT_TEXT(profile->rows[0].probe.provider);
    EXPECT_TEXT(profile->rows[0].probe.why);
    spex_profile_reader_free(&reader);
}
