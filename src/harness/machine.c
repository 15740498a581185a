/* SPDX-License-Identifier: MIT */
/* Reads /proc and /sys. What is not there is not doubted. */
#define _GNU_SOURCE
#include "harness/machine.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "text/plain_numbers.h"
#include "text/printable.h"

/* A load from which other programs disturb, a CPU. */
#define LOAD_MOST 0.5

/* Reads the first line of a file, without its end; empty where there is none. */
static bool read_line(const char *path, char *line, int size) {
    FILE *file = fopen(path, "re");
    line[0] = '\0';
    bool here = file && fgets(line, size, file);
    if (file)
        fclose(file);
    line[strcspn(line, "\n")] = '\0';
    return here;
}

static bool has_word(const char *words, const char *word) {
    size_t length = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at += length)
        if (at > words && at[-1] == ' ' && strchr(" \n", at[length]))
            return true;
    return false;
}

/* Of the first processor. */
static void read_processor(struct spex_bench_machine *machine) {
    SPEX_PLAIN_NUMBERS;
    char *line = NULL;
    size_t room = 0;
    FILE *file = fopen("/proc/cpuinfo", "re");
    while (file && getline(&line, &room, file) > 0 && *line != '\n') {
        char *value = strchr(line, ':');
        if (value && strncmp(line, "cpu MHz", 7) == 0)
            machine->mhz = strtod(value + 1, NULL);
        if (value && strncmp(line, "flags", 5) == 0) {
            machine->virtual = has_word(value, "hypervisor");
            machine->invariant_ticks =
                has_word(value, "constant_tsc") && has_word(value, "nonstop_tsc");
        }
    }
    if (file)
        fclose(file);
    free(line);
}

static void read_cache(struct spex_bench_machine *machine, int index) {
    struct spex_bench_cache *cache = &machine->caches[machine->cache_count];
    static const char format[] = "/sys/devices/system/cpu/cpu0/cache/index%d/%s";
    char path[96], text[64];
    snprintf(path, sizeof(path), format, index, "size");
    if (!read_line(path, text, sizeof(text)))
        return;
    char *unit;
    cache->bytes = strtoul(text, &unit, 10);
    cache->bytes <<= *unit == 'K' ? 10 : *unit == 'M' ? 20 : 0;
    snprintf(path, sizeof(path), format, index, "type");
    read_line(path, cache->type, sizeof(cache->type));
    spex_make_printable(cache->type);
    snprintf(path, sizeof(path), format, index, "level");
    read_line(path, text, sizeof(text));
    cache->level = (unsigned)strtoul(text, NULL, 10);
    snprintf(path, sizeof(path), format, index, "shared_cpu_map");
    read_line(path, text, sizeof(text));
    for (const char *digit = text; *digit; digit++) {
        char one[2] = {*digit, '\0'};
        cache->sharing += (unsigned)__builtin_popcountl(strtoul(one, NULL, 16));
    }
    machine->cache_count++;
}

void spex_bench_machine_find(struct spex_bench_machine *machine) {
    char line[64];
    cpu_set_t ours;
    *machine = (struct spex_bench_machine){.cpus = 1};
#if !defined(__x86_64__)
    machine->invariant_ticks = true;
#endif
    gethostname(machine->host, sizeof(machine->host) - 1);
    ssize_t length =
        readlink("/proc/self/exe", machine->executable, sizeof(machine->executable) - 1);
    machine->executable[length > 0 ? length : 0] = '\0';
    spex_make_printable(machine->host);
    spex_make_printable(machine->executable);
    if (sched_getaffinity(0, sizeof(ours), &ours) == 0)
        machine->cpus = (unsigned)CPU_COUNT(&ours);
    read_processor(machine);
    if (read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", line, sizeof(line)))
        machine->scaling = strcmp(line, "performance") != 0;
    if (getloadavg(machine->load, 3) != 3)
        memset(machine->load, 0, sizeof(machine->load));
    for (int index = 0; index < SPEX_BENCH_CACHES_MAX; index++)
        read_cache(machine, index);
}

const char *spex_bench_machine_doubt(const struct spex_bench_machine *machine, size_t index,
                                     char *text, size_t size) {
    SPEX_PLAIN_NUMBERS;
    const bool doubts[] = {
        machine->scaling,
        machine->load[0] > LOAD_MOST * machine->cpus,
        machine->cpus == 1,
        !machine->invariant_ticks,
    };
    size_t doubt = 0;
    while (doubt < sizeof(doubts) / sizeof(doubts[0]) && (!doubts[doubt] || index--))
        doubt++;
    switch (doubt) {
    case 0:
        return "the frequency of the processor changes with its load (scaling governor)";
    case 1:
        snprintf(text, size, "other programs are running: a load of %.2f on %u CPU%s",
                 machine->load[0], machine->cpus, machine->cpus == 1 ? "" : "s");
        return text;
    case 2:
        return "there is one CPU, which other programs interrupt";
    case 3:
        return machine->virtual
                   ? "this virtual machine has no invariant time stamp counter: ticks are doubtful"
                   : "the time stamp counter is not invariant: ticks are doubtful";
    default:
        return NULL;
    }
}

/* Seconds of all processors since the machine has started: all, and those in which they worked.
 * In the file: user, nice, system, idle, iowait, irq, softirq, steal. */
static bool machine_seconds(double *all, double *busy) {
    enum { IDLE = 3, IOWAIT, FIGURES = 8 };
    SPEX_PLAIN_NUMBERS;
    char line[512];
    bool here = read_line("/proc/stat", line, sizeof(line)) && strncmp(line, "cpu ", 4) == 0;
    *all = *busy = 0;
    char *next = line + 4;
    for (int i = 0; here && i < FIGURES; i++) {
        double seconds = strtod(next, &next) / (double)sysconf(_SC_CLK_TCK);
        *all += seconds;
        *busy += i == IDLE || i == IOWAIT ? 0 : seconds;
    }
    return here;
}

static double used_seconds(int who) {
    struct rusage usage;
    getrusage(who, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

double spex_bench_others(void) {
    static double all_before = -1, others_before;
    double all, busy;
    if (!machine_seconds(&all, &busy))
        return 0;
    double others = busy - used_seconds(RUSAGE_SELF) - used_seconds(RUSAGE_CHILDREN);
    if (all_before < 0) {
        all_before = all;
        others_before = others;
    }
    return all > all_before ? fmax(others - others_before, 0) / (all - all_before) : 0;
}
