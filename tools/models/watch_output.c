/* SPDX-License-Identifier: MIT */
/* Prints anomalies and the account as text or as JSON Lines. Times are seconds of the command;
 * output->begin makes them times of day. */
#include "tools/models/watch_output.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "explore/report/json_parts.h"
#include "profile/columns.h"
#include "text/printable.h"
#include "text/quantity.h"

static const char *const event_names[] = {
    [SPEX_ANOMALY_BEGINS] = "begins",
    [SPEX_ANOMALY_ENDS] = "ends",
    [SPEX_ANOMALY_GOES_ON] = "goes on",
};

/* The local time of day, with milliseconds. */
static void print_time(const struct spex_watch_output *output, double seconds) {
    double at = output->begin + seconds;
    time_t whole = (time_t)floor(at);
    struct tm local;
    char text[32] = "";
    if (localtime_r(&whole, &local))
        strftime(text, sizeof(text), "%H:%M:%S", &local);
    fprintf(output->file, "%s.%03d", text, (int)((at - floor(at)) * 1000));
}

/* The duration as people read it. Returns `text`. */
static const char *duration_text(double seconds, char text[32]) {
    return spex_duration_text(seconds, text, 32);
}

/* A name of the models' file, which may have any bytes, as it is shown. */
static const char *shown(const char *name, char text[4096]) {
    snprintf(text, 4096, "%s", name);
    spex_make_printable(text);
    return text;
}

/* "report/sort(rows=1000)"; without `parameters`, "report/sort". */
static void print_kernel(FILE *file, const struct spex_anomaly *anomaly, bool parameters) {
    const struct spex_kernel_model *kernel = anomaly->kernel;
    char text[4096];
    fputs(shown(kernel->path, text), file);
    for (size_t p = 0; parameters && p < kernel->model.parameter_count; p++)
        fprintf(file, "%s%s=%.15g", p ? ", " : "(", shown(kernel->names[p], text),
                anomaly->parameters[p]);
    if (parameters && kernel->model.parameter_count)
        fputc(')', file);
}

/* The cause, and the figures that have changed. */
static void print_cause(FILE *file, const struct spex_cause_found *cause) {
    char changes[1024];
    spex_cause_changes(cause, changes, sizeof(changes));
    fprintf(file, "; %s%s%s\n", spex_cause_text(cause->cause), *changes ? ": " : "", changes);
}

/* What was measured and what was expected: the predicted time with its interval, if it has one. */
static void print_begin(FILE *file, const struct spex_anomaly *anomaly) {
    const struct spex_prediction *predicted = &anomaly->predicted;
    char took[32], low[32], high[32], value[32];
    print_kernel(file, anomaly, true);
    fprintf(file, ": %s instead of %s", duration_text(anomaly->seconds, took),
            duration_text(predicted->value, value));
    if (isfinite(predicted->high))
        fprintf(file, " (%s to %s)", duration_text(predicted->low, low),
                duration_text(predicted->high, high));
    fprintf(file, ", thread %u%s", anomaly->thread,
            anomaly->shift ? ", one execution after the other" : "");
}

/* A ratio to what was expected, which is known to some per cent. */
static const char *times_text(double ratio, char text[32]) {
    return spex_quantity_text(ratio, 0.05 * ratio, "", text, 32);
}

/* How long the anomaly lasted, and how long its executions took against the prediction. */
static void print_end(FILE *file, const struct spex_anomaly *anomaly) {
    char length[32], median[32], worst[32];
    print_kernel(file, anomaly, false);
    fprintf(file, ": after %s; %llu execution%s took %s times as long",
            duration_text(anomaly->end - anomaly->begin, length),
            (unsigned long long)anomaly->executions, anomaly->executions == 1 ? "" : "s",
            times_text(anomaly->median, median));
    if (anomaly->executions > 1)
        fprintf(file, ", %s times at worst", times_text(anomaly->worst, worst));
}

/* One line for an event, at the time when the anomaly began or had its last execution. */
static void event_print_text(const struct spex_watch_output *output, enum spex_anomaly_event event,
                             const struct spex_anomaly *anomaly,
                             const struct spex_cause_found *cause) {
    print_time(output, event == SPEX_ANOMALY_BEGINS ? anomaly->begin : anomaly->end);
    fprintf(output->file, "  %-7s  #%llu ", event_names[event],
            (unsigned long long)anomaly->number);
    if (event == SPEX_ANOMALY_BEGINS)
        print_begin(output->file, anomaly);
    else
        print_end(output->file, anomaly);
    print_cause(output->file, cause);
}

/* The parameters of the execution that raised the alarm. */
static json_t *parameters_json(const struct spex_anomaly *anomaly) {
    json_t *json = json_object();
    char text[4096];
    for (size_t p = 0; p < anomaly->kernel->model.parameter_count; p++)
        json_object_set_new(json, shown(anomaly->kernel->names[p], text),
                            spex_json_number(anomaly->parameters[p]));
    return json;
}

