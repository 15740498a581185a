/* SPDX-License-Identifier: MIT */
/* Parts of messages that several have. */
#ifndef SPEX_FLEET_TRIALS_TRIAL_PARTS_H
#define SPEX_FLEET_TRIALS_TRIAL_PARTS_H

#include <jansson.h>

#include "fleet/trials/trial_message.h"

/* null where the value is not finite. */
json_t *spex_trial_real(double value);
json_t *spex_trial_levels_json(const struct spex_space *space, const size_t *levels);
json_t *spex_trial_id_json(const struct spex_trial_id *id);
json_t *spex_trial_machine_json(const struct spex_circumstances *machine);

/* The text of an object, which is released. Reals are read back as they were. */
char *spex_trial_json_text(json_t *json);

/* The name of a key, of an exploration or of a class: 16 hexadecimal digits. */
int spex_trial_name_read(const json_t *object, const char *name, char text[SPEX_CLASS_BYTES],
                         struct spex_error *error);
int spex_trial_id_read(const json_t *object, struct spex_trial_id *id, struct spex_error *error);

/* Fills in a level of each parameter: a configuration that the space has. */
int spex_trial_levels_read(const json_t *object, const struct spex_space *space, size_t *levels,
                           struct spex_error *error);
int spex_trial_machine_read(const json_t *object, struct spex_circumstances *machine,
                            struct spex_error *error);

/* A number, or null: NaN. */
int spex_trial_real_read(const json_t *json, double *value, struct spex_error *error);

#endif
