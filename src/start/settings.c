/* SPDX-License-Identifier: MIT */
/* Reads and checks the settings. For each of them the environment wins over the options of the
 * program, so that a user can change a program that he cannot build. The first wrong setting ends
 * the start with one line on standard error that names the variable and what was expected. Texts
 * are not copied here: they point into the environment and the options. */
#include "start/settings.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "collect/collector.h"
#include "counters/counters.h"
#include "kernels/sampling_plan.h"
#include "rate/budget.h"
#include "rate/occupancy_sampler.h"
#include "start/life_state.h"
#include "text/message.h"
#include "text/variables.h"

#include "policies/rate/rates.h"
#include "queues/commit_rseq.h"

/* Limits of settings that are not checked elsewhere. */
enum { RING_RECORDS_MAX = 1 << 24, BATCH_RECORDS_MAX = 4096 };

/* What they are when absent. RING_RECORDS_KEPT: where all records are kept, so that millions a
 * second are not lost while another program has the processor. A batch of records with two
 * values or less fits into one frame of the stream. */
enum { RING_RECORDS = 8192, RING_RECORDS_KEPT = 32768, BATCH_RECORDS = 2000 };

/* Whether all records go to a trace. */
static bool keeps_records(const char *out) {
    return out && (strncmp(out, SPEX_OUT_RECORD, strlen(SPEX_OUT_RECORD)) == 0 ||
                   strncmp(out, SPEX_OUT_TRACE, strlen(SPEX_OUT_TRACE)) == 0);
}

/* The settings that are numbers, and their ranges. */
static const struct number {
    enum spex_variable variable;
    unsigned offset; /* in struct spex_settings */
    unsigned low, high;
} numbers[] = {
    {SPEX_VARIABLE_COLLECTORS, offsetof(struct spex_settings, collectors), 1, SPEX_MAX_COLLECTORS},
    {SPEX_VARIABLE_PROBING, offsetof(struct spex_settings, probing), 1, SPEX_POLLING_HZ_MAX},
    {SPEX_VARIABLE_RING_RECORDS, offsetof(struct spex_settings, ring_records), 2, RING_RECORDS_MAX},
    {SPEX_VARIABLE_BATCH_RECORDS, offsetof(struct spex_settings, batch_records), 1,
     BATCH_RECORDS_MAX},
    {SPEX_VARIABLE_RING_CPUS, offsetof(struct spex_settings, ring_cpus), 0, 65535},
    {SPEX_VARIABLE_CALIBRATE, offsetof(struct spex_settings, calibrate), 0, 1},
    {SPEX_VARIABLE_VERBOSE, offsetof(struct spex_settings, verbose), 0, 1},
    {SPEX_VARIABLE_WAITS, offsetof(struct spex_settings, waits), 0, 1},
};

/* Reads a number from the environment; *value stays where the variable is not set. Signs and
 * spaces, which strtoul accepts, are refused. RING_RECORDS_MAX is the greatest number that any
 * setting allows. */
static int read_number(enum spex_variable variable, unsigned *value) {
    const char *text = spex_variable_text(variable);
    if (!text)
        return 0;
    char *end;
    errno = 0;
    unsigned long number = strtoul(text, &end, 10);
    if (errno || *end || text[0] < '0' || text[0] > '9' || number > RING_RECORDS_MAX) {
        spex_message("%s=%s: a number was expected", spex_variable_name(variable), text);
        return -EINVAL;
    }
    *value = (unsigned)number;
    return 0;
}

/* The message names the variable, also where the value is from the options. */
static int check_range(const struct number *number, unsigned value) {
    bool power_of_two = number->variable == SPEX_VARIABLE_RING_RECORDS;
    if (value >= number->low && value <= number->high && !(power_of_two && (value & (value - 1))))
        return 0;
    spex_message("%s=%u: %s of %u to %u was expected", spex_variable_name(number->variable), value,
                 power_of_two ? "a power of two" : "a number", number->low, number->high);
    return -EINVAL;
}

static int read_numbers(struct spex_settings *settings) {
    int err = 0;
    for (size_t n = 0; !err && n < sizeof(numbers) / sizeof(numbers[0]); n++) {
        unsigned *value = (void *)((char *)settings + numbers[n].offset);
        err = read_number(numbers[n].variable, value);
        err = err ? err : check_range(&numbers[n], *value);
    }
    return err;
}

/* Returns the environment's text, else the option's; NULL where there is none or it is empty. */
static const char *read_text(enum spex_variable variable, const char *otherwise) {
    const char *text = spex_variable_text(variable);
    if (!text)
        text = otherwise;
    return text && *text ? text : NULL;
}

/* Reads the way to commit records; the default is restartable sequences where the process has
 * them. */
