/* SPDX-License-Identifier: MIT */
/* Collects the sites of a program and its libraries. */
#define _GNU_SOURCE
#include "tools/list/program_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "observe/objects/elf_file.h"
#include "observe/objects/linked_objects.h"
#include "tools/common/complain.h"
#include "tools/common/find_program.h"

static int complain_error(int status, const struct spex_error *error) {
    return spex_complain(status, "%s", error->text);
}

/* Adds the sites of the object behind `fd`. 0, or a negative errno value with the reason. */
int spex_probe_list_add_object(struct spex_probe_list *list, const char *path, int fd,
                               struct spex_error *error) {
    struct spex_object_sites sites;
    int err = spex_object_sites_read(fd, path, &sites, error);
    list->functions |= !err && sites.functions;
    if (!err)
        err = spex_probe_list_add(list, path, &sites);
    if (err == -ENOMEM)
        spex_error_set(error, "out of memory");
    return err;
}

/* Adds the sites of the object at a path. 0, or a negative errno value with the reason. */
static int list_add_file(struct spex_probe_list *list, const char *path, struct spex_error *error) {
    int fd = spex_regular_file_open(path, error);
    if (fd < 0)
        return fd;
    int err = spex_probe_list_add_object(list, path, fd, error);
    close(fd);
    return err;
}

/* Reports libraries that cannot be found or read, and lists the others. */
static void list_add_libraries(struct spex_probe_list *list, const char *path) {
    struct spex_linked_objects objects;
    struct spex_error error = {""}, told = {""};
    int err = spex_linked_objects_find(path, &objects, &error);
    if (err) {
        spex_error_set(&told, "the libraries of %s were not looked at: %.300s", path, error.text);
        complain_error(0, &told);
    }
    for (size_t m = 0; m < objects.missing_count; m++) {
        spex_error_set(&told, "a library was not found: %s", objects.missing[m]);
        complain_error(0, &told);
    }
    for (size_t f = 0; f < objects.found_count; f++)
        if (list_add_file(list, objects.found[f], &error) != 0)
            complain_error(0, &error);
    spex_linked_objects_free(&objects);
}

/* An exit status. */
int spex_probe_list_collect(struct spex_probe_list *list, const char *name) {
    struct spex_error error = {""};
    int status = SPEX_EXIT_OK;
    char *path = spex_find_program(name);
    if (!path) {
        spex_error_set(&error, "%s was found neither in PATH nor in this directory", name);
        return complain_error(SPEX_EXIT_FAILED, &error);
    }
    if (spex_probe_list_set_program(list, path) != 0)
        status = spex_complain(SPEX_EXIT_FAILED, "out of memory");
    else if (list_add_file(list, path, &error) != 0)
        status = complain_error(SPEX_EXIT_FAILED, &error);
    else
        list_add_libraries(list, path);
    free(path);
    return status;
}
