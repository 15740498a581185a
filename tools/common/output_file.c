/* SPDX-License-Identifier: MIT */
#include "tools/common/output_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files/whole_file.h"
#include "tools/common/complain.h"

static int document_open(struct spex_output_file *output, const char *path) {
    int err = spex_whole_file_check(path);
    if (err)
        return err;
    output->path = path;
    output->file = open_memstream(&output->text, &output->size);
    return output->file ? 0 : -errno;
}

static int lines_open(struct spex_output_file *output, const char *path) {
    int fd = spex_line_file_open(path);
    if (fd < 0)
        return fd;
    output->file = fdopen(fd, "w");
    int err = output->file ? 0 : -errno;
    if (err)
        close(fd);
    return err;
}

int spex_output_file_open(struct spex_output_file *output, const char *path,
                          enum spex_output_kind kind, FILE *otherwise) {
    *output = (struct spex_output_file){.file = otherwise, .name = path};
    if (path && strcmp(path, "-") != 0)
        return kind == SPEX_OUTPUT_DOCUMENT ? document_open(output, path)
                                            : lines_open(output, path);
    if (path)
        output->file = stdout;
    output->name = output->file == stdout ? "standard output" : "standard error";
    return 0;
}

int spex_output_file_close(struct spex_output_file *output) {
    struct spex_error error;
    int err = spex_written(output->file);
    if (output->file != stdout && output->file != stderr && fclose(output->file) != 0 && !err)
        err = errno ? -errno : -EIO;
    if (output->path && !err)
        err = spex_whole_file_write(output->path, output->text, output->size, &error);
    free(output->text);
    output->text = NULL;
    output->file = NULL;
    return err;
}
