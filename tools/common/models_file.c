/* SPDX-License-Identifier: MIT */
/* Reads and writes files of models with the messages of a command. */
#include "tools/common/models_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/whole_file.h"
#include "text/printable.h"
#include "tools/common/complain.h"

/* A message may quote the file, which may have any bytes. */
int spex_models_file_read(const char *path, struct spex_models *models) {
    struct spex_error error = {""};
    FILE *in = fopen(path, "re");
    *models = (struct spex_models){.count = 0};
    if (!in)
        return spex_complain(SPEX_EXIT_FAILED, "%s: %s", path, strerror(errno));
    int err = spex_models_read(models, in, path, &error);
    fclose(in);
    spex_make_printable(error.text);
    return err ? spex_complain(SPEX_EXIT_FAILED, "%s", error.text) : SPEX_EXIT_OK;
}

/* spex_models_write needs a stream. The descriptor is duplicated for it, since
 * spex_whole_file_end still needs the original. */
int spex_models_file_write(const char *path, const struct spex_models *models) {
    struct spex_whole_file file;
    struct spex_error error;
    int err = spex_whole_file_begin(&file, path, &error);
    if (!err) {
        int copy = dup(file.fd);
        FILE *out = copy < 0 ? NULL : fdopen(copy, "w");
        err = out ? spex_models_write(models, out) : -ENOMEM;
        if (out && fclose(out) != 0 && !err)
            err = -errno;
        if (err)
            spex_error_set(&error, "%s: cannot be written: %s", path, strerror(-err));
        err = spex_whole_file_end(&file, err, &error);
    }
    return err ? spex_complain(SPEX_EXIT_FAILED, "%s", error.text) : SPEX_EXIT_OK;
}
