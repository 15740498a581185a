/* SPDX-License-Identifier: MIT */
/* Prints the account of `spex sample` as a table or as one JSON object. */
#include "tools/models/sample_output.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include <jansson.h>

#include "explore/report/json_parts.h"
#include "profile/columns.h"
#include "text/printable.h"
#include "text/quantity.h"

/* "-" for a kernel without a model. */
static const char *kernel_class_name(const struct spex_sampled_kernel *kernel) {
    return kernel->model ? spex_model_class_name(kernel->model->model.class) : "-";
}

/* The path comes from the program, and may have any bytes. */
static void kernel_add_path(struct spex_columns *columns, const char *path) {
    char text[SPEX_KERNEL_PATH_BYTES];
    snprintf(text, sizeof(text), "%s", path);
    spex_make_printable(text);
    spex_columns_add(columns, "%s", text);
}

/* "-" for a figure that is unknown: there are too few samples, or there is no model. */
static void kernel_add_row(struct spex_columns *columns, const struct spex_sampled_kernel *kernel) {
    double margin = spex_sampled_margin(kernel);
    char text[32];
    kernel_add_path(columns, kernel->path);
    spex_columns_add(columns, "%s", kernel_class_name(kernel));
    spex_columns_add(columns, "%.0f", kernel->executions);
    spex_columns_add(columns, "%.0f", spex_sampled_executions_margin(kernel));
    spex_columns_add(columns, "%.0f", spex_sampled_samples(kernel));
    spex_columns_add(columns, "%.0f", kernel->required);
    if (kernel->weight > 0)
        spex_columns_add(
            columns, "%s",
            spex_quantity_text(kernel->mean, margin >= 0 ? margin : NAN, "s", text, sizeof(text)));
    else
        spex_columns_add(columns, "-");
    if (margin >= 0)
        spex_columns_add(columns, "%s",
                         spex_quantity_text(margin, margin, "s", text, sizeof(text)));
    else
        spex_columns_add(columns, "-");
    if (kernel->predicted_weight > 0)
        spex_columns_add(columns, "%s",
                         spex_quantity_text(kernel->predicted, NAN, "s", text, sizeof(text)));
    else
        spex_columns_add(columns, "-");
}

/* How many kernels have half to twice the samples asked for. */
static size_t count_enough(const struct spex_sample_account *account) {
    size_t count = 0;
    for (size_t k = 0; k < account->count; k++)
        count += spex_sampled_enough(&account->kernels[k]);
    return count;
}

/* A table, and a line that tells how many kernels had enough samples. */
void spex_sample_print(const struct spex_sample_account *account, FILE *file) {
    static const char *const headings[] = {
        "kernel", "class", "executions", "±", "samples", "asked for", "mean", "±", "predicted"};
    struct spex_columns columns;
    spex_columns_init(&columns, headings, 9, 1u << 0 | 1u << 1);
    for (size_t k = 0; k < account->count; k++)
        kernel_add_row(&columns, &account->kernels[k]);
    spex_columns_print_within(&columns, file, &(struct spex_columns_room){.texts = 1});
    fprintf(file,
            "%.1f s; %zu of %zu kernels have half to twice the samples asked for, %g an "
            "execution; %llu records lost\n",
            account->seconds, count_enough(account), account->count, account->samples,
            (unsigned long long)account->lost);
}

/* null for a figure that is not known. */
static json_t *kernel_json(const struct spex_sampled_kernel *kernel) {
    double margin = spex_sampled_margin(kernel);
    return json_pack(
        "{s:o, s:s, s:o, s:o, s:o, s:I, s:I, s:o, s:b, s:o, s:o, s:o}", "kernel",
        spex_json_text(kernel->path), "class", kernel->model ? kernel_class_name(kernel) : "none",
        "executions", spex_json_number(kernel->executions), "executions_margin",
        spex_json_number(spex_sampled_executions_margin(kernel)), "looked_at",
        spex_json_number(kernel->looked_at), "looks", (json_int_t)kernel->looks, "records",
        (json_int_t)kernel->records, "required", spex_json_number(kernel->required), "enough",
        spex_sampled_enough(kernel), "mean_seconds",
        kernel->weight > 0 ? spex_json_number(kernel->mean) : json_null(), "margin_seconds",
        margin >= 0 ? spex_json_number(margin) : json_null(), "predicted_seconds",
        kernel->predicted_weight > 0 ? spex_json_number(kernel->predicted) : json_null());
}

/* 0, or -ENOMEM. Errors of writing stay in the stream. */
int spex_sample_print_json(const struct spex_sample_account *account, FILE *file) {
    json_t *kernels = json_array();
    for (size_t k = 0; k < account->count; k++)
        json_array_append_new(kernels, kernel_json(&account->kernels[k]));
    json_t *json = json_pack(
        "{s:o, s:o, s:I, s:I, s:o}", "seconds", spex_json_number(account->seconds), "samples",
        spex_json_number(account->samples), "enough", (json_int_t)count_enough(account), "lost",
        (json_int_t)account->lost, "kernels", kernels);
    int err =
        json && json_dumpf(json, file, JSON_COMPACT | JSON_REAL_PRECISION(SPEX_PLAIN_DIGITS)) == 0
            ? 0
            : -ENOMEM;
    json_decref(json);
    fputc('\n', file);
    return err;
}
