/* SPDX-License-Identifier: MIT */
#include "tools/models/changes_json.h"

#include "explore/report/json_parts.h"
#include "tools/common/json.h"

json_t *spex_changes_json(const struct spex_model *model, const char *const *names) {
    json_t *list = json_array();
    int err = !list;
    for (size_t c = 0; !err && c < model->change_count; c++) {
        const struct spex_model_change *change = &model->changes[c];
        err = json_array_append_new(list,
                                    json_pack("{s:o, s:f, s:[f, f]}", "parameter",
                                              spex_json_text(names[model->change_parameter]), "at",
                                              change->at, "interval", change->low, change->high));
    }
    return spex_json_unless(err, list);
}
