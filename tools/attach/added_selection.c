/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "tools/attach/added_selection.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "observe/control_client.h"
#include "ring/probe_type.h"
#include "site/provider.h"
#include "tools/common/complain.h"

void spex_added_list_add(struct spex_added_list *list, const struct spex_profile_site *site,
                         bool mixed, const char *behind) {
    char probe[SPEX_PROBE_TEXT_BYTES], item[SPEX_PROBE_TEXT_BYTES + 48];
    spex_probe_selector(mixed ? site->provider : NULL, site->name,
                        spex_profile_id(site->probe_id, site->declared), probe, sizeof(probe));
    int length = snprintf(item, sizeof(item), "%s%s:%s%s", list->count ? "," : "+", probe,
                          spex_probe_type_name(site->probe_type), behind);
    char *grown = realloc(list->text, list->length + (size_t)length + 1);
    if (!grown) {
        list->err = -ENOMEM;
        return;
    }
    memcpy(grown + list->length, item, (size_t)length + 1);
    list->text = grown;
    list->length += (size_t)length;
    list->count++;
}

/* Makes the selection that switches off again the probes that were off before. 0 or -ENOMEM. */
static int selection_note_undo(struct spex_added_selection *added,
                               const struct spex_profile *before,
                               const struct spex_profile *after) {
    struct spex_added_list list = {.text = NULL};
    bool mixed = spex_profile_sites_mixed(after);
    for (size_t s = 0; s < before->site_count; s++) {
        const struct spex_profile_site *site = &before->sites[s];
        for (size_t a = s; a < after->site_count && site->loaded && !site->period; a++)
            if (after->sites[a].index == site->index && after->sites[a].period) {
                spex_added_list_add(&list, site, mixed, "@off");
                break;
            }
    }
    added->back = list.text;
    return list.err;
}

/* Prints the warning of an answer, such as that a selection matches no probe. */
static void answer_print(const struct spex_profile_reader *reader) {
    if (reader->text[0])
        fprintf(stderr, "spex: %s\n", reader->text);
}

/* Adds to the selection. Notes the selection before, after, and what undoes the change, for
 * the restoring. */
int spex_added_selection_make(struct spex_added_selection *added, pid_t process,
                              const char *selection, const struct spex_profile *before,
                              struct spex_error *error) {
    struct spex_profile_reader reader = {0};
    *added = (struct spex_added_selection){.process = process};
    memcpy(added->before, before->process.selection, sizeof(added->before));
    int err = spex_client_ask(process, SPEX_CONTROL_SELECT, selection, &reader, error);
    added->switched = !err;
    if (!err)
        answer_print(&reader);
    err = err ? err : spex_client_ask(process, SPEX_CONTROL_PROFILE, NULL, &reader, error);
    if (!err) {
        memcpy(added->after, reader.profile.process.selection, sizeof(added->after));
        if (selection_note_undo(added, before, &reader.profile))
            err = spex_fail(error, -ENOMEM, "out of memory");
    }
    spex_profile_reader_free(&reader);
    return err;
}

int spex_added_selection_make_of(struct spex_added_selection *added, pid_t process,
                                 const char *probes, const struct spex_profile *before,
                                 struct spex_error *error) {
    char *relative = NULL;
    if (asprintf(&relative, "%s%s", probes[0] == '+' ? "" : "+", probes) < 0)
        return spex_fail(error, -ENOMEM, "out of memory");
    int err = spex_added_selection_make(added, process, relative, before, error);
    free(relative);
    return err;
}

/* poll reports a pidfd as readable after the end of its process. */
static bool has_ended(int process_fd) {
    struct pollfd process = {.fd = process_fd, .events = POLLIN};
    return process_fd >= 0 && poll(&process, 1, 0) == 1;
}

/* Restores the selection. Where another client has changed it meanwhile, or it was too long for
 * the profile, only the probes that were added are switched off; also where another client leases
 * probes, which would end if the whole selection were replaced. A program that has ended needs no
 * restoring. */
static void selection_restore(const struct spex_added_selection *added, int process_fd) {
    struct spex_profile_reader reader = {0};
    struct spex_error error;
    int err = spex_client_ask(added->process, SPEX_CONTROL_PROFILE, NULL, &reader, &error);
    const char *now = reader.profile.process.selection, *to = added->before;
    if (!err && (strcmp(now, added->after) != 0 || strcmp(to, SPEX_PROFILE_LONG_SELECTION) == 0 ||
                 reader.profile.process.lease_seconds > 0))
        to = added->back;
    if (!err && to)
        err = spex_client_ask(added->process, SPEX_CONTROL_SELECT, to, &reader, &error);
    if (err && err != -ESRCH && !has_ended(process_fd))
        spex_complain(0, "the selection of process %d cannot be put back to \"%s\": %s",
                      (int)added->process, added->before, error.text);
    spex_profile_reader_free(&reader);
}

void spex_added_selection_restore(struct spex_added_selection *added, bool over, int process_fd) {
    if (added->switched && !over)
        selection_restore(added, process_fd);
    free(added->back);
    *added = (struct spex_added_selection){.process = 0};
}
