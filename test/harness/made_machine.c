/* SPDX-License-Identifier: MIT */
/* What is found out of a machine whose files are made, and which part of its time other programs
 * take. */
#include <errno.h>
#include <sys/resource.h>

#include "../check.h"
#include "../comma_locale.h"
#include "harness/machine.h"

/* The files that there are; the last has no path. */
struct file {
    const char *path, *text;
};

static const struct file *files;
static int loads;
static struct rusage own_usage, children_usage;

static FILE *made_fopen(const char *path) {
    for (const struct file *file = files; file->path; file++)
        if (strcmp(file->path, path) == 0)
            return fmemopen((void *)(uintptr_t)file->text, strlen(file->text), "r");
    errno = ENOENT;
    return NULL;
}

FILE *__wrap_fopen(const char *path, const char *mode);
FILE *__wrap_fopen64(const char *path, const char *mode);
int __wrap_getloadavg(double *averages, int count);
int __wrap_getrusage(int who, struct rusage *usage);
int __wrap_gethostname(char *name, size_t size);
ssize_t __wrap_readlink(const char *path, char *target, size_t size);

FILE *__wrap_fopen(const char *path, const char *mode) {
    (void)mode;
    return made_fopen(path);
}

FILE *__wrap_fopen64(const char *path, const char *mode) {
    (void)mode;
    return made_fopen(path);
}

int __wrap_getloadavg(double *averages, int count) {
    assert_int_equal(count, 3);
    for (int l = 0; l < loads; l++)
        averages[l] = l + 0.5;
    return loads;
}

/* As many bytes of this letter as there is room for; 0: an error. */
static char host_of, executable_of;

int __wrap_gethostname(char *name, size_t size) {
    struct spex_bench_machine machine;
    assert_int_equal(size, sizeof(machine.host) - 1); /* whose last byte stays 0 */
    if (host_of)
        memset(name, host_of, size);
    return host_of ? 0 : -1;
}

ssize_t __wrap_readlink(const char *path, char *target, size_t size) {
    struct spex_bench_machine machine;
    assert_string_equal(path, "/proc/self/exe");
    assert_int_equal(size, sizeof(machine.executable) - 1);
    memset(target, executable_of ? executable_of : '?', executable_of ? size : 3);
    return executable_of ? (ssize_t)size : -1;
}

int __wrap_getrusage(int who, struct rusage *usage) {
    *usage = who == RUSAGE_SELF ? own_usage : children_usage;
    return 0;
}

#define CACHE    "/sys/devices/system/cpu/cpu0/cache/index"
#define GOVERNOR "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"

static const struct file machine_files[] = {
    {"/proc/cpuinfo", "processor\t: 0\ncpu MHz\t\t: 2500.125\ncache size\t: 5 KB\n"
                      "flags\t\t: fpu constant_tsc sse hypervisor nonstop_tsc\nbogomips: 1\n\n"
                      "processor\t: 1\ncpu MHz\t\t: 9999\nflags\t\t: fpu\n"},
    {GOVERNOR, "powersave\n"},
    {CACHE "0/size", "32K\n"},
    {CACHE "0/type", "Data\n"},
    {CACHE "0/level", "1\n"},
    {CACHE "0/shared_cpu_map", "00000000,00000003\n"},
    {CACHE "1/size", "3M\n"},
    {CACHE "1/type", "Uni\tfied\n"},
    {CACHE "1/level", "12\n"},
    {CACHE "1/shared_cpu_map", "ff,f0f00001\n"},
    {CACHE "3/size", "512\n"},
    {NULL, NULL},
};

TEST(names_that_are_long_or_unknown) {
    static struct spex_bench_machine machine;
    static const struct file no_files[] = {{NULL, NULL}};
    files = no_files;
    for (int known = 0; known < 2; known++) {
        host_of = known ? 'h' : 0;
        executable_of = known ? '\t' : 0;
        spex_bench_machine_find(&machine);
        assert_int_equal(strlen(machine.host), known ? sizeof(machine.host) - 1 : 0);
        assert_int_equal(strlen(machine.executable), known ? sizeof(machine.executable) - 1 : 0);
        assert_int_equal(machine.host[0], host_of);
        assert_int_equal(machine.executable[0], known ? '?' : 0);
    }
}