static int read_commit(const char *otherwise, enum spex_commit *commit) {
    const char *text = read_text(SPEX_VARIABLE_COMMIT, otherwise);
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

/* Set-user-ID programs have no control socket: the user who runs one must not switch what executes
 * with another's rights. A relative path is refused because the program may change its
 * directory. */
static int read_control(const char *otherwise, struct spex_settings *settings) {
    const char *text = read_text(SPEX_VARIABLE_CONTROL, otherwise);
    settings->closed = getauxval(AT_SECURE) || (text && strcmp(text, "off") == 0);
    settings->control = settings->closed ? NULL : text;
    if (!settings->control || text[0] == '/')
        return 0;
    spex_message("SPEX_CONTROL=%s: an absolute path or \"off\" was expected", text);
    return -EINVAL;
}

/* Reads a budget such as "2%" as a share. `of`: what it is a share of, for the message. */
static int read_share(enum spex_variable variable, const char *otherwise, const char *of,
                      double *share) {
    const char *text = read_text(variable, otherwise);
    *share = 0;
    if (!text || spex_budget_parse(text, share))
        return 0;
    spex_message("%s=%s: a percentage of %s, above 0%% and up to 100%%, was expected, such as 2%%",
                 spex_variable_name(variable), text, of);
    return -EINVAL;
}

static int read_budgets(const struct spex_options *options, struct spex_settings *settings) {
    int err = read_share(SPEX_VARIABLE_BUDGET, options->budget, "the program's CPU time",
                         &settings->budget);
    return err ? err
               : read_share(SPEX_VARIABLE_THREAD_BUDGET, options->thread_budget, "a thread's time",
                            &settings->thread_budget);
}

/* A budget needs calibrated costs: what probes spend is their counts times these. */
static int check_budgets(const struct spex_settings *settings) {
    enum spex_variable variable =
        settings->budget > 0 ? SPEX_VARIABLE_BUDGET : SPEX_VARIABLE_THREAD_BUDGET;
    if (settings->calibrate || !(settings->budget > 0 || settings->thread_budget > 0))
        return 0;
    spex_message("%s: a budget cannot be kept with SPEX_CALIBRATE=0, which leaves costs unknown",
                 spex_variable_name(variable));
    return -EINVAL;
}

/* The object stays loaded until spex stops; the policy's functions and texts are in it. */
static int load_rate_policy(const char *path, struct spex_settings *settings) {
    struct spex_error error;
    if (spex_shared_object_open(&settings->rate_object, path, &spex_rate_object_kind, &error) !=
        0) {
        spex_message("SPEX_RATE_POLICY=%.200s: %s", path, error.text);
        return -EINVAL;
    }
    settings->rate_policy = settings->rate_object.found;
    return 0;
}

/* A text with a "/" is the path of an object; any other is the name of a built-in policy. */
static int read_rate_policy(const char *otherwise, struct spex_settings *settings) {
    const char *text = read_text(SPEX_VARIABLE_RATE_POLICY, otherwise);
    if (!text)
        text = "fair";
    if (spex_shared_object_is_path(text))
        return load_rate_policy(text, settings);
    settings->rate_policy = spex_builtin_rate_policy(text);
    if (settings->rate_policy)
        return 0;
    char names[SPEX_RATE_POLICY_NAMES];
    spex_rate_policy_names(names, sizeof(names));
    spex_message("SPEX_RATE_POLICY=%s: %s was expected, or the path of an object, with a \"/\"",
                 text, names);
    return -EINVAL;
}

static int read_samples(double otherwise, double *samples) {
    const char *text = read_text(SPEX_VARIABLE_SAMPLES, NULL);
    *samples = otherwise > 0 ? otherwise : SPEX_SAMPLES_DEFAULT;
    if (!text || spex_samples_parse(text, samples))
        return 0;
    spex_message("SPEX_SAMPLES=%s: a number of " SPEX_SAMPLES_RANGE " was expected", text);
    return -EINVAL;
}

/* The environment alone decides: there is no option for it. */
static int read_forks(struct spex_settings *settings) {
    const char *text = read_text(SPEX_VARIABLE_FORKS, NULL);
    settings->follow = text && strcmp(text, "follow") == 0;
    if (!text || settings->follow)
        return 0;
    spex_message("SPEX_FORKS=%s: \"follow\" was expected", text);
    return -EINVAL;
}

/* All values are read first and checked afterwards. An error closes the rate policy's object, which
 * may have been loaded by then. */
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
        .probes = read_text(SPEX_VARIABLE_PROBES, options->probes),
        .functions = read_text(SPEX_VARIABLE_FUNCTIONS, options->functions),
        .out = read_text(SPEX_VARIABLE_OUT, options->out),
        .handover = spex_descriptor_read(read_text(SPEX_VARIABLE_OUT_SOCKET, NULL)),
        .models = read_text(SPEX_VARIABLE_MODELS, options->models),
        .probing = SPEX_POLLING_HZ,
        .collectors = options->collectors ? options->collectors : 1,
        .ring_records = options->ring_records,
        .batch_records = options->batch_records ? options->batch_records : BATCH_RECORDS,
        .ring_cpus = options->ring_cpus,
        .calibrate = !options->no_calibration,
        .polls = options->polls,
        .waits = options->waits,
    };
    if (!settings->ring_records)
        settings->ring_records = keeps_records(settings->out) ? RING_RECORDS_KEPT : RING_RECORDS;
    int err = read_numbers(settings);
    err = err ? err : read_commit(options->commit, &settings->commit);
    err = err ? err : read_samples(options->samples, &settings->samples);
    err = err ? err : read_forks(settings);
    err = err ? err : read_budgets(options, settings);
    err = err ? err : read_rate_policy(options->rate_policy, settings);
    err = err ? err : read_control(options->control, settings);
    err = err ? err : check_budgets(settings);
    err = err ? err : spex_counters_allow(read_text(SPEX_VARIABLE_COUNTERS, NULL));
    if (err)
        spex_shared_object_close(&settings->rate_object);
    return err;
}
