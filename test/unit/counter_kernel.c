/* SPDX-License-Identifier: MIT */
/* Events of a kernel that is made here: with which attributes they are opened, what is read of them
 * in each way, and what is closed and unmapped, whichever call fails and whoever takes the
 * descriptors. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "../check.h"
#include "base/descriptor.h"
#include "counters/event.h"

enum { FILES = 4, FIRST = 10, RAISED = 600, FIRST_ID = 900, PAGE = 4096, MARK = 61 };

struct file {
    bool open;
    struct perf_event_attr attr;
    int leader;
    uint64_t id;
    int mark;
    int number;
    /* Another number of the same file; 0: none. */
    int low;
    bool asked;
};

static struct {
    struct file files[FILES];
    unsigned opened;
    /* The calls of the kernel so far, and the one that fails. */
    unsigned calls, failing;
    unsigned mapped;
    size_t mapped_bytes;
    struct perf_event_mmap_page *pages[2];
    /* What read() gives, and how many bytes of it. */
    uint64_t words[8];
    size_t bytes;
    struct rusage usage;
    uint64_t pmc[4];
} made;

static bool fails(void) {
    if (++made.calls != made.failing)
        return false;
    errno = EMFILE;
    return true;
}

static struct file *file_of(int number) {
    for (unsigned f = 0; f < made.opened; f++)
        if (made.files[f].open &&
            (made.files[f].number == number || (number > 0 && made.files[f].low == number)))
            return &made.files[f];
    errno = EBADF;
    return NULL;
}

static long made_open(const struct perf_event_attr *attr, int process, int cpu, int leader,
                      unsigned long flags) {
    assert_true(process == 0 && cpu == -1 && flags == PERF_FLAG_FD_CLOEXEC);
    assert_int_equal(attr->size, sizeof(*attr));
    if (fails())
        return -1;
    assert_true(made.opened < FILES);
    made.files[made.opened] = (struct file){.open = true,
                                            .attr = *attr,
                                            .leader = leader,
                                            .id = FIRST_ID + made.opened,
                                            .number = FIRST + (int)made.opened};
    return made.files[made.opened++].number;
}

/* What else is asked of the kernel, it answers. Not of `...`, so that a call may have fewer
 * arguments than the one with the most. */
long __real_syscall(long call, ...);
static ssize_t made_read(int number, void *to, size_t bytes) {
    assert_true(file_of(number) == &made.files[0]);
    memcpy(to, made.words, bytes);
    return (ssize_t)(made.bytes < bytes ? made.bytes : bytes);
}

long __wrap_syscall(long call, long a, long b, long c, long d, long e, long f);

long __wrap_syscall(long call, long a, long b, long c, long d, long e, long f) {
    if (call == SYS_read)
        return made_read((int)a, (void *)b, (size_t)c);
    if (call != SYS_perf_event_open)
        return __real_syscall(call, a, b, c, d, e, f);
    return made_open((const struct perf_event_attr *)a, (int)b, (int)c, (int)d, (unsigned long)e);
}

/* The file has both numbers from then on. */
static int made_high(int number) {
    struct file *file = file_of(number);
    file->low = number;
    return file->number = number + RAISED;
}

static int made_ioctl(int number, unsigned long request, uint64_t *id) {
    struct file *file = file_of(number);
    assert_int_equal(request, PERF_EVENT_IOC_ID);
    if (!file)
        return -1;
    /* The first question fails where the program has the number already. */
    file->open = file->asked || !fails();
    file->asked = true;
    if (!file->open)
        return -1;
    *id = file->id;
    return 0;
}

static int made_fcntl(int number, int command, ...) {
    struct file *file = file_of(number);
    va_list arguments;
    if (!file || fails())
        return -1;
    if (command == F_GETSIG)
        return file->mark;
    assert_int_equal(command, F_SETSIG);
    va_start(arguments, command);
    file->mark = va_arg(arguments, int);
    va_end(arguments);
    return 0;
}

static int made_close(int number) {
    struct file *file = file_of(number);
    assert_non_null(file);
    if (file->low == number) {
        file->low = 0;
        return 0;
    }
    /* A leader is the last of its group. */
    for (unsigned f = 0; f < made.opened; f++)
        assert_false(made.files[f].open && made.files[f].leader == number);
    file->open = false;
    return 0;
}

