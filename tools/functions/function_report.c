/* SPDX-License-Identifier: MIT */
#include "tools/functions/function_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/table.h"
#include "tools/common/complain.h"
#include "tools/common/json.h"
#include "tools/common/profile_json.h"

static const char *state_text(const struct spex_program *program) {
    static const char *const texts[] = {"running", "ended", "replaced"};
    return texts[spex_program_state(program)];
}

static int print_json(const struct spex_function_watch *watch, FILE *file,
                      const struct spex_profile *profile) {
    json_t *json = spex_profile_json(profile);
    json_t *more = json_pack("{s:I, s:o, s:s, s:o}", "pid", (json_int_t)watch->program.process,
                             "command", spex_text_json(watch->program.command), "state",
                             state_text(&watch->program), "functions",
                             spex_functions_json(spex_attachment_functions(watch->attachment),
                                                 spex_attachment_costs(watch->attachment)));
    int err = !json || !more || json_object_update(more, json) != 0;
    json_decref(json);
    return spex_json_print(spex_json_unless(err, more), file);
}

static FILE *notes;

static void note(const char *line) {
    fprintf(notes, "%s\n", line);
}

/* Whether no function leaves records. */
static bool counts_alone(const struct spex_profile *profile) {
    for (size_t r = 0; r < profile->row_count; r++)
        if (profile->rows[r].probe.probe_type != SPEX_CNT)
            return false;
    return true;
}

/* Rows of functions that were on all the time and not called are left out if there are more of them. */
enum { ZEROS_MOST = 8 };

static bool is_zero(const struct spex_profile_row *row) {
    return row->probe.count <= 0 && row->probe.held_seconds <= 0;
}

/* Without memory all rows are told. Returns how many are left out; the rows that are left are to be freed. */
static size_t leave_out_zeros(struct spex_profile *profile) {
    size_t zeros = 0, left = 0;
    for (size_t r = 0; r < profile->row_count; r++)
        zeros += is_zero(&profile->rows[r]);
    struct spex_profile_row *rows =
        zeros > ZEROS_MOST ? calloc(profile->row_count, sizeof(*rows)) : NULL;
    if (!rows)
        return 0;
    for (size_t r = 0; r < profile->row_count; r++)
        if (!is_zero(&profile->rows[r]))
            rows[left++] = profile->rows[r];
    profile->rows = rows;
    profile->row_count = left;
    return zeros;
}

static int print_table(const struct spex_function_watch *watch, FILE *file,
                       const struct spex_profile *profile, bool verbose) {
    struct spex_table_look look = spex_table_look(file, verbose);
    struct spex_profile told = *profile;
    look.counts = counts_alone(profile);
    size_t zeros = leave_out_zeros(&told);
    notes = file;
    spex_table_print(file, &told, look);
    if (zeros) {
        fprintf(file, "%zu %s not called\n", zeros,
                told.row_count ? "others were" : "functions were");
        free((void *)told.rows);
    }
    spex_attachment_tell_refused(watch->attachment, true, note);
    spex_attachment_tell(watch->attachment, note);
    return 0;
}

int spex_function_report(const struct spex_function_watch *watch, struct spex_output_file *output,
                         bool json, bool verbose) {
    struct spex_profile profile;
    spex_attachment_end(watch->attachment, &profile);
    int err = json ? print_json(watch, output->file, &profile)
                   : print_table(watch, output->file, &profile, verbose);
    int closed = spex_output_file_close(output);
    err = err ? err : closed;
    return err ? spex_complain(SPEX_EXIT_FAILED, "%s: cannot write to %s: %s",
                               watch->request->command, output->name, strerror(-err))
               : SPEX_EXIT_OK;
}
