/* SPDX-License-Identifier: MIT */
/* Compares the figures of a thread during an anomaly with those before it, where they are those of
 * the anomaly: a short one shares its time between two samples with other executions, whose switches
 * and faults are not its own. A figure has changed
 * when it differs by a least amount and, unless it is a share of the time, by a least factor.
 * The changed figures name the cause by fixed rules, tried in order: see cause_interpret. */
#include "observe/causes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The least change of a share of the time, and the least factor between two frequencies. A
 * frequency must also differ by used_kinds[].least. */
#define SHARE_LEAST  0.05
#define FACTOR_LEAST 2.0

/* A thread that is on the CPU for at least this share of the time, with no other change,
 * computes. */
#define BUSY_SHARE 0.5

static const struct {
    const char *text;
    /* NULL: a share of the time. */
    const char *unit;
    /* The least change, in units a second. */
    double least;
} used_kinds[SPEX_USED_COUNT] = {
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
    return used_kinds[what].text;
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
        [SPEX_CAUSE_SHORT] = "too short for its thread's figures to say why",
    };
    return texts[cause];
}

/* A frequency must change by an amount and by a factor: a small amount is noise, and a small
 * factor is no cause. */
static bool used_has_changed(const struct spex_cause_found *found, int what) {
    double before = found->before.used[what], during = found->during.used[what];
    if (!used_kinds[what].unit)
        return fabs(during - before) >= SHARE_LEAST;
    return fabs(during - before) >= used_kinds[what].least &&
           fmax(during, before) >= FACTOR_LEAST * fmin(during, before);
}

static bool used_has_risen(const struct spex_cause_found *found, enum spex_used what) {
    return (found->changed >> what & 1) && found->during.used[what] > found->before.used[what];
}

static bool used_has_fallen(const struct spex_cause_found *found, enum spex_used what) {
    return (found->changed >> what & 1) && found->during.used[what] < found->before.used[what];
}

/* Whether the thread was less on the CPU though it ran and never gave it up: the kernel counts the
 * time that a thread waits for a CPU when it gets one, so that what is missing is such a wait. */
static bool is_pushed_aside(const struct spex_cause_found *found) {
    const struct spex_thread_use *during = &found->during;
    return used_has_fallen(found, SPEX_USED_CPU) && during->used[SPEX_USED_CPU] > 0 &&
           (during->known >> SPEX_USED_VOLUNTARY & 1) && during->used[SPEX_USED_VOLUNTARY] == 0;
}

/* Whether most of the time that the thread is less on the CPU is spent neither there nor waiting
 * for one. */
static bool mostly_blocked(const struct spex_cause_found *found) {
    const double *before = found->before.used, *during = found->during.used;
    double waits = during[SPEX_USED_WAIT] - before[SPEX_USED_WAIT];
    double blocked = before[SPEX_USED_CPU] - during[SPEX_USED_CPU] - waits;
    return used_has_fallen(found, SPEX_USED_CPU) && blocked > waits;
}

/* The order of the rules matters: a thread that waits for a CPU or for a page is also less on
 * the CPU, so that the more specific causes come first. */
static enum spex_cause cause_interpret(const struct spex_cause_found *found) {
    if (is_pushed_aside(found) ||
        ((used_has_risen(found, SPEX_USED_WAIT) || used_has_risen(found, SPEX_USED_INVOLUNTARY)) &&
         !mostly_blocked(found)))
        return SPEX_CAUSE_CPU_TAKEN;
    if (used_has_risen(found, SPEX_USED_MAJOR))
        return SPEX_CAUSE_PAGES_READ;
    if (used_has_fallen(found, SPEX_USED_CPU) || used_has_risen(found, SPEX_USED_VOLUNTARY))
        return SPEX_CAUSE_BLOCKED;
    if (used_has_risen(found, SPEX_USED_MINOR) || used_has_risen(found, SPEX_USED_MEMORY))
        return SPEX_CAUSE_MEMORY;
    if (used_has_risen(found, SPEX_USED_CPU) || found->during.used[SPEX_USED_CPU] >= BUSY_SHARE)
        return SPEX_CAUSE_COMPUTES;
    return SPEX_CAUSE_NONE;
}

/* The share of the time of the samples from which on their figures are those of the anomaly. */
#define OWN_SHARE 0.5

/* What an anomaly does for half of its time is its cause. Returns the one for which the thread has
 * had so much time between the samples, on the CPU, waiting for one, or neither; where it has had
 * it for several, these figures do not tell. A thread that has never given up the CPU has waited for
 * one for the rest, be it that the kernel has not counted the wait yet. */
static enum spex_cause cause_by_time(const struct spex_thread_use *during, double spent) {
    const uint32_t needed = 1u << SPEX_USED_CPU | 1u << SPEX_USED_WAIT | 1u << SPEX_USED_VOLUNTARY;
    double on = during->used[SPEX_USED_CPU] * during->seconds;
    double waits = during->used[SPEX_USED_WAIT] * during->seconds;
    double blocked = during->seconds - on - waits, half = spent / 2;
    if ((during->known & needed) != needed)
        return SPEX_CAUSE_SHORT;
    if (during->used[SPEX_USED_VOLUNTARY] == 0 && on > 0) {
        waits += blocked;
        blocked = 0;
    }
    if ((on >= half) + (waits >= half) + (blocked >= half) != 1)
        return SPEX_CAUSE_SHORT;
    return on >= half      ? SPEX_CAUSE_COMPUTES
           : waits >= half ? SPEX_CAUSE_CPU_TAKEN
                           : SPEX_CAUSE_BLOCKED;
}

/* Only figures that are known before and during the anomaly are compared. */
struct spex_cause_found spex_cause_of(const struct spex_thread_use *before,
                                      const struct spex_thread_use *during, double spent) {
    struct spex_cause_found found = {.before = *before, .during = *during};
    if (before->seconds == 0 || during->seconds == 0)
        return found;
    if (spent < OWN_SHARE * during->seconds) {
        found.cause = cause_by_time(during, spent);
        return found;
    }
    uint32_t known = before->known & during->known;
    /* The kernel counts these two in clock ticks, so that they differ from sample to sample without
     * a change of the program. */
    known &= ~(1u << SPEX_USED_USER | 1u << SPEX_USED_SYSTEM);
    for (int u = 0; u < SPEX_USED_COUNT; u++)
        if (known >> u & 1 && used_has_changed(&found, u))
            found.changed |= 1u << u;
    found.cause = cause_interpret(&found);
    return found;
}

/* "98 %", "1.5 MB/s" or "160/s". */
static void used_number_text(double value, const char *unit, char *text, size_t size) {
    if (!unit)
        snprintf(text, size, "%.0f %%", value * 100);
    else if (value >= 1e6)
        snprintf(text, size, "%.1f M%s", value / 1e6, unit + (*unit == ' '));
    else
        snprintf(text, size, "%.0f%s", value, unit);
}

/* Lists the changed figures in the order of enum spex_used. */
void spex_cause_changes(const struct spex_cause_found *found, char *text, size_t size) {
    size_t length = 0;
    text[0] = '\0';
    for (int u = 0; u < SPEX_USED_COUNT && length < size; u++) {
        char before[32], during[32];
        if (!(found->changed >> u & 1))
            continue;
        used_number_text(found->before.used[u], used_kinds[u].unit, before, sizeof(before));
        used_number_text(found->during.used[u], used_kinds[u].unit, during, sizeof(during));
        length += (size_t)snprintf(text + length, size - length, "%s%s %s → %s", length ? ", " : "",
                                   used_kinds[u].text, before, during);
    }
}