static void *made_map(size_t bytes, int protection, int flags, int number) {
    assert_true(protection == PROT_READ && flags == MAP_SHARED && file_of(number));
    if (fails())
        return MAP_FAILED;
    made.mapped_bytes = bytes;
    return made.pages[made.mapped++];
}

static int made_unmap(const void *memory, size_t bytes) {
    assert_int_equal(bytes, made.mapped_bytes);
    assert_true(made.mapped > 0 && (memory == made.pages[0] || memory == made.pages[1]));
    made.mapped--;
    return 0;
}

static int made_usage(struct rusage *usage) {
    *usage = made.usage;
    return fails() ? -1 : 0;
}

#define spex_descriptor_high                             made_high
#define ioctl                                            made_ioctl
#define fcntl                                            made_fcntl
#define close                                            made_close
#define mmap(at, bytes, protection, flags, number, from) made_map(bytes, protection, flags, number)
#define munmap                                           made_unmap
#define sysconf(name)                                    ((long)PAGE)
#define getrusage(who, usage)                            (assert_int_equal(who, RUSAGE_THREAD), made_usage(usage))
#define __rdpmc(index)                                   (made.pmc[index])
#include "counters/event.c"
#undef close

static const struct spex_counter_plan two = {
    .events = 2,
    .codes = {{.type = 3, .exclude = SPEX_EXCLUDE_KERNEL, .config = 5, .config1 = 6, .config2 = 7},
              {.type = 4, .config = 8}}};
static const struct spex_counter_plan one = {.events = 1, .codes = {{.type = 1, .config = 2}}};

static void kernel_make(unsigned failing) {
    static struct perf_event_mmap_page pages[2];
    memset(&made, 0, sizeof(made));
    memset(pages, 0, sizeof(pages));
    made.failing = failing;
    made.pages[0] = &pages[0];
    made.pages[1] = &pages[1];
}

static void expect_nothing_left(void) {
    for (unsigned f = 0; f < made.opened; f++)
        assert_false(made.files[f].open);
    assert_int_equal(made.mapped, 0);
}

static void expect_read(const struct spex_event *event, enum spex_counter counter, bool available,
                        uint64_t first, uint64_t second) {
    struct spex_reading reading = {.values = {77, 77}, .enabled = 77, .running = 77};
    spex_event_read(event, counter, &reading);
    assert_int_equal(reading.available, available);
    assert_int_equal(reading.source, event->source);
    if (!available)
        return;
    assert_true(reading.values[0] == first && reading.values[1] == second);
}

/* --- What is asked for */

TEST(events_have_the_attributes_of_their_codes) {
    for (uint32_t exclude = 0; exclude < 32; exclude++) {
        struct spex_counter_plan plan = two;
        struct spex_event event = {0};
        const char *step;
        plan.codes[1].exclude = exclude;
        kernel_make(0);
        assert_int_equal(spex_event_open(&event, &plan, SPEX_WAY_READ, &step), 0);
        const struct perf_event_attr *first = &made.files[0].attr, *second = &made.files[1].attr;
        assert_true(first->type == 3 && first->config == 5 && first->config1 == 6 &&
                    first->config2 == 7 && second->type == 4 && second->config == 8);
        assert_true(first->exclude_kernel && !first->exclude_user && !first->exclude_hv);
        assert_int_equal(second->exclude_user, exclude & 1);
        assert_int_equal(second->exclude_kernel, exclude >> 1 & 1);
        assert_int_equal(second->exclude_hv, exclude >> 2 & 1);
        assert_int_equal(second->exclude_guest, exclude >> 3 & 1);
        assert_int_equal(second->exclude_host, exclude >> 4 & 1);
        assert_true(!first->sample_period && !first->watermark && !first->context_switch);
        assert_int_equal(made.files[0].leader, -1);
        assert_int_equal(made.files[1].leader, made.files[0].number);
        assert_true(made.files[0].mark == MARK && made.files[1].mark == MARK);
        assert_true(made.files[0].number > RAISED && made.files[1].number > RAISED);
        const uint64_t format =
            PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
        assert_int_equal(first->read_format, format | PERF_FORMAT_GROUP);
        spex_event_release(&event);
        expect_nothing_left();
        kernel_make(0);
        assert_int_equal(spex_event_open(&event, &one, SPEX_WAY_READ, &step), 0);
        assert_int_equal(made.files[0].attr.read_format, format);
        spex_event_abandon(&event);
        expect_nothing_left();
    }
}

