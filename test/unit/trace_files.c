/* SPDX-License-Identifier: MIT */
/* What a trace is written by, part for part: limits as people write them, records that wait in
 * order against a sorted list, files within a bound, and the profiles that the journal gets. */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/stat.h>

#include <spex/ticks.h>

#include "../check.h"
#include "../observe/trace_folder.h"
#include "trace/profiles.h"
#include "trace/trace_disk.h"
#include "trace/trace_format.h"
#include "trace/trace_limits.h"
#include "trace/waiting.h"
#include "wire/profile_frames.h"

/* ---- limits ---- */

TEST(sizes_are_read) {
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {{"1", 1},
                {"12345", 12345},
                {"1k", 1 << 10},
                {"3K", 3 << 10},
                {"64M", 64 << 20},
                {"2G", UINT64_C(2) << 30},
                {"5T", UINT64_C(5) << 40},
                {"1048575T", UINT64_C(1048575) << 40},
                {"1152921504606846975", (UINT64_C(1) << 60) - 1}};
    static const char *const bad[] = {"",    "0",   "0M",  "M",  "1m",       "1g",
                                      "1MB", "1 M", " 1",  "-1", "1048576T", "1152921504606846976",
                                      "1P",  "+1",  "1.5G"};
    uint64_t bytes;
    for (size_t g = 0; g < COUNT_OF(good); g++) {
        assert_true(spex_size_parse(good[g].text, &bytes));
        assert_int_equal(bytes, good[g].bytes);
    }
    for (size_t b = 0; b < COUNT_OF(bad); b++)
        if (spex_size_parse(bad[b], &bytes))
            fail_msg("%s: %llu", bad[b], (unsigned long long)bytes);
}

TEST(seconds_are_read) {
    static const char *const bad[] = {"",
                                      "s",
                                      "1",
                                      "60",
                                      "0s",
                                      "0.9s",
                                      "-1s",
                                      "1ss",
                                      "1 s",
                                      "1ms",
                                      "1S",
                                      "xs",
                                      "12345678901234567s"};
    double seconds;
    assert_true(spex_seconds_parse("1s", &seconds) && seconds == 1);
    assert_true(spex_seconds_parse("60s", &seconds) && seconds == 60);
    assert_true(spex_seconds_parse("1.5s", &seconds) && seconds == 1.5);
    assert_true(spex_seconds_parse("100000000.00001s", &seconds) && seconds > 1e8); /* 16 bytes */
    assert_false(spex_seconds_parse("100000000.000001s", &seconds));
    for (size_t b = 0; b < COUNT_OF(bad); b++)
        if (spex_seconds_parse(bad[b], &seconds))
            fail_msg("%s: %g", bad[b], seconds);
}

static const char *take(const char *text, const char *folder_left,
                        struct spex_trace_limits *limits) {
    static char whole[64];
    *limits = (struct spex_trace_limits){0};
    snprintf(whole, sizeof(whole), "%s", text);
    const char *wrong = spex_trace_limits_take(whole, limits);
    assert_string_equal(whole, folder_left);
    return wrong;
}

TEST(limits_stand_behind_the_folder) {
    struct spex_trace_limits limits;
    assert_null(take("a/folder", "a/folder", &limits));
    assert_true(limits.keep == 0 && limits.rotate_bytes == 0 && limits.rotate_seconds == 0);
    assert_null(take("f,keep=1M,rotate=64k", "f", &limits));
    assert_int_equal(limits.keep, 1 << 20);
    assert_int_equal(limits.rotate_bytes, 64 << 10);
    assert_null(take("f,rotate=60s", "f", &limits));
    assert_true(limits.keep == 0 && limits.rotate_bytes == 0 && limits.rotate_seconds == 60);
    assert_string_equal(take("f,keep=1023k", "f", &limits),
                        "keep: a size of 1M or more was expected, such as 1G");
    assert_string_equal(take("f,keep=", "f", &limits),
                        "keep: a size of 1M or more was expected, such as 1G");
    assert_string_equal(take("f,rotate=0s", "f", &limits),
                        "rotate: a size was expected, such as 64M, or seconds, such as 60s");
    static const char *const others[] = {"f,", "f,kept=1M", "f,keep=1M,", "f,1M", "f,rotate"};
    for (size_t o = 0; o < COUNT_OF(others); o++)
        assert_string_equal(take(others[o], "f", &limits),
                            "keep= or rotate= was expected behind the folder");
}

/* ---- what waits ---- */

enum { WAITING_MOST = 20000, BATCH_MOST = 300 };

