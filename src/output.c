/* SPDX-License-Identifier: MIT */
#include "output.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "message.h"
#include "profile_source.h"
#include "table.h"

struct spex_output {
    char *path;     /* NULL: a standard stream */
    bool to_stdout; /* which of them */
};

/* A file that this process has emptied before, or its parent, keeps what is in it: tables come one after
 * another. */
static int file_prepare(struct spex_output *output, const char *out) {
    static char *emptied;
    FILE *file = fopen(out, "ae");
    if (!file) {
        int err = -errno;
        spex_message("SPEX_OUT: cannot open %s: %s", out, strerror(-err));
        return err;
    }
    output->path = realpath(out, NULL); /* the program may change its directory */
    if (output->path && (!emptied || strcmp(emptied, output->path) != 0)) {
        if (ftruncate(fileno(file), 0) != 0 && errno != EINVAL) /* which a device or pipe gives */
            spex_message("SPEX_OUT: cannot empty %s: %s", out, strerror(errno));
        free(emptied);
        emptied = strdup(output->path);
    }
    fclose(file);
    return output->path ? 0 : -errno;
}

int spex_output_open(const char *out, struct spex_output **output) {
    struct spex_output *made = calloc(1, sizeof(*made));
    if (!made)
        return -ENOMEM;
    made->to_stdout = out && strcmp(out, "-") == 0;
    int err = out && !made->to_stdout ? file_prepare(made, out) : 0;
    if (err)
        free(made);
    else
        *output = made;
    return err;
}

/* A file is open while it is written, and not before: the program may close descriptors that it
 * does not know, and use their numbers for files of its own. */
static FILE *file_begin(const struct spex_output *output) {
    if (output->path)
        return fopen(output->path, "ae");
    return output->to_stdout ? stdout : stderr;
}

static bool file_end(const struct spex_output *output, FILE *file) {
    bool good = fflush(file) == 0 && !ferror(file);
    if (output->path && fclose(file) != 0)
        good = false;
    return good;
}

void spex_output_finish(struct spex_output *output) {
    struct spex_profile profile;
    int err = spex_profile_now(&profile);
    FILE *file = err ? NULL : file_begin(output);
    if (file)
        spex_table_print(file, &profile);
    if (!file || !file_end(output, file))
        spex_message("SPEX_OUT: cannot write the table to %s: %s",
                     output->path ? output->path : "standard output", strerror(err ? -err : errno));
    if (!err)
        spex_profile_now_free(&profile);
    free(output->path);
    free(output);
}
