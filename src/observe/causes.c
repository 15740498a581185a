/* SPDX-License-Identifier: MIT */
#include "observe/causes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A share of the time has changed by at least this; a frequency by a factor of 2 and so much a second. */
#define SHARE_LEAST  0.05
#define FACTOR_LEAST 2.0

/* One that is on the CPU so much, and has no other change, computes. */
#define BUSY 0.5

static const struct {
    const char *text;
    const char *unit; /* NULL: a share of the time */
    double least;     /* a second */
} used[SPEX_USED_COUNT] = {
    [SPEX_USED_CPU] = {"on the CPU", NULL, 0},
    [SPEX_USED_USER] = {"in the program", NULL, 0},
    [SPEX_USED_SYSTEM] = {"in the system", NULL, 0},
    [SPEX_USED_WAIT] = {"waiting for a CPU", NULL, 0},
    [SPEX_USED_MINOR] = {"minor faults", "/s", 200},
    [SPEX_USED_MAJOR] = {"major faults", "/s", 2},
    [SPEX_USED_VOLUNTARY] = {"voluntary switches", "/s", 3},
    [SPEX_USED_INVOLUNTARY] = {"involuntary switches", "/s", 20},
    [SPEX_USED_READ] = {"read", " B/s", 65536},
    [SPEX_USED_WRITTEN] = {"written", " B/s", 65536},
    [SPEX_USED_MEMORY] = {"memory grows by", " B/s", 1 << 20},
};

const char *spex_used_text(enum spex_used what) {
    return used[what].text;
}

const char *spex_cause_text(enum spex_cause cause) {
    static const char *const texts[] = {
        [SPEX_CAUSE_UNKNOWN] = "no figures of its thread",
        [SPEX_CAUSE_NONE] = "its thread's figures do not say why",
        [SPEX_CAUSE_CPU_TAKEN] = "another program takes the CPU",
        [SPEX_CAUSE_PAGES_READ] = "waits for pages that are read",
        [SPEX_CAUSE_BLOCKED] = "waits for I/O or a lock",
        [SPEX_CAUSE_MEMORY] = "page faults: memory grows (leak?)",
        [SPEX_CAUSE_COMPUTES] = "computes more, or caches miss",
    };
    return texts[cause];
}

static bool has_changed(const struct spex_cause_found *found, int what) {
    double before = found->before.used[what], during = found->during.used[what];
    if (!used[what].unit)
        return fabs(during - before) >= SHARE_LEAST;
    return fabs(during - before) >= used[what].least &&
           fmax(during, before) >= FACTOR_LEAST * fmin(during, before);
}

static bool has_risen(const struct spex_cause_found *found, enum spex_used what) {
    return (found->changed >> what & 1) && found->during.used[what] > found->before.used[what];
}

static bool has_fallen(const struct spex_cause_found *found, enum spex_used what) {
    return (found->changed >> what & 1) && found->during.used[what] < found->before.used[what];
}

static enum spex_cause interpret(const struct spex_cause_found *found) {
    if (has_risen(found, SPEX_USED_WAIT) || has_risen(found, SPEX_USED_INVOLUNTARY))
        return SPEX_CAUSE_CPU_TAKEN;
    if (has_risen(found, SPEX_USED_MAJOR))
        return SPEX_CAUSE_PAGES_READ;
    if (has_fallen(found, SPEX_USED_CPU) || has_risen(found, SPEX_USED_VOLUNTARY))
        return SPEX_CAUSE_BLOCKED;
    if (has_risen(found, SPEX_USED_MINOR) || has_risen(found, SPEX_USED_MEMORY))
        return SPEX_CAUSE_MEMORY;
    if (has_risen(found, SPEX_USED_CPU) || found->during.used[SPEX_USED_CPU] >= BUSY)
        return SPEX_CAUSE_COMPUTES;
    return SPEX_CAUSE_NONE;
}

struct spex_cause_found spex_cause_of(const struct spex_thread_use *before,
                                      const struct spex_thread_use *during) {
    struct spex_cause_found found = {.before = *before, .during = *during};
    if (before->seconds == 0 || during->seconds == 0)
        return found;
    uint32_t known = before->known & during->known;
    /* What is coarse would seem to change by itself. */
    known &= ~(1u << SPEX_USED_USER | 1u << SPEX_USED_SYSTEM);
    for (int u = 0; u < SPEX_USED_COUNT; u++)
        if (known >> u & 1 && has_changed(&found, u))
            found.changed |= 1u << u;
    found.cause = interpret(&found);
    return found;
}

static void number_text(double value, const char *unit, char *text, size_t size) {
    if (!unit)
        snprintf(text, size, "%.0f %%", value * 100);
    else if (value >= 1e6)
        snprintf(text, size, "%.1f M%s", value / 1e6, unit + (*unit == ' '));
    else
        snprintf(text, size, "%.0f%s", value, unit);
}

void spex_cause_changes(const struct spex_cause_found *found, char *text, size_t size) {
    size_t length = 0;
    text[0] = '\0';
    for (int u = 0; u < SPEX_USED_COUNT && length < size; u++) {
        char before[32], during[32];
        if (!(found->changed >> u & 1))
            continue;
        number_text(found->before.used[u], used[u].unit, before, sizeof(before));
        number_text(found->during.used[u], used[u].unit, during, sizeof(during));
        length += (size_t)snprintf(text + length, size - length, "%s%s %s → %s", length ? ", " : "",
                                   used[u].text, before, during);
    }
}
