/* SPDX-License-Identifier: MIT */
/* Any text as a file of models: refused with its line, or models that are written as they are
 * read. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "model/models.h"

static char *written(const struct spex_models *models, size_t *length) {
    char *text = NULL;
    FILE *out = open_memstream(&text, length);
    FUZZ_CHECK(out && spex_models_write(models, out) == 0);
    fclose(out);
    return text;
}

static int parse(const void *text, size_t size, struct spex_models *models,
                 struct spex_error *why) {
    FILE *in = fmemopen((void *)(uintptr_t)text, size, "r");
    FUZZ_CHECK(in);
    int err = spex_models_read(models, in, "models", why);
    fclose(in);
    return err;
}

static void check_model(const struct spex_kernel_model *kernel) {
    const struct spex_model *model = &kernel->model;
    FUZZ_CHECK(*kernel->path && model->term_count <= SPEX_MODEL_TERMS_MAX);
    FUZZ_CHECK(model->parameter_count <= SPEX_MODEL_PARAMETERS_MAX);
    for (size_t p = 0; p < model->parameter_count; p++)
        FUZZ_CHECK(*kernel->names[p] && kernel->low[p] <= kernel->high[p]);
    spex_model_predict(model, kernel->high);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct spex_models models, again;
    struct spex_error why = {""};
    size_t length, second;
    if (size == 0)
        return 0;
    int err = parse(data, size, &models, &why);
    FUZZ_CHECK(!err || (err == -EINVAL && strncmp(why.text, "models: line ", 13) == 0));
    for (size_t k = 0; k < models.count && !err; k++)
        check_model(&models.items[k]);
    if (!err) {
        char *text = written(&models, &length), *other;
        FUZZ_CHECK(parse(text, length, &again, &why) == 0);
        other = written(&again, &second);
        FUZZ_CHECK(length == second && memcmp(text, other, length) == 0);
        free(text);
        free(other);
        spex_models_free(&again);
    }
    spex_models_free(&models);
    return 0;
}

static const char with_a_term[] =
    "spex-models 3\nkernel main\nexecutions 3\nleast 1e-06\nparameters 2\nparameter 1 10 n\n"
    "parameter 0 4 m * 2\nclass linear\nadjusted-r2 0.99\nspread 0 0.1 7\nconstant 1e-06 "
    "1e-07\nchanges 0 0\n"
    "terms 1\nterm 0 2e-09 1e-10 12:0 0:1\ncovariance 1 2\ncovariance 2 3\npoints 0\nend 1\n";
static const char without[] =
    "spex-models 3\nkernel a\nexecutions 1\nleast 0\nparameters 0\nclass unknown\nadjusted-r2 -1\n"
    "spread 0 0 0\nconstant 5 0\nchanges 0 0\nterms 0\ncovariance 0\npoints 0\nend 1\n";
static const char with_points[] =
    "spex-models 3\nkernel a\nexecutions 1\nleast 0\nparameters 1\nparameter 1 9 n\nclass unknown\n"
    "adjusted-r2 -1\nspread 0 0 0\nconstant 5 0\nchanges 0 0\nterms 0\ncovariance 0\npoints "
    "2\npoint 1e-06 3 1\n"
    "point 2e-06 4 9\nend 1\n";
static const char with_changes[] =
    "spex-models 3\nkernel a\nexecutions 1\nleast 0\nparameters 1\nparameter 1 99 n\nclass "
    "decreasing\nadjusted-r2 1\nspread 0 0.1 9\nconstant 0 0\nchanges 2 0\nchange 9 8 10\n"
    "change 20 15 30\nterms 3\nterm 0 1 0 12:0\nterm 1 9 0 0:0\nterm 2 8 0 -12:0\n"
    "covariance 0 0 0 0\ncovariance 0 1 0 0\ncovariance 0 0 1 0\ncovariance 0 0 0 1\npoints 0\n"
    "end 1\n";
static const char *const seeds[] = {with_a_term, with_points, "spex-models 3\nend 0\n", without,
                                    with_changes};

size_t fuzz_seed(unsigned number, uint8_t *data, size_t room) {
    return fuzz_text_seed(seeds, sizeof(seeds) / sizeof(seeds[0]), number, data, room);
}

const char *const fuzz_words[] = {
    "kernel ",     "end ",     "term ",    "terms ",  "parameters ", "class ", "linear", "unknown",
    "\n",          " ",        "0",        "1",       "9",           "-1",     "1e999",  "nan",
    "inf",         "0x1p4",    "12:1",     ":",       "1e-300",      "main/",  "\t",     "\x1b",
    "covariance ", "spread 0", "changes ", "change ", "-12:0",       NULL};
