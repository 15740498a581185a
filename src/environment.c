/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "environment.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "collector.h"
#include "counters/counters.h"
#include "message.h"

#include "../queues/rseq.h"

enum { RING_RECORDS_MAX = 1 << 24, BATCH_RECORDS_MAX = 4096 };

/* A number from the environment, if it is there; `*value` stays otherwise. */
static int read_number(const char *variable, unsigned *value) {
    const char *text = secure_getenv(variable);
    if (!text || !*text)
        return 0;
    char *end;
    errno = 0;
    unsigned long number = strtoul(text, &end, 10);
    if (errno || *end || text[0] < '0' || text[0] > '9' || number > RING_RECORDS_MAX) {
        spex_message("%s=%s: a number was expected", variable, text);
        return -EINVAL;
    }
    *value = (unsigned)number;
    return 0;
}

static int check_range(const char *what, unsigned value, unsigned low, unsigned high,
                       bool power_of_two) {
    if (value >= low && value <= high && !(power_of_two && (value & (value - 1))))
        return 0;
    spex_message("%s=%u: %s of %u to %u was expected", what, value,
                 power_of_two ? "a power of two" : "a number", low, high);
    return -EINVAL;
}

static const char *read_text(const char *variable, const char *otherwise) {
    const char *text = secure_getenv(variable);
    if (!text || !*text)
        text = otherwise;
    return text && *text ? text : NULL;
}

/* By name, or what is best here. */
static int read_commit(const char *otherwise, enum spex_commit *commit) {
    const char *text = read_text("SPEX_COMMIT", otherwise);
    if (!text)
        *commit = spex_rseq_available() ? SPEX_COMMIT_RSEQ : SPEX_COMMIT_ATOMIC;
    else if (strcmp(text, "atomic") == 0)
        *commit = SPEX_COMMIT_ATOMIC;
    else if (strcmp(text, "rseq") == 0 && spex_rseq_available())
        *commit = SPEX_COMMIT_RSEQ;
    else {
        spex_message("SPEX_COMMIT=%s: %s", text,
                     strcmp(text, "rseq") == 0 ? "this process has no restartable sequences"
                                               : "rseq or atomic was expected");
        return -EINVAL;
    }
    return 0;
}

/* Set-user-ID programs do not listen to their users. */
static void read_control(const char *otherwise, struct spex_settings *settings) {
    const char *text = read_text("SPEX_CONTROL", otherwise);
    settings->closed = getauxval(AT_SECURE) || (text && strcmp(text, "off") == 0);
    settings->control = settings->closed ? NULL : text;
}

static int read_forks(struct spex_settings *settings) {
    const char *text = read_text("SPEX_FORKS", NULL);
    settings->follow = text && strcmp(text, "follow") == 0;
    if (!text || settings->follow)
        return 0;
    spex_message("SPEX_FORKS=%s: \"follow\" was expected", text);
    return -EINVAL;
}

int spex_settings_read(const struct spex_options *options, struct spex_settings *settings) {
    const struct spex_options none = {.size = sizeof(none)};
    if (!options)
        options = &none;
    if (options->size != sizeof(*options)) {
        spex_message("spex_start: struct spex_options has %zu bytes here, not %zu",
                     sizeof(*options), options->size);
        return -EINVAL;
    }
    *settings = (struct spex_settings){
        .probes = read_text("SPEX_PROBES", options->probes),
        .out = read_text("SPEX_OUT", options->out),
        .collectors = options->collectors ? options->collectors : 1,
        .ring_records = options->ring_records ? options->ring_records : 8192,
        .batch_records = options->batch_records ? options->batch_records : 256,
        .ring_cpus = options->ring_cpus,
    };
    unsigned calibrate = !options->no_calibration;
    int err = read_number("SPEX_COLLECTORS", &settings->collectors);
    err = err ? err : read_number("SPEX_RING_RECORDS", &settings->ring_records);
    err = err ? err : read_number("SPEX_BATCH_RECORDS", &settings->batch_records);
    err = err ? err : read_number("SPEX_RING_CPUS", &settings->ring_cpus);
    err = err ? err : read_number("SPEX_CALIBRATE", &calibrate);
    err = err ? err : read_commit(options->commit, &settings->commit);
    err = err ? err : read_forks(settings);
    read_control(options->control, settings);
    settings->calibrate = calibrate;
    err = err ? err : check_range("SPEX_RING_CPUS", settings->ring_cpus, 0, 65535, false);
    err = err ? err : check_range("SPEX_CALIBRATE", calibrate, 0, 1, false);
    err = err ? err
              : check_range("SPEX_COLLECTORS", settings->collectors, 1, SPEX_MAX_COLLECTORS, false);
    err = err ? err
              : check_range("SPEX_RING_RECORDS", settings->ring_records, 2, RING_RECORDS_MAX, true);
    err = err ? err
              : check_range("SPEX_BATCH_RECORDS", settings->batch_records, 1, BATCH_RECORDS_MAX,
                            false);
    err = err ? err : spex_counters_allow(read_text("SPEX_COUNTERS", NULL));
    return err;
}
