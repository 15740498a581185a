/* SPDX-License-Identifier: MIT */
/* `spex set`: sends a selection to a program, and prints how many sites are on. A selection
 * that matches no probe is a failure, although the program has taken it. */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "observe/control_client.h"
#include "site/selection.h"
#include "tools/common/command.h"
#include "tools/common/complain.h"
#include "tools/common/options.h"
#include "tools/common/process_argument.h"

static const char set_usage[] =
    "usage: spex set PID PROBES…\n"
    "\n"
    "Changes which probes of the running program PID are on.\n"
    "\n"
    "  spex set 4711 '*'               all\n"
    "  spex set 4711 query@100 parse   these, instead of those there are\n"
    "  spex set 4711 +query parse      these besides\n"
    "  spex set 4711 +query@off        without this one\n"
    "  spex set 4711 off               none\n"
    "\n"
    "`man spex_probes` has the syntax. Several arguments are joined by commas.\n";

static const struct spex_syntax set_syntax = {
    "set", set_usage, "a process and probes were expected", 2, INT_MAX, SPEX_OPTIONS_FIRST};

/* Joins the arguments by commas. Free the text; NULL: out of memory. */
static char *join_arguments(char *const *arguments, int count) {
    size_t size = 1;
    for (int i = 0; i < count; i++)
        size += strlen(arguments[i]) + 1;
    char *joined = malloc(size), *end = joined;
    for (int i = 0; joined && i < count; i++)
        end = stpcpy(i ? stpcpy(end, ",") : end, arguments[i]);
    return joined;
}

/* Whether the item matches a site that is loaded in the program. */
static bool item_matches(const struct spex_selection_item *item,
                         const struct spex_profile *profile) {
    for (size_t s = 0; s < profile->site_count; s++) {
        const struct spex_profile_site *site = &profile->sites[s];
        struct spex_selection_probe probe = {.provider = site->provider,
                                             .name = site->name[0] ? site->name : NULL,
                                             .file = site->file,
                                             .type = site->probe_type,
                                             .subsample = site->subsample,
                                             .id = spex_profile_id(site->probe_id, site->declared)};
        if (site->loaded && spex_selection_item_matches(item, &probe))
            return true;
    }
    return false;
}

/* Whether any item matches a probe. A text that only the spex of the program understands, which
 * may be of another release, counts as a match. */
static bool anything_matches(const char *text, const struct spex_profile *profile) {
    struct spex_selection selection;
    char why[256];
    if (spex_selection_parse(text, &selection, why, sizeof(why)) != 0)
        return true;
    bool matches = selection.count == 0;
    for (size_t i = 0; i < selection.count && !matches; i++)
        matches = item_matches(&selection.items[i], profile);
    spex_selection_free(&selection);
    return matches;
}

/* How many sites are loaded. A profile also has those of libraries that are gone. */
static unsigned sites_loaded(const struct spex_profile *profile) {
    unsigned loaded = 0;
    for (size_t s = 0; s < profile->site_count; s++)
        loaded += profile->sites[s].loaded != 0;
    return loaded;
}

/* Prints how many sites are on. `reader` has the answer to the selection, and is used for
 * another request. The number of all sites is left out when the program has ended meanwhile. */
static int print_selected(pid_t process, const char *text, struct spex_profile_reader *reader) {
    struct spex_error error;
    int on = reader->status;
    bool warned = reader->text[0] != '\0';
    if (warned)
        fprintf(stderr, "spex: %s\n", reader->text);
    if (spex_client_ask(process, SPEX_CONTROL_PROFILE, NULL, reader, &error) != 0) {
        printf("%d probe sites are on\n", on);
        return SPEX_EXIT_OK;
    }
    printf("%d of %u probe sites are on\n", on, sites_loaded(&reader->profile));
    return warned && !anything_matches(text, &reader->profile) ? SPEX_EXIT_FAILED : SPEX_EXIT_OK;
}

/* -EINVAL is the status of a selection that the program could not parse: an error of the
 * command line. The text of an answer may be longer than a struct spex_error holds. */
static int send_selection(pid_t process, const char *text) {
    struct spex_profile_reader reader = {0};
    struct spex_error error;
    int status, err = spex_client_ask(process, SPEX_CONTROL_SELECT, text, &reader, &error);
    const char *reason = reader.text[0] ? reader.text : error.text;
    if (err == -EINVAL)
        status = spex_complain(SPEX_EXIT_USAGE, "%s", reason);
    else if (err)
        status = spex_complain(SPEX_EXIT_FAILED, "%s", reason);
    else
        status = print_selected(process, text, &reader);
    spex_profile_reader_free(&reader);
    return status;
}

/* The selection is not parsed before it is sent: the program may know more than this release. */
int spex_command_set(int argc, char **argv) {
    const struct spex_option none[] = {{.name = NULL}};
    struct spex_operands operands;
    pid_t process;
    int status = spex_options_take(&set_syntax, none, argc, argv, &operands);
    status = status ? status : spex_process_argument("set", operands.list[0], &process);
    if (status)
        return status;
    char *text = join_arguments(operands.list + 1, operands.count - 1);
    if (!text)
        return spex_complain(SPEX_EXIT_FAILED, "out of memory");
    status = send_selection(process, text);
    free(text);
    return status;
}
