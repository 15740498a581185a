/* SPDX-License-Identifier: MIT */
#include "tools/functions/function_search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/complain.h"
#include "tools/common/json.h"
#include "tools/common/nearest.h"
#include "tools/common/process_argument.h"

int spex_called_process(const char *command, const char *text, pid_t *process) {
    enum { SHOWN = 8 };
    pid_t found[SHOWN];
    char list[SHOWN * 16] = "";
    if (!*text)
        return spex_complain(SPEX_EXIT_USAGE,
                             "%s: a process was expected, its number or its name, not \"\"",
                             command);
    if (spex_is_number(text))
        return spex_process_argument(command, text, process);
    size_t count = spex_programs_called(text, found, SHOWN);
    *process = count ? found[0] : 0;
    if (count == 1)
        return SPEX_EXIT_OK;
    if (count == 0)
        return spex_complain(SPEX_EXIT_FAILED, "%s: no process is called %s", command, text);
    for (size_t f = 0; f < count && f < SHOWN; f++)
        snprintf(list + strlen(list), sizeof(list) - strlen(list), " %d", (int)found[f]);
    return spex_complain(SPEX_EXIT_FAILED,
                         "%s: %zu processes are called %s: one of%s%s was expected", command, count,
                         text, list, count > SHOWN ? " …" : "");
}

static void tell_unreadable(void *user, const char *why) {
    (void)user;
    spex_complain(0, "%s", why);
}

/* Names are of a search that goes on: a nearer one is copied. */
static void look_at_name(void *user, const char *name, bool probe) {
    struct spex_wanted_search *wanted = user;
    for (size_t c = 0; c < wanted->choices->count; c++) {
        const char *typed = wanted->choices->items[c].name;
        if (!typed || wanted->choices->items[c].probe != probe || !wanted->nearest ||
            !wanted->distances)
            continue;
        struct spex_nearest nearest = spex_nearest_to(typed);
        if (wanted->nearest[c] && wanted->distances[c] < nearest.distance)
            nearest.distance = wanted->distances[c];
        spex_nearest_look(&nearest, name);
        if (!nearest.found)
            continue;
        free(wanted->nearest[c]);
        wanted->nearest[c] = strdup(name);
        wanted->distances[c] = nearest.distance;
    }
}

/* Without memory nothing is near. */
struct spex_function_search spex_wanted_search_of(struct spex_wanted_search *wanted,
                                                  const struct spex_function_choices *choices) {
    wanted->choices = choices;
    wanted->nearest = calloc(choices->count + 1, sizeof(*wanted->nearest));
    wanted->distances = calloc(choices->count + 1, sizeof(*wanted->distances));
    return (struct spex_function_search){wanted, tell_unreadable, look_at_name};
}

void spex_wanted_search_free(struct spex_wanted_search *wanted) {
    for (size_t c = 0; wanted->nearest && c < wanted->choices->count; c++)
        free(wanted->nearest[c]);
    free(wanted->nearest);
    free(wanted->distances);
}

/* Of a choice that names nothing. */
static void complain_of(const struct spex_function_choice *choice, const char *near) {
    const char *rest = choice->probe
                           ? ""
                           : "; spex probes PID --functions '*PART*' lists them, of a stripped "
                             "file those that it exports";
    spex_complain(0, "%s names no %s of the program and its libraries%s%s%s", choice->text,
                  choice->probe ? "probe" : "function", near ? "; did you mean " : "",
                  near ? near : "", near ? "?" : rest);
}

/* Whether an earlier choice is of the same objects. */
static bool is_said(const struct spex_function_choices *choices, size_t c) {
    for (size_t before = 0; before < c; before++)
        if (strcmp(choices->items[before].object, choices->items[c].object) == 0)
            return true;
    return false;
}

bool spex_wanted_search_complain(const struct spex_wanted_search *wanted,
                                 const struct spex_process_functions *functions, bool begins) {
    size_t without = 0;
    for (size_t c = 0; c < wanted->choices->count; c++) {
        const struct spex_function_choice *choice = &wanted->choices->items[c];
        bool later = begins && !functions->objects[c];
        if (functions->matches[c])
            continue;
        if (later && !is_said(wanted->choices, c))
            spex_complain(0, "%s is not loaded yet: its functions are looked at when it is",
                          choice->object);
        if (!later)
            complain_of(choice, wanted->nearest ? wanted->nearest[c] : NULL);
        without += !later;
    }
    return without == wanted->choices->count;
}

const char *spex_function_site(const struct spex_process_function *function) {
    if (function->moved)
        return spex_patches.name;
    return function->imports ? spex_slots.name : spex_uprobes.name;
}

static json_t *function_json(const struct spex_process_function *function,
                             const struct spex_hit_costs *costs) {
    const struct spex_placement *placement = &function->placement;
    const struct spex_place *entry = spex_process_function_entry(function);
    bool refused = *function->refused != '\0';
    return json_pack(
        "{s:o, s:s, s:I, s:o, s:I, s:s, s:s?, s:s?, s:s?, s:o, s:o, s:s?, s:s?}", "name",
        spex_text_json(function->name), "kind", function->site_count ? "usdt" : "function",
        "places", (json_int_t)(function->site_count ? function->site_count : 1), "object",
        spex_text_json(function->object), "address", (json_int_t)function->address, "site",
        spex_function_site(function), "instruction", refused ? NULL : spex_hit_name(entry->hit),
        "why", refused || !placement->why || !*placement->why ? NULL : placement->why, "counted",
        refused || !*function->rung ? NULL : function->rung, "into",
        json_integer((json_int_t)((function->moved ? placement->patch.address : entry->address) -
                                  function->address)),
        "cost_ns", refused ? json_null() : json_real(spex_function_cost_ns(function, costs)),
        "refused", refused ? function->refused : NULL, "untimed", placement->endless);
}

json_t *spex_functions_json(const struct spex_process_functions *functions,
                            const struct spex_hit_costs *costs) {
    json_t *json = json_array();
    int err = !json;
    for (size_t f = 0; !err && f < functions->count; f++)
        err = json_array_append_new(json, function_json(&functions->items[f], costs));
    return spex_json_unless(err, json);
}
