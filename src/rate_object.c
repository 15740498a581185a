/* SPDX-License-Identifier: MIT */
#include "rate_object.h"

#include <errno.h>

bool spex_rate_object_is_path(const char *text) {
    return spex_object_is_path(text);
}

static int check(const struct spex_rate_policy_ops *policy, struct spex_why *why) {
    int err = spex_rate_policy_check(policy);
    if (err == -ENOTSUP && policy->size < sizeof(*policy))
        return spex_fail(
            why, err, "a policy of %zu bytes was expected, as in this spex/rate_policy.h, not %zu",
            sizeof(*policy), policy->size);
    if (err == -ENOTSUP)
        return spex_fail(why, err,
                         "a policy of version %d of spex/rate_policy.h was expected, not %lu",
                         SPEX_RATE_POLICY_ABI, (unsigned long)policy->abi);
    if (err)
        return spex_fail(why, err,
                         "a policy with name, summary, workspace_size and decide was expected, and "
                         "both of combinations and combinations_workspace_size or none");
    return 0;
}

int spex_rate_object_open(struct spex_rate_object *object, const char *path, struct spex_why *why) {
    object->policy = NULL;
    int err =
        spex_object_open(&object->object, path, "spex_rate_policy", "SPEX_RATE_POLICY_OBJECT", why);
    if (err)
        return err;
    object->policy = object->object.found;
    err = check(object->policy, why);
    if (err)
        spex_rate_object_close(object);
    return err;
}

void spex_rate_object_close(struct spex_rate_object *object) {
    spex_object_close(&object->object);
    object->policy = NULL;
}
