/* SPDX-License-Identifier: MIT */
/* spex_report(): reads a store and writes its findings in the forms that the options ask for, or
 * compares it with another store. The store is only read; it may belong to an exploration that
 * runs. */
#include "explore/report/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <spex/explore.h>

#include "base/files/whole_file.h"
#include "explore/picture/study_pictures.h"
#include "explore/report/report_compare.h"
#include "text/plain_numbers.h"

static int report_write_text(const struct spex_study *study, FILE *out, struct spex_error *error) {
    spex_report_text(study, out);
    if (fflush(out) != 0 || ferror(out))
        return spex_fail(error, -EIO, "cannot write the report: %s", strerror(errno));
    return 0;
}

/* Draws each picture that has a path. A space without what a picture needs is an error here, since
 * the user has asked for the picture by name. */
static int report_draw_pictures(const struct spex_report_options *options,
                                const struct spex_study *study, struct spex_error *error) {
    const struct {
        const char *path;
        struct spex_picture picture;
    } pictures[] = {
        {options->heatmap, {.name = "heatmap", .draw = spex_draw_heatmap, .subject = study}},
        {options->effects, {.name = "effects", .draw = spex_draw_effects, .subject = study}},
        {options->pareto, {.name = "pareto", .draw = spex_draw_pareto, .subject = study}},
        {options->convergence,
         {.name = "convergence", .draw = spex_draw_convergence, .subject = study}},
    };
    int err = 0;
    for (size_t p = 0; p < sizeof(pictures) / sizeof(pictures[0]) && !err; p++) {
        if (!pictures[p].path)
            continue;
        if (study->findings.best == SPEX_RANKING_NONE)
            return spex_fail(error, -ENODATA, "no trial has a result: there is nothing to draw");
        err = spex_picture_file(&pictures[p].picture, pictures[p].path, error);
    }
    return err;
}

/* Writes the page to a file that gets its name when it is complete. fclose closes a copy of the
 * descriptor, because spex_whole_file_end needs the file open. */
static int report_write_html(const struct spex_study *study, const char *path,
                             struct spex_error *error) {
    char *page = NULL;
    size_t size;
    FILE *out = open_memstream(&page, &size);
    int err = out ? spex_report_html(study, out, error) : -ENOMEM;
    if (!out || (fclose(out) != 0 && !err))
        err = spex_fail(error, -ENOMEM, "out of memory");
    err = err ? err : spex_whole_file_write(path, page, size, error);
    free(page);
    return err;
}

/* Text comes first: a user who lacks gnuplot has it all the same. */
static int report_write(const struct spex_report_options *options, const struct spex_study *study,
                        struct spex_error *error) {
    int err = options->text ? report_write_text(study, options->text, error) : 0;
    if (!err && options->json)
        err = spex_report_json(study, !options->without_trials, options->json, error);
    if (!err && options->csv)
        err = spex_report_csv(study, options->csv, error);
    err = err ? err : report_draw_pictures(options, study, error);
    if (!err && options->html)
        err = report_write_html(study, options->html, error);
    return err;
}

/* The caller frees `study`; the other store is read and freed here. */
static int compare_stores(const struct spex_report_options *options, const struct spex_study *study,
                          struct spex_error *error) {
    struct spex_study other;
    if (options->csv || options->heatmap || options->effects || options->pareto ||
        options->convergence || options->html)
        return spex_fail(error, -EINVAL, "two stores are compared as text or JSON only");
    int err = spex_study_read(&other, options->other, error);
    err = err ? err : spex_report_compare(study, &other, options->text, options->json, error);
    spex_study_free(&other);
    return err;
}

static int check_options(const struct spex_report_options *options, struct spex_error *error) {
    if (options->size != sizeof(*options) || !options->store)
        return spex_fail(error, -EINVAL, "spex_report: a store was expected");
    return 0;
}

int spex_report(const struct spex_report_options *options, char *text, size_t size) {
    SPEX_PLAIN_NUMBERS;
    struct spex_error error = {""};
    struct spex_study study = {.store = NULL};
    int err = check_options(options, &error);
    err = err ? err : spex_study_read(&study, options->store, &error);
    if (!err) {
        study.heatmap_x = options->heatmap_x;
        study.heatmap_y = options->heatmap_y;
        err = options->other ? compare_stores(options, &study, &error)
                             : report_write(options, &study, &error);
    }
    spex_study_free(&study);
    if (err)
        snprintf(text, size, "%s", error.text);
    return err;
}
