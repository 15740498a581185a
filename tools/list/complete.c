/* SPDX-License-Identifier: MIT */
/* Operands for completion. Other programs of the user say how they and their probes are called: names
 * have been made printable where they were received, so each is one line. */
#include "tools/list/complete.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "observe/control_client.h"
#include "observe/process_place.h"
#include "observe/workers.h"
#include "tools/common/process_argument.h"

/* Commands whose first operand is a running program, by its number or its name too. */
static const struct {
    const char *name;
    bool by_name, probes_follow;
} of_programs[] = {
    {"dump", false, false}, {"probes", false, false}, {"serve", true, false},
    {"set", true, true},    {"top", true, false},
};

/* Milliseconds: somebody waits at the keyboard. */
enum { ANSWER_MS = 500 };

static void print_if(const char *text, const char *begun) {
    if (*text && strncmp(text, begun, strlen(begun)) == 0)
        puts(text);
}

static void print_programs(const char *begun, bool by_name) {
    pid_t *processes = NULL;
    long count = spex_processes_list(&processes);
    for (long p = 0; p < count; p++) {
        struct spex_process_place place;
        char number[16];
        if (spex_process_place(processes[p], &place) != 0)
            continue;
        snprintf(number, sizeof(number), "%d", (int)processes[p]);
        print_if(number, begun);
        if (by_name)
            print_if(place.command, begun);
        spex_process_place_free(&place);
    }
    free(processes);
}

/* Names of the probes that are there; a number where a probe has none. */
static void print_probes(pid_t process, const char *begun) {
    struct spex_profile_reader reader = {.without_values = true};
    struct spex_error error;
    struct spex_deadline until = spex_deadline_in(ANSWER_MS / 1e3);
    if (spex_client_ask_until(process, SPEX_CONTROL_PROFILE, NULL, &reader, until, &error) == 0)
        for (size_t s = 0; s < reader.profile.site_count; s++) {
            const struct spex_profile_site *site = &reader.profile.sites[s];
            char number[16];
            snprintf(number, sizeof(number), "%d",
                     (int)spex_profile_id(site->probe_id, site->declared));
            if (site->loaded)
                print_if(site->name[0] ? site->name : number, begun);
        }
    spex_profile_reader_free(&reader);
}

/* The first operand in front of the word that is typed; NULL: there is none yet. */
static const char *first_operand(int count, char *const *words) {
    for (int w = 0; w + 1 < count; w++)
        if (words[w][0] != '-')
            return words[w];
    return NULL;
}

void spex_complete_operand(const char *command, int count, char *const *words) {
    const char *typed = words[count - 1], *first = first_operand(count, words);
    for (size_t c = 0; c < sizeof(of_programs) / sizeof(*of_programs); c++) {
        if (strcmp(command, of_programs[c].name) != 0)
            continue;
        if (!first)
            print_programs(typed, of_programs[c].by_name);
        else if (of_programs[c].probes_follow && spex_is_number(first))
            print_probes((pid_t)strtol(first, NULL, 10), typed);
    }
}
