/* SPDX-License-Identifier: MIT */
/* Trials without a store, the scripts that pictures of them are drawn by, and what is in these. */
#ifndef SPEX_TEST_PICTURE_BENCH_H
#define SPEX_TEST_PICTURE_BENCH_H

#include <math.h>

#include "explore/findings/study.h"
#include "explore/picture/study_pictures.h"
#include "spaces.h"

#define OBJECTIVE "<objective probe='q:tpt' metric='throughput' goal='maximise'/>"

/* A study that needs no store. */
static inline void begin(struct spex_study *study, const char *xml) {
    *study = (struct spex_study){.file = space_of(xml)};
}

static inline void end(struct spex_study *study) {
    spex_findings_free(&study->findings);
    spex_summary_free(&study->summary);
    spex_trials_free(&study->trials);
    spex_space_free(study->file);
}

/* A trial; NAN as its first value stands for one that failed. */
static inline void add(struct spex_study *study, const size_t *levels, const double *values) {
    const struct spex_space *space = &study->file->space;
    struct spex_trial trial;
    assert_int_equal(spex_trial_init(&trial, space, levels), 0);
    trial.ok = !isnan(values[0]);
    trial.status = strdup(trial.ok ? "ok" : "no luck");
    trial.seconds = 2;
    for (size_t c = 0; c < space->criterion_count && trial.ok; c++)
        trial.measured[c] = (struct spex_measured){.value = values[c], .error = NAN};
    assert_int_equal(spex_trials_add(&study->trials, &trial), 0);
}

static inline void summarise(struct spex_study *study) {
    spex_summary_init(&study->summary, &study->file->space);
    for (size_t t = 0; t < study->trials.count; t++)
        assert_int_equal(spex_summary_add(&study->summary, &study->trials.items[t]), 0);
}

static inline void find(struct spex_study *study) {
    summarise(study);
    assert_int_equal(spex_findings_init(&study->findings, &study->summary, &study->trials), 0);
}

/* The script of a drawing, to be freed. */
static inline char *script_of(const struct spex_study *study, spex_drawing *draw, int err,
                              bool png) {
    static char *text;
    static size_t size;
    struct spex_error why = {""};
    struct spex_script script = {.out = open_memstream(&text, &size), .name = "p", .png = png};
    assert_int_equal(draw(study, &script, &why), err);
    fclose(script.out);
    return text;
}

static inline size_t times_in(const char *text, const char *part) {
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, part)); at++)
        count++;
    return count;
}

/* What follows the part in the script. */
static inline const char *after(const char *script, const char *part) {
    const char *at = strstr(script, part);
    if (!at)
        fail_msg("%s is not in\n%s", part, script);
    return at + strlen(part);
}

static inline void expect_once(const char *script, const char *part) {
    if (times_in(script, part) != 1)
        fail_msg("%zu times %s in\n%s", times_in(script, part), part, script);
}

/* The columns of a block of data, row by row; the number of rows. */
static inline size_t data_of(const char *script, const char *name, double *values, size_t columns) {
    char head[64];
    snprintf(head, sizeof(head), "$%s << EOD\n", name);
    const char *at = after(script, head);
    size_t rows = 0;
    for (; strncmp(at, "EOD\n", 4) != 0; rows++)
        for (size_t c = 0; c < columns; c++) {
            char *rest;
            values[rows * columns + c] = strtod(at, &rest);
            assert_ptr_not_equal(rest, at);
            at = rest + strspn(rest, " \n");
        }
    return rows;
}

/* The page, and what of it the panels take with the gaps between them; in pixels. */
struct layout {
    double width, height, left, right, bottom, top, gap_x, gap_y;
    double rows, columns;
};

static inline struct layout layout_of(const char *script) {
    struct layout layout;
    assert_int_equal(sscanf(after(script, " size "), "%lf,%lf", &layout.width, &layout.height), 2);
    assert_int_equal(
        sscanf(after(script, "multiplot layout "),
               "%lf,%lf rowsfirst margins screen %lf,%lf,%lf,%lf spacing screen %lf,%lf",
               &layout.rows, &layout.columns, &layout.left, &layout.right, &layout.bottom,
               &layout.top, &layout.gap_x, &layout.gap_y),
        8);
    layout.left *= layout.width, layout.right *= layout.width, layout.gap_x *= layout.width;
    layout.bottom *= layout.height, layout.top *= layout.height, layout.gap_y *= layout.height;
    return layout;
}

/* Labels and titles need about 60 pixels beside and between panels, and panels most of the rest. */
static inline void expect_layout(const char *script, double rows, double columns) {
    struct layout layout = layout_of(script);
    assert_true(layout.rows == rows && layout.columns == columns);
    assert_true(layout.left >= 60 && layout.left <= 100);
    assert_true(layout.bottom >= 60 && layout.bottom <= 100);
    assert_true(layout.width - layout.right >= 15 && layout.width - layout.right <= 130);
    assert_true(layout.height - layout.top >= 50 && layout.height - layout.top <= 80);
    assert_true(layout.gap_x >= 60 && layout.gap_x <= 100);
    assert_true(layout.gap_y >= 60 && layout.gap_y <= 100);
    double width = (layout.right - layout.left - (columns - 1) * layout.gap_x) / columns;
    double height = (layout.top - layout.bottom - (rows - 1) * layout.gap_y) / rows;
    assert_true(width >= 150 && height >= 90);
}

#endif
