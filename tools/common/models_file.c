/* SPDX-License-Identifier: MIT */
/* Reads and writes files of models with the messages of a command. */
#include "tools/common/models_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files/whole_file.h"
#include "tools/common/complain.h"

int spex_models_file_read(const char *path, struct spex_models *models) {
    struct spex_error error = {""};
    int err = spex_models_read_file(models, path, SPEX_FILE_ANY, &error);
    return err ? spex_complain(SPEX_EXIT_FAILED, "%s", error.text) : SPEX_EXIT_OK;
}

int spex_models_file_write(const char *path, const struct spex_models *models) {
    struct spex_error error = {"out of memory"};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    int err = out ? spex_models_write(models, out) : -ENOMEM;
    if (out && fclose(out) != 0)
        err = -ENOMEM;
    err = err ? err : spex_whole_file_write(path, text, size, &error);
    free(text);
    return err ? spex_complain(SPEX_EXIT_FAILED, "%s", error.text) : SPEX_EXIT_OK;
}