/* --- What is mapped: the descriptor is closed at once */

static void expect_mapped(enum spex_way way, unsigned pages) {
    struct spex_event event = {0};
    const char *step;
    bool switches = way == SPEX_WAY_SWITCH_RECORDS, ring = way != SPEX_WAY_SWITCH_COUNT;
    kernel_make(0);
    assert_int_equal(spex_event_open(&event, &one, way, &step), 0);
    const struct perf_event_attr *attr = &made.files[0].attr;
    assert_false(made.files[0].open);
    assert_int_equal(made.files[0].leader, -1);
    assert_int_equal(attr->config, switches ? PERF_COUNT_SW_DUMMY : 2);
    assert_int_equal(attr->sample_period, way == SPEX_WAY_FAULT_RECORDS);
    assert_int_equal(attr->context_switch, switches);
    assert_int_equal(attr->exclude_kernel, switches);
    assert_int_equal(attr->watermark, ring);
    assert_int_equal(attr->wakeup_watermark, ring ? UINT32_MAX : 0);
    assert_int_equal(attr->read_format & PERF_FORMAT_GROUP, 0);
    assert_true(made.mapped == 1 && made.mapped_bytes == pages * PAGE);
    assert_true(spex_event_intact(&event));
    event.source = 5;
    made.pages[0]->offset = 41;
    made.pages[0]->data_head = 48;
    expect_read(&event, SPEX_COUNTER_SWITCHES, true, switches ? 3 : ring ? 6 : 41, 0);
    spex_event_release(&event);
    expect_nothing_left();
}

TEST(a_mapping_alone_is_kept) {
    expect_mapped(SPEX_WAY_FAULT_RECORDS, 2);
    expect_mapped(SPEX_WAY_SWITCH_RECORDS, 2);
    expect_mapped(SPEX_WAY_SWITCH_COUNT, 1);
}

/* --- What is read */

TEST(what_is_read_must_be_the_event) {
    struct spex_event event = {0};
    struct spex_reading reading;
    const char *step;
    kernel_make(0);
    assert_int_equal(spex_event_open(&event, &one, SPEX_WAY_READ, &step), 0);
    event.source = 9;
    memcpy(made.words, (const uint64_t[]){1000, 20, 10, FIRST_ID}, 32);
    made.bytes = 32;
    expect_read(&event, SPEX_COUNTER_LLC, true, 1000, 0);
    spex_event_read(&event, SPEX_COUNTER_LLC, &reading);
    assert_true(reading.enabled == 20 && reading.running == 10);
    made.bytes = 31;
    expect_read(&event, SPEX_COUNTER_LLC, false, 0, 0);
    made.bytes = 32;
    made.words[3]++;
    expect_read(&event, SPEX_COUNTER_LLC, false, 0, 0);
    made.words[3]--;
    made.files[0].mark = 0;
    expect_read(&event, SPEX_COUNTER_LLC, false, 0, 0);
    /* The number is another file's: it stays open. */
    made.files[0].id++;
    assert_false(spex_event_intact(&event));
    spex_event_release(&event);
    assert_true(made.files[0].open);
}

TEST(a_group_is_read_at_once) {
    struct spex_event event = {0};
    struct spex_reading reading;
    const char *step;
    kernel_make(0);
    assert_int_equal(spex_event_open(&event, &two, SPEX_WAY_READ, &step), 0);
    const uint64_t words[] = {2, 20, 10, 1000, FIRST_ID, 2000, FIRST_ID + 1};
    memcpy(made.words, words, sizeof(words));
    made.bytes = sizeof(words);
    expect_read(&event, SPEX_COUNTER_LLC, true, 1000, 2000);
    spex_event_read(&event, SPEX_COUNTER_LLC, &reading);
    assert_true(reading.enabled == 20 && reading.running == 10);
    static const size_t checked[] = {0, 4, 6};
    for (size_t c = 0; c < COUNT_OF(checked); c++) {
        made.words[checked[c]]++;
        expect_read(&event, SPEX_COUNTER_LLC, false, 0, 0);
        made.words[checked[c]]--;
    }
    made.bytes--;
    expect_read(&event, SPEX_COUNTER_LLC, false, 0, 0);
    assert_true(spex_event_intact(&event));
    made.files[1].open = false;
    assert_false(spex_event_intact(&event));
    spex_event_release(&event);
    expect_nothing_left();
}