static int by_time(const void *a, const void *b) {
    const struct spex_record *one = a, *other = b;
    return (one->timestamp > other->timestamp) - (one->timestamp < other->timestamp);
}

/* All of `model`, in order. */
static void expect_waiting(const struct spex_waiting *waiting, struct spex_record *model,
                           size_t count) {
    assert_int_equal(waiting->count, count);
    qsort(model, count, sizeof(*model), by_time);
    for (size_t r = 0; r < count; r++) {
        assert_int_equal(waiting->records[r].timestamp, model[r].timestamp);
        assert_int_equal(waiting->records[r].fields[0], model[r].timestamp);
    }
}

TEST(batches_wait_in_order) {
    static struct spex_record model[WAITING_MOST], apart[BATCH_MOST];
    struct spex_waiting waiting = {.count = 0};
    size_t count = 0;
    uint64_t seed = 1, time = 1000000;
    for (unsigned round = 0; round < 300; round++) {
        size_t more = random_below(&seed, round % 10 ? 20 : BATCH_MOST);
        struct spex_record *batch = apart;
        if (random_below(&seed, 2))
            batch = spex_waiting_room(&waiting, more + 1);
        uint64_t at = time - random_below(&seed, 100000);
        for (size_t r = 0; r < more; r++) {
            at += random_below(&seed, 1000);
            uint64_t early = random_below(&seed, 10) ? 0 : random_below(&seed, 5000);
            batch[r] = (struct spex_record){.timestamp = at - early, .fields = {at - early}};
        }
        assert_true(count + more <= WAITING_MOST);
        memcpy(&model[count], batch, more * sizeof(*batch));
        count += more;
        assert_int_equal(spex_waiting_add(&waiting, batch, more), 0);
        expect_waiting(&waiting, model, count);
        time += random_below(&seed, 50000);
        if (random_below(&seed, 3))
            continue;
        uint64_t until = count ? model[random_below(&seed, count)].timestamp : 5;
        size_t before = 0;
        while (before < count && model[before].timestamp < until)
            before++;
        assert_int_equal(spex_waiting_until(&waiting, until), before);
        spex_waiting_drop(&waiting, before);
        count -= before;
        memmove(model, model + before, count * sizeof(*model));
        expect_waiting(&waiting, model, count);
    }
    assert_int_equal(spex_waiting_until(&waiting, 0), 0);
    assert_int_equal(spex_waiting_until(&waiting, UINT64_MAX), count);
    spex_waiting_free(&waiting);
    assert_true(!waiting.records && !waiting.count && !waiting.room);
}

/* ---- files ---- */

static struct spex_trace_file file_in(const char *name) {
    struct spex_trace_file file = {.path = NULL};
    assert_true(asprintf(&file.path, "%s/%s", folder, name) > 0);
    return file;
}

static void expect_file(const char *name, const char *text) {
    struct spex_trace_file file = file_in(name);
    char is[64];
    FILE *from = fopen(file.path, "r");
    assert_int_equal(from != NULL, text != NULL);
    if (from) {
        is[fread(is, 1, sizeof(is) - 1, from)] = '\0';
        fclose(from);
        assert_string_equal(is, text);
    }
    free(file.path);
}

TEST_WITH(files_grow_and_are_replaced, folder_begin, folder_end) {
    struct spex_trace_disk disk = {.keep = 0};
    struct spex_trace_file file = file_in("grows"), other = file_in("grows");
    assert_int_equal(spex_trace_file_append(&disk, &file, "one", 3), 0);
    assert_int_equal(spex_trace_file_append(&disk, &file, " two", 4), 0);
    assert_int_equal(file.bytes, 7);
    assert_int_equal(disk.bytes, 7);
    expect_file("grows", "one two");
    /* Of another process of the same number. */
    assert_int_equal(spex_trace_file_append(&disk, &other, "three", 5), -EEXIST);
    assert_int_equal(disk.bytes, 7);
    expect_file("grows", "one two");
    free(other.path);
    other = file_in("small");
    assert_int_equal(spex_trace_file_replace(&disk, &other, "a text", 6), 0);
    assert_int_equal(disk.bytes, 13);
    assert_int_equal(spex_trace_file_replace(&disk, &other, "less", 4), 0);
    assert_int_equal(other.bytes, 4);
    assert_int_equal(disk.bytes, 11);
    expect_file("small", "less");
    expect_file(".small.new", NULL);
    unlink(other.path);
    assert_int_equal(mkdir(other.path, 0700), 0);
    assert_int_equal(spex_trace_file_replace(&disk, &other, "more", 4), -EISDIR);
    expect_file(".small.new", NULL);
    assert_int_equal(disk.bytes, 11);
    free(other.path);
    other = file_in("absent/file");
    assert_int_equal(spex_trace_file_append(&disk, &other, "x", 1), -ENOENT);
    assert_int_equal(spex_trace_file_replace(&disk, &other, "x", 1), -ENOENT);
    free(other.path);
    spex_trace_file_leave(&disk, &file); /* where nothing is to be removed */
    assert_null(file.path);
    assert_int_equal(file.bytes, 0);
    assert_int_equal(disk.left_count, 0);
    spex_trace_disk_free(&disk);
}