/* An array of the figures before and during the anomaly, for each figure that has changed. */
static json_t *changes_json(const struct spex_cause_found *cause) {
    json_t *json = json_object();
    for (int u = 0; u < SPEX_USED_COUNT; u++)
        if (cause->changed >> u & 1)
            json_object_set_new(json, spex_used_text((enum spex_used)u),
                                json_pack("[o,o]", spex_json_number(cause->before.used[u]),
                                          spex_json_number(cause->during.used[u])));
    return json;
}

/* Owns `json`. The stream keeps an error. */
static void print_json_line(FILE *file, json_t *json) {
    if (json)
        /* Seconds since 1970 have ten digits before the point. */
        json_dumpf(json, file, JSON_COMPACT | JSON_REAL_PRECISION(15));
    json_decref(json);
    fputc('\n', file);
}

/* All times are seconds; "time" is since the epoch. */
static void event_print_json(const struct spex_watch_output *output, enum spex_anomaly_event event,
                             const struct spex_anomaly *anomaly,
                             const struct spex_cause_found *cause) {
    json_t *json = json_pack(
        "{s:s, s:I, s:o, s:o, s:I, s:o, s:b, s:o, s:o, s:o, s:o, s:I, s:o, s:o, s:o, s:s, s:o}",
        "event", event_names[event], "number", (json_int_t)anomaly->number, "time",
        spex_json_number(output->begin + anomaly->begin), "kernel",
        spex_json_text(anomaly->kernel->path), "thread", (json_int_t)anomaly->thread, "parameters",
        parameters_json(anomaly), "shift", (int)anomaly->shift, "seconds",
        spex_json_number(anomaly->seconds), "predicted_seconds",
        spex_json_number(anomaly->predicted.value), "low_seconds",
        spex_json_number(anomaly->predicted.low), "high_seconds",
        spex_json_number(anomaly->predicted.high), "executions", (json_int_t)anomaly->executions,
        "lasted_seconds", spex_json_number(anomaly->end - anomaly->begin), "median_ratio",
        spex_json_number(anomaly->median), "worst_ratio", spex_json_number(anomaly->worst), "cause",
        spex_cause_text(cause->cause), "changes", changes_json(cause));
    print_json_line(output->file, json);
}

void spex_watch_output_event(const struct spex_watch_output *output, enum spex_anomaly_event event,
                             const struct spex_anomaly *anomaly,
                             const struct spex_cause_found *cause) {
    (output->json ? event_print_json : event_print_text)(output, event, anomaly, cause);
}

/* Executions that were not judged are counted by their reason. */
static void account_print_text(FILE *file, const struct spex_watch_account *account) {
    const struct spex_anomalies_account *judged = account->judged;
    fprintf(file,
            "%llu execution%s of %llu kernel%s judged in %.1f s: %llu anomalous, in %llu "
            "anomal%s\n",
            (unsigned long long)judged->judged, judged->judged == 1 ? "" : "s",
            (unsigned long long)judged->kernels, judged->kernels == 1 ? "" : "s", account->seconds,
            (unsigned long long)judged->anomalous, (unsigned long long)judged->anomalies,
            judged->anomalies == 1 ? "y" : "ies");
    if (judged->weight > (double)judged->judged)
        fprintf(file, "they stand for %.0f executions\n", judged->weight);
    for (int reason = SPEX_NO_MODEL; reason < SPEX_UNJUDGED; reason++)
        if (judged->unjudged[reason])
            fprintf(file, "not judged: %llu %s\n", (unsigned long long)judged->unjudged[reason],
                    spex_unjudged_text((enum spex_unjudged)reason));
    if (account->left_out)
        fprintf(file,
                "not judged: %llu whose time holds what was prepared meanwhile, or whose context "
                "had no room\n",
                (unsigned long long)account->left_out);
    if (account->lost)
        fprintf(file, "lost: %llu records\n", (unsigned long long)account->lost);
}

/* "not_judged" has the number of executions for each reason. */
static void account_print_json(FILE *file, const struct spex_watch_account *account) {
    static const char *const names[] = {[SPEX_NO_MODEL] = "no_model",
                                        [SPEX_OTHER_PARAMETERS] = "other_parameters",
                                        [SPEX_OUT_OF_RANGE] = "out_of_range"};
    const struct spex_anomalies_account *judged = account->judged;
    json_t *unjudged = json_object();
    for (int reason = SPEX_NO_MODEL; reason < SPEX_UNJUDGED; reason++)
        json_object_set_new(unjudged, names[reason],
                            json_integer((json_int_t)judged->unjudged[reason]));
    json_object_set_new(unjudged, "left_out", json_integer((json_int_t)account->left_out));
    print_json_line(
        file, json_pack("{s:s, s:o, s:I, s:o, s:I, s:I, s:I, s:o, s:I}", "event", "account",
                        "seconds", spex_json_number(account->seconds), "judged",
                        (json_int_t)judged->judged, "stand_for", spex_json_number(judged->weight),
                        "kernels", (json_int_t)judged->kernels, "anomalies",
                        (json_int_t)judged->anomalies, "anomalous", (json_int_t)judged->anomalous,
                        "not_judged", unjudged, "lost", (json_int_t)account->lost));
}

void spex_watch_output_account(const struct spex_watch_output *output,
                               const struct spex_watch_account *account) {
    if (output->json)
        account_print_json(output->file, account);
    else
        account_print_text(output->file, account);
}
