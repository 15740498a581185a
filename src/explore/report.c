/* SPDX-License-Identifier: MIT */
#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <spex/explore.h>

#include "report_usage.h"

static uint64_t failed_trials(const struct spex_trials *trials, const char **first) {
    uint64_t failed = 0;
    for (size_t t = 0; t < trials->count; t++)
        if (!trials->items[t].ok && failed++ == 0)
            *first = trials->items[t].status;
    return failed;
}

/* What was not recorded was not counted. */
static void print_loss(const struct spex_criterion *objective, double share, FILE *out) {
    fprintf(out, "           %.2g %% were lost: the program made more than could be taken",
            share * 100);
    if (strcmp(objective->metric, "throughput") == 0)
        fputs(", and throughputs\n           are low by up to as much", out);
    fprintf(out, "; probe=\"%.*s@100\" records one in 100\n", (int)strcspn(objective->probe, "@"),
            objective->probe);
}

static void print_header(const struct spex_report_data *data, FILE *out) {
    const struct spex_space *space = &data->file->space;
    uint64_t used = 0, lost = 0;
    const char *reason = "";
    for (size_t t = 0; t < data->trials->count; t++) {
        used += data->trials->items[t].records_used;
        lost += data->trials->items[t].records_lost;
    }
    uint64_t failed = failed_trials(data->trials, &reason);
    fprintf(out, "space      %s: %" PRIu64 " configurations, %u trials each\n", space->name,
            spex_space_configurations(space), space->rules.trials_per_config);
    fprintf(out, "objective  %s %s of %s\n",
            space->criteria[0].goal == SPEX_MAXIMISE ? "maximise" : "minimise",
            space->criteria[0].metric, space->criteria[0].probe);
    fprintf(out, "trials     %zu over %zu configurations, by policy %s; %" PRIu64 " failed\n",
            data->trials->count, data->summary->count, spex_store_policy(data->store), failed);
    if (failed)
        fprintf(out, "           the first of them: %s\n", reason);
    fprintf(out, "records    %" PRIu64 " used, %" PRIu64 " lost\n", used, lost);
    if (lost)
        print_loss(space->criteria, (double)lost / (double)(used + lost), out);
}

static void print_group(const struct spex_report_data *data, const char *title,
                        const struct spex_group *group, FILE *out) {
    const struct spex_space *space = &data->file->space;
    char text[512];
    spex_levels_text(space, group->levels, text, sizeof(text));
    fprintf(out, "%-10s %.5g%s (%.5g to %.5g in %" PRIu64 " trial%s)  %s\n", title,
            group->criteria[0].mean, spex_criterion_unit(space->criteria), group->criteria[0].low,
            group->criteria[0].high, group->trials, group->trials == 1 ? "" : "s", text);
}

/* One row a thread count: the best over everything, then the best with each category. */
static void print_thread_row(const struct spex_report_data *data, size_t t, FILE *out) {
    const struct spex_space *space = &data->file->space;
    size_t threads = space->threads_parameter;
    fprintf(out, "%10s", space->parameters[threads].values[t].text);
    for (size_t p = space->parameter_count + 1; p-- > 0;) {
        size_t count = p == space->parameter_count ? 1 : space->parameters[p].count;
        if (p < space->parameter_count && space->parameters[p].kind != SPEX_CATEGORICAL)
            continue;
        for (size_t l = 0; l < count; l++) {
            const struct spex_group *best = spex_summary_best_of(data->summary, threads, t, p, l);
            if (best)
                fprintf(out, "  %20.5g", best->criteria[0].mean);
            else
                fprintf(out, "  %20s", "-");
        }
    }
    fputc('\n', out);
}

static void print_thread_header(const struct spex_space *space, FILE *out) {
    fprintf(out, "%10s  %20s", space->parameters[space->threads_parameter].name, "any");
    for (size_t p = space->parameter_count; p-- > 0;) {
        const struct spex_parameter *parameter = &space->parameters[p];
        for (size_t l = 0; l < parameter->count && parameter->kind == SPEX_CATEGORICAL; l++) {
            char title[64];
            snprintf(title, sizeof(title), "%s=%s", parameter->name, parameter->values[l].text);
            fprintf(out, "  %20s", title);
        }
    }
    fputc('\n', out);
}

static void print_condition(const struct spex_space *space, size_t fixed, size_t level, FILE *out) {
    if (fixed < space->parameter_count)
        fprintf(out, " with %s=%s", space->parameters[fixed].name,
                space->parameters[fixed].values[level].text);
}