/* ---- disks that fail ---- */

/* Of the next write, so many calls are interrupted or take a part, of which the last one fails. */
static struct {
    unsigned calls;
    int fails; /* an errno value; 0: a call writes nothing; -1: none fails */
    bool failed;
    int close_fails;
    uint64_t chance;
} disk_calls = {.fails = -1};

ssize_t __real_pwrite(int fd, const void *bytes, size_t size, off_t at);
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t size, off_t at);
ssize_t __wrap_pwrite64(int fd, const void *bytes, size_t size, off_t at);
int __real_close(int fd);
int __wrap_close(int fd);

static ssize_t fail_with(int error) {
    errno = error;
    return -1;
}

ssize_t __wrap_pwrite(int fd, const void *bytes, size_t size, off_t at) {
    if (disk_calls.calls == 0) {
        disk_calls.failed = disk_calls.fails >= 0;
        return disk_calls.fails > 0    ? fail_with(disk_calls.fails)
               : disk_calls.fails == 0 ? 0
                                       : __real_pwrite(fd, bytes, size, at);
    }
    disk_calls.calls--;
    if (size < 2 || random_below(&disk_calls.chance, 2))
        return fail_with(EINTR);
    return __real_pwrite(fd, bytes, 1 + random_below(&disk_calls.chance, size - 1), at);
}

/* As the sources call it, where offsets have 64 bits. */
ssize_t __wrap_pwrite64(int fd, const void *bytes, size_t size, off_t at) {
    return __wrap_pwrite(fd, bytes, size, at);
}

int __wrap_close(int fd) {
    int result = __real_close(fd);
    return disk_calls.close_fails ? (int)fail_with(disk_calls.close_fails) : result;
}

static int write_to(struct spex_trace_disk *disk, struct spex_trace_file *file, bool replaced,
                    const char *text, int fails) {
    disk_calls.calls = (unsigned)random_below(&disk_calls.chance, 5);
    disk_calls.fails = fails;
    disk_calls.failed = false;
    size_t size = strlen(text);
    int err = replaced ? spex_trace_file_replace(disk, file, text, size)
                       : spex_trace_file_append(disk, file, text, size);
    disk_calls.calls = 0;
    disk_calls.fails = -1;
    return err;
}

/* A file is as it was, or has all of it, in whatever parts the disk takes it. */
TEST_WITH(files_have_all_or_nothing_more, folder_begin, folder_end) {
    static const int failures[] = {ENOSPC, EIO, EDQUOT, 0};
    struct spex_trace_disk disk = {.keep = 0};
    struct spex_trace_file file = file_in("file");
    char model[64] = "", next[16];
    bool is_there = false;
    for (unsigned n = 0; n < 2000; n++) {
        bool replaced = random_below(&disk_calls.chance, 8) == 0;
        int fails = random_below(&disk_calls.chance, 2)
                        ? failures[random_below(&disk_calls.chance, COUNT_OF(failures))]
                        : -1;
        snprintf(next, sizeof(next), "%llu",
                 (unsigned long long)(mix(n) >> random_below(&disk_calls.chance, 60)));
        replaced = replaced || strlen(model) + strlen(next) >= sizeof(model);
        int err = write_to(&disk, &file, replaced, next, fails);
        assert_int_equal(err, !disk_calls.failed ? 0 : fails ? -fails : -EIO);
        if (!err) {
            snprintf(replaced ? model : model + strlen(model), sizeof(next), "%s", next);
            is_there = true;
        }
        expect_file("file", is_there ? model : NULL);
        expect_file(".file.new", NULL);
        assert_int_equal(file.bytes, strlen(model));
        assert_int_equal(disk.bytes, strlen(model));
    }
    free(file.path);
}