/* By the instruction, where the event is on a counter all the time; or else by read(). */
TEST(the_instruction_is_used_where_it_can_be) {
    struct spex_event event = {0};
    const char *step;
    kernel_make(0);
    assert_int_equal(spex_event_open(&event, &two, SPEX_WAY_RDPMC, &step), 0);
    assert_true(made.mapped == 2 && made.mapped_bytes == PAGE);
    const uint64_t words[] = {2, 20, 10, 1000, FIRST_ID, 2000, FIRST_ID + 1};
    memcpy(made.words, words, sizeof(words));
    made.bytes = sizeof(words);
    for (unsigned p = 0; p < 2; p++) {
        *made.pages[p] = (struct perf_event_mmap_page){
            .index = p + 1, .pmc_width = 48, .offset = 500, .time_enabled = 3, .time_running = 3};
        made.pages[p]->cap_user_rdpmc = 1;
    }
    made.pmc[0] = 7;
    made.pmc[1] = (UINT64_C(1) << 48) - 9; /* a counter of 48 bits before it overflows */
#if defined(__x86_64__)
    expect_read(&event, SPEX_COUNTER_LLC, true, 507, 491);
#endif
    made.pages[1]->index = 0;
    expect_read(&event, SPEX_COUNTER_LLC, true, 1000, 2000);
    made.pages[1]->index = 2;
    made.pages[0]->time_running = 2;
    expect_read(&event, SPEX_COUNTER_LLC, true, 1000, 2000);
    made.pages[0]->time_running = 3;
    made.pages[0]->cap_user_rdpmc = 0;
    expect_read(&event, SPEX_COUNTER_LLC, true, 1000, 2000);
    spex_event_release(&event);
    expect_nothing_left();
}

TEST(the_usage_of_the_thread_is_counted) {
    struct spex_event event = {0};
    const char *step;
    kernel_make(0);
    assert_int_equal(spex_event_open(&event, &one, SPEX_WAY_RUSAGE, &step), 0);
    assert_int_equal(made.calls, 0);
    made.usage.ru_minflt = 100;
    made.usage.ru_majflt = 20;
    made.usage.ru_nvcsw = 3;
    made.usage.ru_nivcsw = 4;
    expect_read(&event, SPEX_COUNTER_FAULTS, true, 120, 0);
    expect_read(&event, SPEX_COUNTER_SWITCHES, true, 7, 0);
    made.failing = made.calls + 1;
    expect_read(&event, SPEX_COUNTER_FAULTS, false, 0, 0);
    spex_event_release(&event);
    assert_int_equal(spex_event_open(&event, &one, SPEX_WAY_NONE, &step), 0);
    assert_string_equal(step, "");
    expect_read(&event, SPEX_COUNTER_FAULTS, false, 0, 0);
}

/* --- Whichever call fails */

static void expect_failures(enum spex_way way, const struct spex_counter_plan *plan,
                            const char *const *steps) {
    for (unsigned failing = 1; steps[failing - 1]; failing++) {
        static const struct spex_event nothing;
        struct spex_event event = {0};
        const char *step;
        kernel_make(failing);
        assert_int_equal(spex_event_open(&event, plan, way, &step), -EMFILE);
        assert_string_equal(step, steps[failing - 1]);
        assert_memory_equal(&event, &nothing, sizeof(event));
        expect_nothing_left();
    }
}

TEST(what_fails_leaves_nothing_open) {
    static const char opens[] = "perf_event_open", marks[] = "ioctl", maps[] = "mmap";
    expect_failures(SPEX_WAY_FAULT_RECORDS, &one, (const char *const[]){opens, marks, maps, NULL});
    expect_failures(SPEX_WAY_SWITCH_COUNT, &one, (const char *const[]){opens, marks, maps, NULL});
    expect_failures(SPEX_WAY_READ, &two,
                    (const char *const[]){opens, marks, marks, opens, marks, marks, NULL});
    expect_failures(
        SPEX_WAY_RDPMC, &two,
        (const char *const[]){opens, marks, marks, maps, opens, marks, marks, maps, NULL});
}
