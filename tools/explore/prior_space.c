/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "tools/explore/prior_space.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files/whole_file.h"
#include "explore/prior.h"
#include "explore/space/space.h"
#include "tools/common/complain.h"
#include "tools/explore/set_space.h"

struct keeping {
    const char *space, *prior;
    char *path; /* where it is kept */
    struct spex_space_file *file;
};

/* The space's text with configurations of `of` to be tried first, before its end; to be freed. */
static int write_text(const struct keeping *keeping, const struct spex_space *of,
                      const size_t *levels, uint64_t count, char **text, struct spex_error *error) {
    const char *xml = keeping->file->xml, *end = NULL;
    for (const char *at = xml; (at = strstr(at, "</space")); at++)
        end = at;
    if (!end) /* in an encoding that is not read here */
        return spex_fail(error, -EINVAL, "%s: UTF-8 was expected with --prior", keeping->space);
    size_t size;
    FILE *out = open_memstream(text, &size);
    if (!out)
        return spex_fail(error, -ENOMEM, "out of memory");
    fwrite(xml, 1, (size_t)(end - xml), out);
    spex_set_space_write_first(of, levels, count, out);
    fputs(end, out);
    return fclose(out) ? spex_fail(error, -ENOMEM, "out of memory") : 0;
}

/* A comment may have had the end in it. */
static int check_text(const struct keeping *keeping, const char *text, uint64_t count,
                      struct spex_error *error) {
    struct spex_space_file *file = NULL;
    int err = spex_space_parse(keeping->space, text, &file, error);
    if (!err && file->space.first_count != count)
        err = spex_fail(error, -EINVAL, "%s: nothing after </space> was expected with --prior",
                        keeping->space);
    spex_space_free(file);
    return err;
}

static int begin(const struct keeping *keeping, struct spex_error *error) {
    const struct spex_space *space = &keeping->file->space;
    size_t *levels = calloc(SPEX_PRIOR_MOST * space->parameter_count, sizeof(*levels)), count = 0;
    char *text = NULL;
    int err = levels ? spex_prior_read(keeping->prior, space, levels, &count, error)
                     : spex_fail(error, -ENOMEM, "out of memory");
    err = err ? err : write_text(keeping, space, levels, count, &text, error);
    err = err ? err : check_text(keeping, text, count, error);
    err = err ? err : spex_whole_file_write(keeping->path, text, strlen(text), error);
    if (!err)
        fprintf(
            stderr,
            "spex: it begins with %zu configuration%s that were good in %s; the space with them "
            "is in %s\n",
            count, count == 1 ? "" : "s", keeping->prior, keeping->path);
    free(text);
    free(levels);
    return err;
}

/* Checks that the kept space is this one with something first. */
static int go_on(const struct keeping *keeping, struct spex_error *error) {
    struct spex_space_file *kept = NULL;
    char *text = NULL;
    int err = spex_space_read(keeping->path, &kept, error);
    err = err ? err
              : write_text(keeping, &kept->space, kept->space.first, kept->space.first_count, &text,
                           error);
    if (!err && strcmp(text, kept->xml) != 0)
        err =
            spex_fail(error, -EEXIST,
                      "%s is not %s with <first>; --store with the name of a new file was expected",
                      keeping->path, keeping->space);
    spex_space_free(kept);
    free(text);
    return err;
}

static bool same_file(const char *a, const char *b) {
    struct stat one, other;
    return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

static int keep(struct keeping *keeping, struct spex_error *error) {
    if (same_file(keeping->path, keeping->space))
        return spex_fail(error, -EINVAL,
                         "with --prior the space with <first> is kept beside the store, and %s is "
                         "the space: another --store was expected",
                         keeping->path);
    int err = spex_space_read(keeping->space, &keeping->file, error);
    if (!err && keeping->file->space.first_count)
        err = spex_fail(error, -EINVAL, "either --prior or <first> in %s was expected",
                        keeping->space);
    if (err)
        return err;
    return access(keeping->path, F_OK) == 0 ? go_on(keeping, error) : begin(keeping, error);
}

int spex_prior_space(const char *space, const char *store, const char *prior, char **kept) {
    struct spex_error error = {"out of memory"};
    struct keeping keeping = {.space = space, .prior = prior, .path = spex_set_space_path(store)};
    int err = keeping.path ? keep(&keeping, &error) : -ENOMEM;
    *kept = keeping.path;
    spex_space_free(keeping.file);
    if (err)
        return spex_complain(err == -EINVAL ? SPEX_EXIT_USAGE : SPEX_EXIT_FAILED, "explore: %s",
                             error.text);
    return SPEX_EXIT_OK;
}