/* Some disks tell at the end that they could not write. */
TEST_WITH(files_that_do_not_close_fail, folder_begin, folder_end) {
    struct spex_trace_disk disk = {.keep = 0};
    struct spex_trace_file file = file_in("file");
    assert_int_equal(write_to(&disk, &file, false, "one", -1), 0);
    disk_calls.close_fails = EDQUOT;
    int appended = write_to(&disk, &file, false, " two", -1),
        replaced = write_to(&disk, &file, true, "three", -1), failed;
    do
        failed = write_to(&disk, &file, true, "four", ENOSPC);
    while (!disk_calls.failed);
    disk_calls.close_fails = 0;
    assert_int_equal(appended, -EDQUOT);
    assert_int_equal(replaced, -EDQUOT);
    assert_int_equal(failed, -ENOSPC);
    assert_int_equal(file.bytes, 3);
    assert_int_equal(disk.bytes, 3);
    expect_file(".file.new", NULL);
    assert_int_equal(write_to(&disk, &file, false, " 2", -1), 0);
    assert_int_equal(file.bytes, 5);
    free(file.path);
}

/* For whatever is written. The oldest go first, and no more of them than have to. */
TEST_WITH(room_is_made, folder_begin, folder_end) {
    enum { FILES = 200, BYTES = 10 };
    static const char large[] = "123456789 123456789 123456789 123456789 123456789 1";
    struct spex_trace_disk disk = {.keep = FILES * BYTES};
    char name[32], all[2 * FILES * BYTES + 1] = "";
    for (unsigned f = 0; f < FILES; f++) {
        snprintf(name, sizeof(name), "file_%u", f);
        struct spex_trace_file file = file_in(name);
        assert_int_equal(write_to(&disk, &file, false, "0123456789", -1), 0);
        spex_trace_file_leave(&disk, &file);
    }
    struct spex_trace_file grows = file_in("grows"), whole = file_in("whole");
    assert_int_equal(disk.removed, 0);
    assert_int_equal(write_to(&disk, &grows, false, "1", -1), 0);
    assert_int_equal(disk.removed, BYTES);
    assert_int_equal(write_to(&disk, &grows, false, "23456789", -1), 0);
    assert_int_equal(disk.removed, BYTES);
    assert_int_equal(write_to(&disk, &whole, true, large, -1), 0);
    assert_int_equal(disk.removed, 6 * BYTES);
    assert_int_equal(write_to(&disk, &whole, true, large, -1), 0);
    assert_int_equal(disk.removed, 6 * BYTES);
    assert_int_equal(disk.bytes, FILES * BYTES);
    assert_int_equal(disk.left_count, FILES - 6);
    for (unsigned f = 0; f < FILES; f++) {
        snprintf(name, sizeof(name), "file_%u", f);
        expect_file(name, f < 6 ? NULL : "0123456789");
    }
    memset(all, 'a', sizeof(all) - 1); /* more than there is */
    assert_int_equal(write_to(&disk, &grows, false, all, -1), 0);
    assert_int_equal(disk.left_count, 0);
    assert_int_equal(disk.bytes, grows.bytes + whole.bytes);
    free(grows.path);
    free(whole.path);
    spex_trace_disk_free(&disk);
}

/* ---- profiles ---- */

/* Frames that begin with a process that says when it has made the profile. */
static size_t made_at(
    uint64_t ticks,
    char frames[sizeof(struct spex_control_frame) + sizeof(struct spex_profile_process)]) {
    const struct spex_profile_process process = {.process_id = 1, .made_ticks = ticks};
    struct spex_control_frame head = {
        .kind = SPEX_CONTROL_PROCESS, .entry_bytes = sizeof(process), .count = 1};
    memcpy(frames + sizeof(head), &process, sizeof(process));
    return spex_frame_finish(frames, &head);
}

/* The time that the journal has of the profile that stands behind so many bytes. */
static uint64_t profile_ticks(const char *path, uint64_t before) {
    struct spex_journal_header header;
    uint64_t ticks;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fseek(file, (long)before, SEEK_SET), 0);
    assert_int_equal(fread(&header, sizeof(header), 1, file), 1);
    assert_int_equal(header.kind, SPEX_JOURNAL_PROFILE);
    assert_int_equal(fread(&ticks, sizeof(ticks), 1, file), 1);
    fclose(file);
    return ticks;
}

/* A profile has the time at which it was made; where that cannot be, the one of its arrival: before
 * the last one, or later than now, or when nothing whole says it. */
