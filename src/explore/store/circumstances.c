/* SPDX-License-Identifier: MIT */
/* Finds the circumstances from uname, /proc/cpuinfo, sysconf and the program's file. What cannot be
 * found is "unknown". All are texts, which are stored, shown and compared as they are. */
#define _GNU_SOURCE
#include "explore/store/circumstances.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <spex/version.h>

#include "explore/store/build_id.h"
#include "text/printable.h"
#include "text/text_hash.h"

const char *const spex_circumstance_names[SPEX_ON_COUNT] = {
    [SPEX_ON_HOST] = "host", [SPEX_ON_KERNEL] = "kernel", [SPEX_ON_CPU] = "cpu",
    [SPEX_ON_CPUS] = "cpus", [SPEX_ON_MEMORY] = "memory", [SPEX_ON_BUILD] = "build",
    [SPEX_ON_SPEX] = "spex",
};

/* The "model name" of the first processor. Architectures that call it otherwise get the machine's
 * name. */
static char *cpu_model(const char *machine) {
    char line[512];
    FILE *in = fopen("/proc/cpuinfo", "re");
    const char *found = machine;
    while (in && found == machine && fgets(line, sizeof(line), in)) {
        char *colon = strchr(line, ':');
        if (colon && strncmp(line, "model name", strlen("model name")) == 0) {
            colon[strcspn(colon, "\n")] = '\0';
            found = colon + 1 + (colon[1] == ' ');
        }
    }
    if (in)
        fclose(in);
    return strdup(found);
}

static char *format_number(const char *text, unsigned long number) {
    char *made = NULL;
    return asprintf(&made, text, number) < 0 ? NULL : made;
}

/* The CPUs that this process may use: the explored program inherits the mask. */
static char *cpu_count(void) {
    cpu_set_t ours;
    if (sched_getaffinity(0, sizeof(ours), &ours) < 0)
        return strdup("unknown");
    return format_number("%lu", (unsigned long)CPU_COUNT(&ours));
}

/* Physical memory, rounded to GiB. */
static char *memory_size(void) {
    long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
    if (pages < 0 || bytes < 0)
        return strdup("unknown");
    double gib = (double)pages * (double)bytes / (1 << 30);
    return format_number("%lu GiB", (unsigned long)(gib + 0.5));
}

/* Searches PATH as execvp does. */
static int find_in_path(const char *program, char *path, size_t size) {
    const char *list = getenv("PATH");
    for (const char *from = list ? list : "/bin:/usr/bin"; *from;) {
        size_t length = strcspn(from, ":");
        snprintf(path, size, "%.*s%s%s", (int)length, from, length ? "/" : "", program);
        if (access(path, X_OK) == 0)
            return 0;
        from += length + (from[length] == ':');
    }
    return -ENOENT;
}

/* Tells builds of a program without a build ID apart, such as a script. */
static char *size_and_time(int fd) {
    struct stat status;
    char *made = NULL;
    if (fstat(fd, &status) < 0)
        return strdup("unknown");
    if (asprintf(&made, "%lld bytes of %lld.%09ld", (long long)status.st_size,
                 (long long)status.st_mtim.tv_sec, status.st_mtim.tv_nsec) < 0)
        return NULL;
    return made;
}

/* The build ID of the file that execvp would run; NULL: out of memory. O_NONBLOCK: opening a FIFO
 * must not wait. */
static char *program_build(const char *program) {
    char path[4096];
    if (strchr(program, '/'))
        snprintf(path, sizeof(path), "%s", program);
    else if (find_in_path(program, path, sizeof(path)))
        return strdup("unknown");
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return strdup("unknown");
    char *id;
    if (spex_build_id(fd, &id) == 0 && !id)
        id = size_and_time(fd);
    close(fd);
    return id;
}

/* All are found before any is checked: freeing takes the texts that are there. */
int spex_circumstances_now(const char *program, struct spex_circumstances *now) {
    struct utsname names;
    bool named = uname(&names) == 0;
    *now = (struct spex_circumstances){
        .texts = {[SPEX_ON_HOST] = strdup(named ? names.nodename : "unknown"),
                  [SPEX_ON_KERNEL] = strdup(named ? names.release : "unknown"),
                  [SPEX_ON_CPU] = cpu_model(named ? names.machine : "unknown"),
                  [SPEX_ON_CPUS] = cpu_count(),
                  [SPEX_ON_MEMORY] = memory_size(),
                  [SPEX_ON_BUILD] = program_build(program),
                  [SPEX_ON_SPEX] = strdup(SPEX_VERSION)},
    };
    for (size_t c = 0; c < SPEX_ON_COUNT; c++) {
        if (!now->texts[c]) {
            spex_circumstances_free(now);
            return -ENOMEM;
        }
        spex_make_printable(now->texts[c]); /* as stores give them back */
    }
    return 0;
}

void spex_circumstances_free(struct spex_circumstances *circumstances) {
    for (size_t c = 0; c < SPEX_ON_COUNT; c++) {
        free(circumstances->texts[c]);
        circumstances->texts[c] = NULL;
    }
}

/* An unknown value is no difference. */
static bool same_or_unknown(const char *a, const char *b) {
    return strcmp(a, b) == 0 || strcmp(a, "unknown") == 0 || strcmp(b, "unknown") == 0;
}

/* Begins behind the host's name, which is not compared. */
size_t spex_circumstances_differ(const struct spex_circumstances *a,
                                 const struct spex_circumstances *b) {
    size_t c = SPEX_ON_KERNEL;
    while (c < SPEX_ON_COUNT && same_or_unknown(a->texts[c], b->texts[c]))
        c++;
    return c;
}

bool spex_circumstances_mixed(const struct spex_circumstances *machines, size_t count) {
    for (size_t m = 1; m < count; m++)
        if (spex_circumstances_differ(&machines[0], &machines[m]) != SPEX_ON_COUNT)
            return true;
    return false;
}

void spex_circumstances_class(const struct spex_circumstances *of, char name[SPEX_CLASS_BYTES]) {
    uint64_t hash = SPEX_TEXT_HASH_BEGIN;
    for (size_t c = SPEX_ON_KERNEL; c < SPEX_ON_COUNT; c++)
        hash = spex_text_hash(hash, of->texts[c]);
    snprintf(name, SPEX_CLASS_BYTES, "%016" PRIx64, hash);
}
