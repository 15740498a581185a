/* SPDX-License-Identifier: MIT */
/* `spex probes`: the sites of a program and the libraries it links, read from their files; or
 * of a process. A process is asked by its control socket. One that does not answer is listed
 * from the files that it has mapped. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "observe/control_client.h"
#include "observe/objects/elf_file.h"
#include "observe/objects/mapped_objects.h"
#include "observe/objects/object_sites.h"
#include "tools/common/command.h"
#include "tools/common/complain.h"
#include "tools/common/options.h"
#include "tools/common/process_argument.h"
#include "tools/functions/function_list.h"
#include "tools/list/live_list.h"
#include "tools/list/probe_list.h"
#include "tools/list/program_list.h"

static const char probes_usage[] =
    "usage: spex probes PROGRAM [--json] [--verbose]\n"
    "       spex probes PID [--json] [--verbose]\n"
    "       spex probes PID --functions [GLOB] [--json] [--verbose]\n"
    "\n"
    "The probes of a program and of the libraries it links, without running it; or\n"
    "those of a process and of the libraries it has loaded, with what they do at\n"
    "present. PROGRAM is a path; without a \"/\" it is looked for in PATH, as a shell\n"
    "does it, and then in this directory. A number is a process.\n"
    "\n"
    "  --functions  the functions of a process that `spex attach` can look at, all or\n"
    "               those whose names match GLOB: what a hit of each costs, at which\n"
    "               instruction, and why there\n"
    "  --json       the same as JSON\n"
    "  --verbose    all columns, however wide that is\n";

static const struct spex_syntax probes_syntax = {
    "probes", probes_usage, "one program or process was expected", 1, 2, SPEX_OPTIONS_ANYWHERE};

/* How a list is printed. */
struct form {
    bool json;
    bool all; /* of a table: however wide it is */
};

static int complain_error(int status, const struct spex_error *error) {
    return spex_complain(status, "%s", error->text);
}

static int out_of_memory(void) {
    return spex_complain(SPEX_EXIT_FAILED, "out of memory");
}

/* Says how the functions of a program are chosen, which are no probes until then. `named`: the
 * program or process. */
static void tell_of_functions(const char *named) {
    struct spex_error told = {.text = ""};
    spex_error_set(&told,
                   "%s has functions that can be made kernels when it starts: spex run --functions "
                   "'GLOB,…' -- PROGRAM (nm -C PROGRAM lists their names)",
                   named);
    complain_error(0, &told);
}

/* For spex_mapped_objects_visit. A mapped file with code that is no ELF object, such as one
 * that a compiler at run time has made, is skipped silently. */
static void list_add_mapped(void *user, const char *path, int fd, const char *unreadable) {
    struct spex_error error = {""};
    int err = -EIO;
    if (fd >= 0)
        err = spex_probe_list_add_object(user, path, fd, &error);
    else
        spex_error_set(&error, "%s", unreadable);
    if (err && err != -ENOEXEC)
        complain_error(0, &error);
}

/* The program of the list is the one that the process runs. */
static int list_set_process(struct spex_probe_list *list, pid_t pid) {
    char link[64], path[PATH_MAX + 1] = "";
    snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
    ssize_t length = readlink(link, path, sizeof(path) - 1);
    return spex_probe_list_set_program(list, length > 0 ? path : link);
}

/* Collects the sites of all files whose code the process has mapped. An exit status. */
static int list_collect_process(struct spex_probe_list *list, pid_t pid) {
    struct spex_error error = {""};
    if (spex_mapped_objects_visit(pid, list_add_mapped, list, &error) != 0)
        return complain_error(SPEX_EXIT_FAILED, &error);
    return list_set_process(list, pid) == 0 ? SPEX_EXIT_OK : out_of_memory();
}

/* `named`: the program or process, for messages. An empty list is a failure, but its JSON is
 * printed. */
static int list_show(const struct spex_probe_list *list, const char *named, struct form form) {
    struct spex_error none = {""};
    int err = 0;
    if (form.json)
        err = spex_probe_list_print_json(list, stdout);
    else if (list->site_count)
        err = spex_probe_list_print(list, form.all, stdout);
    if (err == -ENOMEM)
        return out_of_memory();
    if (err)
        return spex_complain(SPEX_EXIT_FAILED, "the probes cannot be written: %s", strerror(-err));
    if (list->functions)
        tell_of_functions(named);
    spex_error_set(&none, "%s has no %sprobes", named, list->functions ? "other " : "");
    return list->site_count ? SPEX_EXIT_OK : complain_error(SPEX_EXIT_FAILED, &none);
}