TEST(a_machine_is_as_its_files_say) {
    static struct spex_bench_machine machine;
    files = machine_files;
    loads = 3;
    spex_bench_machine_find(&machine);
    assert_true(machine.mhz == 2500.125);
    assert_true(machine.virtual && machine.invariant_ticks && machine.scaling);
    assert_true(machine.load[0] == 0.5 && machine.load[1] == 1.5 && machine.load[2] == 2.5);
    assert_int_equal(machine.cache_count, 3);
    const struct spex_bench_cache *caches = machine.caches;
    assert_string_equal(caches[0].type, "Data");
    assert_int_equal(caches[0].bytes, 32768);
    assert_int_equal(caches[0].level, 1);
    assert_int_equal(caches[0].sharing, 2);
    assert_string_equal(caches[1].type, "Uni?fied");
    assert_int_equal(caches[1].bytes, 3 << 20);
    assert_int_equal(caches[1].level, 12);
    assert_int_equal(caches[1].sharing, 8 + 4 + 4 + 1);
    assert_string_equal(caches[2].type, "");
    assert_int_equal(caches[2].bytes, 512);
    assert_int_equal(caches[2].level, 0);
    assert_int_equal(caches[2].sharing, 0);
}

/* What is not there is not doubted, but for ticks; words are whole ones. */
TEST(what_is_not_there) {
    static const struct file none[] = {{NULL, NULL}};
    static const struct file others[] = {
        {"/proc/cpuinfo", "flags\t\t: xconstant_tsc constant_tsc_x nonstop_tsc ahypervisor\n"},
        {GOVERNOR, "performance\n"},
        {NULL, NULL}};
    static const struct file one_word[] = {
        {"/proc/cpuinfo", "flags\t\t: constant_tsc_x constant_tsc\n"}, {NULL, NULL}};
    static const struct file *const machines[] = {none, others, one_word};
    loads = 2;
    for (size_t m = 0; m < COUNT_OF(machines); m++) {
        static struct spex_bench_machine machine;
        files = machines[m];
        spex_bench_machine_find(&machine);
        assert_true(machine.mhz == 0);
        assert_false(machine.virtual || machine.scaling);
#if defined(__x86_64__)
        assert_false(machine.invariant_ticks);
#endif
        assert_int_equal(machine.cache_count, 0);
        assert_true(machine.load[0] == 0 && machine.load[1] == 0 && machine.load[2] == 0);
    }
}

/* Seconds of all processors so far: as a user, idle, waiting for I/O, and stolen. */
static double others_at(unsigned user, unsigned idle, unsigned waits, unsigned stolen) {
    static char line[256];
    static struct file stat[] = {{"/proc/stat", line}, {NULL, NULL}};
    unsigned tick = (unsigned)sysconf(_SC_CLK_TCK);
    snprintf(line, sizeof(line), "cpu  %u %u %u %u %u %u %u %u %u %u\ncpu0 1 2 3\n", user * tick,
             2 * tick, 3 * tick, idle * tick, waits * tick, 6 * tick, 7 * tick, stolen * tick,
             user * tick, 5 * tick);
    files = stat;
    return spex_bench_others();
}

static struct rusage usage_of(long user, long system, long system_us) {
    return (struct rusage){.ru_utime = {user, 0}, .ru_stime = {system, system_us}};
}

static void near(double value, double expected) {
    assert_true(value >= expected - 1e-9 && value <= expected + 1e-9);
}

/* Of the time since the first call, without this program and its children. */
TEST(others_are_the_rest) {
    static const struct file none[] = {{NULL, NULL}};
    static const struct file another[] = {{"/proc/stat", "cpu0 1 2 3 4 5 6 7 8\n"}, {NULL, NULL}};
    own_usage = usage_of(5, 3, 0);
    children_usage = usage_of(1, 0, 500000);
    files = none;
    near(spex_bench_others(), 0);
    files = another;
    near(spex_bench_others(), 0);
    near(others_at(100, 1000, 50, 10), 0); /* the first */
    near(others_at(100, 1000, 50, 10), 0); /* no time has passed */
    near(others_at(110, 1020, 55, 15), 15. / 40);
    own_usage = usage_of(6, 4, 500000);
    near(others_at(110, 1020, 55, 15), 12.5 / 40);
    children_usage = usage_of(3, 1, 0);
    near(others_at(110, 1020, 55, 15), 10. / 40);
    near(others_at(110, 1040, 55, 15), 10. / 60);
    own_usage = usage_of(100, 0, 0);
    near(others_at(110, 1040, 55, 15), 0);
    files = none;
    near(spex_bench_others(), 0);
}