/* The lowest and highest thread count with a result; false when there is none. */
static bool thread_range(const struct spex_report_data *data, size_t fixed, size_t level,
                         size_t *low, size_t *high) {
    size_t threads = data->file->space.threads_parameter;
    bool found = false;
    for (size_t t = 0; t < data->file->space.parameters[threads].count; t++) {
        if (!spex_summary_best_of(data->summary, threads, t, fixed, level))
            continue;
        *low = found ? *low : t;
        *high = t;
        found = true;
    }
    return found;
}

static void print_knee(const struct spex_report_data *data, size_t fixed, size_t level, FILE *out) {
    const struct spex_space *space = &data->file->space;
    const struct spex_parameter *threads = &space->parameters[space->threads_parameter];
    size_t knee = spex_summary_knee(data->summary, fixed, level);
    size_t low = 0, high = 0;
    if (!thread_range(data, fixed, level, &low, &high) || low == high)
        return;
    if (knee == threads->count) {
        fprintf(out, "more threads still help at %s=%s, the most tried", threads->name,
                threads->values[high].text);
        print_condition(space, fixed, level, out);
        fputc('\n', out);
        return;
    }
    fprintf(out, "more threads stop helping from %s=%s", threads->name, threads->values[knee].text);
    print_condition(space, fixed, level, out);
    fprintf(out, " (beyond it the best is less than %.0f %% better)\n", SPEX_KNEE_TOLERANCE * 100);
}

static void print_threads(const struct spex_report_data *data, FILE *out) {
    const struct spex_space *space = &data->file->space;
    size_t threads = space->threads_parameter;
    if (threads == space->parameter_count)
        return;
    fprintf(out, "\nbest %s by %s%s%s\n", space->criteria[0].metric,
            space->parameters[threads].name, *spex_criterion_unit(space->criteria) ? ", in " : "",
            spex_criterion_unit(space->criteria));
    print_thread_header(space, out);
    for (size_t t = 0; t < space->parameters[threads].count; t++)
        print_thread_row(data, t, out);
    fputc('\n', out);
    print_knee(data, space->parameter_count, 0, out);
    for (size_t p = space->parameter_count; p-- > 0;)
        for (size_t l = 0; l < space->parameters[p].count; l++)
            if (space->parameters[p].kind == SPEX_CATEGORICAL)
                print_knee(data, p, l, out);
}

void spex_report_text(const struct spex_report_data *data, FILE *out) {
    const struct spex_group *best =
        spex_summary_best(data->summary, data->file->space.parameter_count, 0);
    print_header(data, out);
    spex_report_notes(data->trials, out);
    if (!best) {
        fputs("no trial has a result\n", out);
        return;
    }
    print_group(data, "best", best, out);
    print_group(data, "worst", spex_summary_worst(data->summary), out);
    print_threads(data, out);
}

static int write_forms(const struct spex_report_options *options,
                       const struct spex_report_data *data, struct spex_why *why) {
    int err = 0;
    if (options->text) {
        spex_report_text(data, options->text);
        if (fflush(options->text) != 0)
            err = spex_fail(why, -EIO, "cannot write the report: %s", strerror(errno));
    }
    if (!err && options->json)
        err = spex_report_json(data, options->json, why);
    if (!err && options->heatmap)
        err = spex_report_heatmap(data, options->heatmap, why);
    return err;
}

static int read_store(const char *path, struct spex_store **store, struct spex_space_file **file,
                      struct spex_trials *trials, struct spex_why *why) {
    int err = spex_store_read(path, store, why);
    err = err ? err : spex_space_parse(path, spex_store_space(*store), file, why);
    return err ? err : spex_store_trials(*store, &(*file)->space, trials, why);
}

int spex_report(const struct spex_report_options *options, char *text, size_t size) {
    struct spex_why why = {"spex_report: a store was expected"};
    struct spex_store *store = NULL;
    struct spex_space_file *file = NULL;
    struct spex_trials trials = {NULL, 0};
    struct spex_summary summary = {0};
    int err = options->size == sizeof(*options) && options->store ? 0 : -EINVAL;
    err = err ? err : read_store(options->store, &store, &file, &trials, &why);
    if (!err)
        spex_summary_init(&summary, &file->space);
    for (size_t t = 0; t < trials.count && !err; t++)
        if (spex_summary_add(&summary, &trials.items[t]))
            err = spex_fail(&why, -ENOMEM, "out of memory");
    if (!err) {
        const struct spex_report_data data = {store, file, &trials, &summary};
        err = write_forms(options, &data, &why);
    }
    spex_summary_free(&summary);
    spex_trials_free(&trials);
    spex_space_free(file);
    spex_store_close(store);
    if (err)
        snprintf(text, size, "%s", why.text);
    return err;
}