/* Lists a program from its file and those of its libraries. An exit status. */
static int list_program(const char *name, struct form form) {
    struct spex_probe_list list = {.program = NULL};
    int status = spex_probe_list_collect(&list, name);
    if (status == SPEX_EXIT_OK)
        status = list_show(&list, name, form);
    spex_probe_list_free(&list);
    return status;
}

/* Lists a process that does not answer, by the files that it has mapped. `why`: it does not. */
static int list_mapped(pid_t pid, const char *why, struct form form) {
    struct spex_probe_list list = {.program = NULL};
    char named[32];
    snprintf(named, sizeof(named), "process %d", (int)pid);
    int status = list_collect_process(&list, pid);
    spex_complain(0, "%s%s", why,
                  status == SPEX_EXIT_OK && list.site_count ? "; what follows is from its files"
                                                            : "");
    if (status == SPEX_EXIT_OK)
        status = list_show(&list, named, form);
    spex_probe_list_free(&list);
    return status;
}

/* A running program without probes, which may have functions. */
static int complain_of_process(pid_t pid) {
    char named[32], path[64];
    struct spex_error error;
    snprintf(named, sizeof(named), "process %d", (int)pid);
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    int fd = spex_regular_file_open(path, &error);
    struct spex_object_sites sites = {.functions = false};
    bool functions =
        fd >= 0 && spex_object_sites_read(fd, path, &sites, &error) == 0 && sites.functions;
    spex_object_sites_free(&sites);
    if (fd >= 0)
        close(fd);
    if (functions)
        tell_of_functions(named);
    return spex_complain(SPEX_EXIT_FAILED, "%s has no %sprobes", named, functions ? "other " : "");
}

/* `pid` is for messages. */
static int profile_show(const struct spex_profile *profile, pid_t pid, struct form form) {
    int err = form.json ? spex_live_list_print_json(profile, stdout) : 0;
    if (!form.json && profile->site_count)
        err = spex_live_list_print(profile, form.all, stdout);
    if (err == -ENOMEM)
        return out_of_memory();
    if (err)
        return spex_complain(SPEX_EXIT_FAILED, "the probes cannot be written: %s", strerror(-err));
    return profile->site_count ? SPEX_EXIT_OK : complain_of_process(pid);
}

/* A process without a control socket is listed from its files, which have no state and no
 * figures. */
static int list_process(pid_t pid, struct form form) {
    struct spex_profile_reader reader = {.without_values = true};
    struct spex_error error;
    int status, err = spex_client_ask(pid, SPEX_CONTROL_PROFILE, NULL, &reader, &error);
    if (err == -ESRCH) {
        status = spex_complain(SPEX_EXIT_FAILED, "%s", error.text);
    } else if (err) {
        status = list_mapped(pid, error.text, form);
    } else {
        status = profile_show(&reader.profile, pid, form);
    }
    spex_profile_reader_free(&reader);
    return status;
}

/* `what`: a process by its number, or a program. */
static int show_probes(const char *what, struct form form) {
    pid_t process;
    if (!spex_is_number(what))
        return list_program(what, form);
    int status = spex_process_argument("probes", what, &process);
    return status == SPEX_EXIT_OK ? list_process(process, form) : status;
}

int spex_command_probes(int argc, char **argv) {
    struct form form = {.json = false};
    bool functions = false;
    const struct spex_option known[] = {{"json", .flag = &form.json},
                                        {"functions", .flag = &functions},
                                        {"verbose", .flag = &form.all},
                                        {.name = NULL}};
    struct spex_operands operands;
    int status = spex_options_take(&probes_syntax, known, argc, argv, &operands);
    if (status)
        return status;
    if (functions)
        return spex_function_list(operands.list[0], operands.count > 1 ? operands.list[1] : "*",
                                  form.json, form.all);
    if (operands.count > 1)
        return spex_complain(SPEX_EXIT_USAGE, "probes: one program or process was expected, not %d",
                             operands.count);
    return show_probes(operands.list[0], form);
}
