/* SPDX-License-Identifier: MIT */
/* Writes the trials of a study as CSV (RFC 4180: lines end in CR LF): a row for each trial in the
 * order in which trials finished, failed ones included. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "explore/report/report.h"
#include "measure/criterion.h"
#include "text/csv_cell.h"
#include "text/quantity.h"

/* Behind a comma. */
static void write_number(FILE *out, double value) {
    fputc(',', out);
    spex_csv_cell_number(out, value);
}

/* Names and values must be in the same order as in write_trial. */
static void write_names(const struct spex_space *space, FILE *out) {
    char label[512], error[530];
    fputs("trial,status", out);
    for (size_t p = 0; p < space->parameter_count; p++) {
        fputc(',', out);
        spex_csv_cell_text(out, space->parameters[p].name);
    }
    for (size_t c = 0; c < space->criterion_count; c++) {
        spex_criterion_label(&space->criteria[c], label, sizeof(label));
        snprintf(error, sizeof(error), "error of %s", label);
        fputc(',', out);
        spex_csv_cell_text(out, label);
        fputc(',', out);
        spex_csv_cell_text(out, error);
    }
    fputs(",records_used,records_lost,seconds,steady\r\n", out);
}

/* A parameter that does not apply has the text "-". */
static void write_trial(const struct spex_space *space, size_t number,
                        const struct spex_trial *trial, FILE *out) {
    fprintf(out, "%zu,", number);
    spex_csv_cell_text(out, trial->status);
    for (size_t p = 0; p < space->parameter_count; p++) {
        fputc(',', out);
        spex_csv_cell_text(out, spex_level_text(space, trial->levels, p));
    }
    for (size_t c = 0; c < space->criterion_count; c++) {
        write_number(out, trial->measured[c].value);
        write_number(out, trial->measured[c].error);
    }
    fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%.*g,%d\r\n", trial->records_used, trial->records_lost,
            SPEX_PLAIN_DIGITS, trial->seconds, trial->steady);
}

int spex_report_csv(const struct spex_study *study, FILE *out, struct spex_error *error) {
    const struct spex_space *space = &study->file->space;
    write_names(space, out);
    for (size_t t = 0; t < study->trials.count; t++)
        write_trial(space, t + 1, &study->trials.items[t], out);
    if (fflush(out) != 0 || ferror(out))
        return spex_fail(error, -EIO, "cannot write the table: %s", strerror(errno));
    return 0;
}
