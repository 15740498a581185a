/* SPDX-License-Identifier: MIT */
/* Any text as a table of `spex fit`: refused with one line that says where, or measurements with a
 * model whose figures are finite. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "fuzz.h"
#include "text/printable.h"
#include "tools/models/fit_table.h"

enum { ROWS_FITTED = 200 };

static void check_model(const struct spex_fit_table *table, const struct spex_model *model) {
    char text[1024];
    FUZZ_CHECK(isfinite(model->constant) && model->constant >= 0);
    FUZZ_CHECK(model->term_count <= SPEX_MODEL_TERMS_MAX);
    for (size_t t = 0; t < model->term_count; t++)
        FUZZ_CHECK(model->terms[t].coefficient > 0 && isfinite(model->terms[t].coefficient));
    spex_model_text(model, table->names, text, sizeof(text));
    FUZZ_CHECK(spex_is_printable(text));
    struct spex_prediction prediction = spex_model_predict(model, table->parameters);
    FUZZ_CHECK(prediction.low >= 0 && prediction.high >= prediction.value);
}

static void check_table(const struct spex_fit_table *table) {
    struct spex_fit fit;
    FUZZ_CHECK(table->measured.count >= 1);
    for (size_t p = 0; p < table->measured.parameter_count; p++)
        FUZZ_CHECK(*table->names[p] && spex_is_printable(table->names[p]));
    if (table->measured.count > ROWS_FITTED)
        return;
    int err = spex_fit(&table->measured, &fit);
    FUZZ_CHECK(err == 0 || err == -ERANGE);
    if (err)
        return;
    check_model(table, &fit.model);
    double beyond[SPEX_MODEL_PARAMETERS_MAX];
    for (size_t p = 0; p < table->measured.parameter_count; p++)
        beyond[p] = 4 * fit.greatest[p] + 1;
    struct spex_prediction prediction = spex_fit_predict(&fit, beyond);
    FUZZ_CHECK(isfinite(fit.power_error) && fit.power_error >= 0);
    FUZZ_CHECK(prediction.low >= 0 && prediction.high >= prediction.value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct spex_fit_table table;
    struct spex_csv csv;
    struct spex_error why = {""};
    int err = spex_csv_parse(&csv, "table", fuzz_text(data, size), size, &why);
    if (!err)
        err = spex_fit_table_make(&table, &csv, &why);
    if (err) {
        FUZZ_CHECK(err == -EINVAL && strncmp(why.text, "table:", 6) == 0);
        return 0;
    }
    check_table(&table);
    spex_fit_table_free(&table);
    return 0;
}

static const char *const seeds[] = {
    "n,rep,time\n100,1,1e-3\n100,2,1.1e-3\n200,1,2e-3\n300,1,3.1e-3\n400,1,4e-3\n500,1,5e-3\n",
    "a,b,time\n1,1,1\n1,2,2\n1,4,4\n2,1,2\n2,2,4\n2,4,8\n4,1,4\n4,2,8\n4,4,16\n",
    "time\n1\n2\n",
    "n,time\n0,0\n1,1\n2,4\n3,9\n4,16\n5,25\n",
};

size_t fuzz_seed(unsigned number, uint8_t *data, size_t room) {
    return fuzz_text_seed(seeds, sizeof(seeds) / sizeof(seeds[0]), number, data, room);
}

const char *const fuzz_words[] = {"n",    "rep",   "time",    ",",      "\n",    "\r\n", "\"",
                                  "0",    "1",     "1e300",   "1e-300", "1e999", "-1",   "nan",
                                  "0.5",  "1e-9",  "n,n",     "5,5\n",  "=",     "\x1b", "\xc3\xa9",
                                  "1e15", "1e-15", "7,7,7\n", NULL};
