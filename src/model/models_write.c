/* SPDX-License-Identifier: MIT */
/* Writes models as lines of text; docs/models.md describes them, models_read.c reads them. */
#include "model/models.h"
#include "text/plain_numbers.h"

#include <errno.h>
#include <stdbool.h>

/* 17 digits give back the same double when they are read. */
#define NUMBER "%.17g"

static void write_changes(const struct spex_model *model, FILE *out) {
    fprintf(out, "changes %zu %zu\n", model->change_count, model->change_parameter);
    for (size_t c = 0; c < model->change_count; c++)
        fprintf(out, "change " NUMBER " " NUMBER " " NUMBER "\n", model->changes[c].at,
                model->changes[c].low, model->changes[c].high);
}

/* Writes the lines of a model, in the order in which models_read.c expects them. */
static void write_model(const struct spex_model *model, FILE *out) {
    fprintf(out, "class %s\n", spex_model_class_name(model->class));
    fprintf(out, "adjusted-r2 " NUMBER "\n", model->adjusted_r2);
    fprintf(out, "spread " NUMBER " " NUMBER " " NUMBER "\n", model->floor, model->share,
            model->freedom);
    fprintf(out, "constant " NUMBER " " NUMBER "\n", model->constant, model->constant_error);
    write_changes(model, out);
    fprintf(out, "terms %zu\n", model->term_count);
    for (size_t t = 0; t < model->term_count; t++) {
        const struct spex_model_term *term = &model->terms[t];
        fprintf(out, "term %u " NUMBER " " NUMBER, term->segment, term->coefficient, term->error);
        for (size_t p = 0; p < model->parameter_count; p++)
            fprintf(out, " %d:%u", term->factors[p].twelfths, term->factors[p].log);
        fputc('\n', out);
    }
    for (size_t a = 0; a <= model->term_count; a++) {
        fputs("covariance", out);
        for (size_t b = 0; b <= model->term_count; b++)
            fprintf(out, " " NUMBER, model->covariance[a][b]);
        fputc('\n', out);
    }
}

static void write_points(const struct spex_kernel_model *kernel, FILE *out) {
    fprintf(out, "points %zu\n", kernel->point_count);
    for (size_t i = 0; i < kernel->point_count; i++) {
        const struct spex_model_point *point = &kernel->points[i];
        fprintf(out, "point " NUMBER " " NUMBER, point->seconds, point->executions);
        for (size_t p = 0; p < kernel->model.parameter_count; p++)
            fprintf(out, " " NUMBER, point->values[p]);
        fputc('\n', out);
    }
}

/* Errors of single writes stay in `out`, and are asked for once at the end. */
int spex_models_write(const struct spex_models *models, FILE *out) {
    SPEX_PLAIN_NUMBERS;
    fprintf(out, "spex-models %d\n", SPEX_MODELS_VERSION);
    for (size_t k = 0; k < models->count; k++) {
        const struct spex_kernel_model *kernel = &models->items[k];
        fprintf(out, "kernel %s\n", kernel->path);
        fprintf(out, "executions " NUMBER "\n", kernel->executions);
        fprintf(out, "least " NUMBER "\n", kernel->least_seconds);
        fprintf(out, "parameters %zu\n", kernel->model.parameter_count);
        for (size_t p = 0; p < kernel->model.parameter_count; p++)
            fprintf(out, "parameter " NUMBER " " NUMBER " %s\n", kernel->low[p], kernel->high[p],
                    kernel->names[p]);
        write_model(&kernel->model, out);
        write_points(kernel, out);
    }
    fprintf(out, "end %zu\n", models->count);
    return ferror(out) ? -EIO : 0;
}
