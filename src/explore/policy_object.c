/* SPDX-License-Identifier: MIT */
#include "policy_object.h"

#include <errno.h>

static int check(const struct spex_policy_ops *policy, struct spex_why *why) {
    int err = spex_policy_check(policy);
    if (err == -ENOTSUP && policy->size < sizeof(*policy))
        return spex_fail(why, err,
                         "a policy of %zu bytes was expected, as in this spex/policy.h, not %zu",
                         sizeof(*policy), policy->size);
    if (err == -ENOTSUP)
        return spex_fail(why, err, "a policy of version %d of spex/policy.h was expected, not %lu",
                         SPEX_POLICY_ABI, (unsigned long)policy->abi);
    if (err)
        return spex_fail(why, err,
                         "a policy with name, summary, state_size, init and next was "
                         "expected");
    return 0;
}

int spex_policy_object_open(struct spex_policy_object *object, const char *path,
                            struct spex_why *why) {
    object->policy = NULL;
    int err = spex_object_open(&object->object, path, "spex_policy", "SPEX_POLICY_OBJECT", why);
    if (err)
        return err;
    object->policy = object->object.found;
    err = check(object->policy, why);
    if (err)
        spex_policy_object_close(object);
    return err;
}

void spex_policy_object_close(struct spex_policy_object *object) {
    spex_object_close(&object->object);
    object->policy = NULL;
}
