/* SPDX-License-Identifier: MIT */
#include "fleet/trials/trial_message.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/decide/parts.h"
#include "fleet/trials/trial_parts.h"
#include "measure/criterion.h"
#include "site/selection.h"
#include "text/printable.h"
#include "text/text_hash.h"

int spex_trial_key(const struct spex_space_file *file, char *const *argv,
                   char key[SPEX_CLASS_BYTES]) {
    char *identity = spex_space_identity(file);
    if (!identity)
        return -ENOMEM;
    uint64_t hash = spex_text_hash(SPEX_TEXT_HASH_BEGIN, identity);
    for (size_t a = 1; argv[a]; a++)
        hash = spex_text_hash(hash, argv[a]);
    snprintf(key, SPEX_CLASS_BYTES, "%016" PRIx64, hash);
    free(identity);
    return 0;
}

/* An empty class: none was chosen yet. */
char *spex_trial_offer_write(const struct spex_trial_offer *offer) {
    return spex_trial_json_text(json_pack(
        "{s:i, s:s, s:s, s:s*}", "format", SPEX_FLEET_FORMAT, "key", offer->key, "exploration",
        offer->fleet.exploration, "class", offer->fleet.class[0] ? offer->fleet.class : NULL));
}

static int fleet_read(const json_t *json, struct spex_store_fleet *fleet,
                      struct spex_error *error) {
    int err = spex_trial_name_read(json, "exploration", fleet->exploration, error);
    return err ? err : spex_trial_name_read(json, "class", fleet->class, error);
}

int spex_trial_offer_read(const char *text, size_t size, struct spex_trial_offer *offer,
                          struct spex_error *error) {
    json_t *json = spex_fleet_json_read(text, size, error);
    *offer = (struct spex_trial_offer){.key = ""};
    int err = json ? spex_trial_name_read(json, "key", offer->key, error) : -EINVAL;
    if (!err && !json_object_get(json, "class"))
        err = spex_trial_name_read(json, "exploration", offer->fleet.exploration, error);
    else if (!err)
        err = fleet_read(json, &offer->fleet, error);
    json_decref(json);
    return err;
}

char *spex_trial_worker_write(const struct spex_trial_worker *worker) {
    return spex_trial_json_text(json_pack("{s:i, s:I, s:s, s:o}", "format", SPEX_FLEET_FORMAT,
                                          "worker", (json_int_t)worker->id, "key", worker->key,
                                          "machine", spex_trial_machine_json(&worker->machine)));
}

int spex_trial_worker_read(const char *text, size_t size, struct spex_trial_worker *worker,
                           struct spex_error *error) {
    json_t *json = spex_fleet_json_read(text, size, error);
    *worker = (struct spex_trial_worker){.id = 0};
    int err = json ? spex_fleet_number_read(json, "worker", &worker->id, error) : -EINVAL;
    err = err ? err : spex_trial_name_read(json, "key", worker->key, error);
    err = err ? err : spex_trial_machine_read(json, &worker->machine, error);
    json_decref(json);
    return err;
}

char *spex_trial_task_write(const struct spex_trial_task *task, const struct spex_space *space) {
    return spex_trial_json_text(json_pack(
        "{s:i, s:s, s:s, s:o, s:o, s:s, s:f}", "format", SPEX_FLEET_FORMAT, "exploration",
        task->fleet.exploration, "class", task->fleet.class, "trial", spex_trial_id_json(&task->id),
        "levels", spex_trial_levels_json(space, task->plan.levels), "probes", task->plan.probes,
        "duration", task->plan.duration_seconds));
}

/* What goes into the environment of the program: a selection, and nothing else; nothing where a
 * command is measured without probes. */
static int probes_read(const json_t *json, const struct spex_space *space, char **probes,
                       struct spex_error *error) {
    const char *text = json_string_value(json_object_get(json, "probes"));
    struct spex_selection selection = {.items = NULL};
    bool none = spex_space_of_command(space);
    if (!text || (*text == '\0') != none || strlen(text) >= SPEX_TRIAL_PROBES_BYTES ||
        !spex_is_printable(text))
        return spex_fail(error, -EINVAL, "probes: a selection of probes was expected");
    int err = none ? 0 : spex_selection_parse(text, &selection, error);
    spex_selection_free(&selection);
    if (err)
        return err;
    *probes = strdup(text);
    return *probes ? 0 : spex_fail(error, -ENOMEM, "out of memory");
}

static int duration_read(const json_t *json, const struct spex_space *space, double *duration,
                         struct spex_error *error) {
    int err = spex_trial_real_read(json_object_get(json, "duration"), duration, error);
    if (err || (*duration > 0 && *duration <= space->rules.duration_seconds))
        return err;
    return spex_fail(error, -EINVAL, "duration: up to %g s were expected",
                     space->rules.duration_seconds);
}

int spex_trial_task_read(const char *text, size_t size, const struct spex_space *space,
                         struct spex_trial_task *task, struct spex_error *error) {
    char *probes = NULL;
    *task = (struct spex_trial_task){.plan = {.size = sizeof(task->plan)}};
    json_t *json = spex_fleet_json_read(text, size, error);
    int err = json ? fleet_read(json, &task->fleet, error) : -EINVAL;
    err = err ? err : spex_trial_id_read(json, &task->id, error);
    task->plan.levels = calloc(space->parameter_count + 1, sizeof(*task->plan.levels));
    if (!err && !task->plan.levels)
        err = spex_fail(error, -ENOMEM, "out of memory");
    err = err ? err : spex_trial_levels_read(json, space, task->plan.levels, error);
    err = err ? err : duration_read(json, space, &task->plan.duration_seconds, error);
    err = err ? err : probes_read(json, space, &probes, error);
    task->plan.probes = probes;
    json_decref(json);
    if (err)
        spex_trial_task_free(task);
    return err;
}

void spex_trial_task_free(struct spex_trial_task *task) {
    free((char *)(uintptr_t)task->plan.probes);
    free(task->plan.levels);
    *task = (struct spex_trial_task){.id = {0}};
}