TEST_WITH(profiles_have_the_time_they_were_made, folder_begin, folder_end) {
    enum { LAST = 1000 };
    char frames[sizeof(struct spex_control_frame) + sizeof(struct spex_profile_process)];
    const struct {
        uint64_t made;
        size_t cut;
        bool holds;
    } cases[] = {
        {LAST + 1, 0, true},
        {LAST + 1, 0, false},
        {LAST, 0, false},
        {0, 0, false},
        {UINT64_MAX, 0, false},
        {LAST + 2, 1, false},
        {LAST + 2, sizeof(frames), false},
        {spex_ticks(), 0, true},
    };
    struct spex_trace_disk disk = {.keep = 0};
    struct spex_trace_file journal = file_in("journal");
    struct spex_trace_profiles profiles = {.newest_ticks = LAST};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        uint64_t before = journal.bytes, begin = spex_ticks();
        size_t bytes = made_at(cases[c].made, frames) - cases[c].cut;
        assert_int_equal(spex_trace_profiles_add(&profiles, &disk, &journal, frames, bytes), 1);
        uint64_t ticks = profile_ticks(journal.path, before);
        if (cases[c].holds)
            assert_int_equal(ticks, cases[c].made);
        else
            assert_true(ticks >= begin && ticks <= spex_ticks());
        profiles.newest_ticks = c == 0 ? ticks : LAST;
    }
    spex_trace_profiles_free(&profiles);
    free(journal.path);
    spex_trace_disk_free(&disk);
}

/* One that is written at the end has its time, too. */
TEST_WITH(the_last_profile_has_the_time_it_was_made, folder_begin, folder_end) {
    char frames[sizeof(struct spex_control_frame) + sizeof(struct spex_profile_process)];
    struct spex_trace_disk disk = {.keep = 0};
    struct spex_trace_file journal = file_in("journal");
    struct spex_trace_profiles profiles = {.newest_ticks = 1000};
    spex_trace_profiles_keep(&profiles, frames, made_at(2000, frames));
    assert_int_equal(spex_trace_profiles_end(&profiles, &disk, &journal), 0);
    assert_int_equal(profile_ticks(journal.path, 0), 2000);
    spex_trace_profiles_free(&profiles);
    free(journal.path);
    spex_trace_disk_free(&disk);
}

/* The more the journal takes of the room, the fewer: all in its first sixteenth, every second one
 * in the next, every fourth one then. */
TEST_WITH(profiles_become_fewer, folder_begin, folder_end) {
    enum { BYTES = 1000, KEEP = 16 * 10240 };
    static char frames[BYTES];
    struct spex_trace_profiles profiles = {.left_out = 0};
    struct spex_trace_disk disk = {.keep = KEEP};
    struct spex_trace_file journal = file_in("journal");
    unsigned left_out = 0;
    for (unsigned p = 0; p < 200; p++) {
        unsigned part = (unsigned)(journal.bytes / (KEEP / 16));
        uint64_t before = journal.bytes;
        bool due = ++left_out >= 1u << part;
        memset(frames, (int)p + 1, BYTES);
        assert_int_equal(spex_trace_profiles_add(&profiles, &disk, &journal, frames, BYTES), due);
        assert_int_equal(journal.bytes - before,
                         due ? sizeof(struct spex_journal_header) + sizeof(uint64_t) + BYTES : 0);
        left_out = due ? 0 : left_out;
    }
    assert_true(journal.bytes > KEEP / 16 * 3 && left_out > 0);
    /* At the end comes the last one, with the time at which it was there. */
    uint64_t before = journal.bytes, ticks, end = spex_ticks();
    assert_int_equal(spex_trace_profiles_end(&profiles, &disk, &journal), 0);
    assert_int_equal(spex_trace_profiles_end(&profiles, &disk, &journal), 0);
    FILE *file = fopen(journal.path, "r");
    assert_non_null(file);
    assert_int_equal(fseek(file, (long)before, SEEK_SET), 0);
    struct spex_journal_header header;
    assert_int_equal(fread(&header, sizeof(header), 1, file), 1);
    assert_int_equal(header.kind, SPEX_JOURNAL_PROFILE);
    assert_int_equal(header.count, sizeof(ticks) + BYTES);
    assert_int_equal(header.entry_bytes, 1);
    assert_int_equal(fread(&ticks, sizeof(ticks), 1, file), 1);
    assert_true(ticks < end);
    assert_int_equal(fread(frames, 1, sizeof(frames), file), BYTES);
    assert_int_equal((uint8_t)frames[BYTES - 1], 200);
    assert_int_equal(fgetc(file), EOF);
    fclose(file);
    spex_trace_profiles_free(&profiles);
    free(journal.path);
    spex_trace_disk_free(&disk);
}
