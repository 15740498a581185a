/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fleet/link/link_options.h"
#include "tools/common/complain.h"
#include "tools/fleet/fleet.h"
#include "tools/fleet/fleet_ask.h"

/* For an answer. */
enum { ANSWER_MS = 5000 };

const char spex_fleet_usage[] =
    "usage: spex fleet check POLICY.xml [PROGRAM] [--json]\n"
    "       spex fleet simulate POLICY.xml [PROGRAM] --instances N [OPTIONS] [--json]\n"
    "       spex fleet master POLICY.xml --nats URL [--hook COMMAND] [--store FILE]\n"
    "                  [--json]\n"
    "       spex fleet status --fleet NAME --nats URL [--instance INSTANCE]\n"
    "                  [--json] [--verbose]\n"
    "       spex fleet history FILE [--from TIME] [--to TIME] [--json] [--verbose]\n"
    "       spex fleet models [MODELS] --fleet NAME --nats URL [--class CLASS]\n"
    "                  [--json]\n"
    "       spex fleet why INSTANCE --fleet NAME --nats URL [--json]\n"
    "\n"
    "The policy of a fleet says which probes are wanted and what the service and its\n"
    "price must keep. check tells what it means, and which probes of PROGRAM it\n"
    "covers. simulate runs the master's decisions against a fleet in virtual time,\n"
    "and tells what it decided, when it converged, what was covered and what was\n"
    "paid.\n"
    "\n"
    "master leads the fleet whose name is that of the policy: it takes what the\n"
    "agents of the hosts (spex agent --nats) report, decides, and tells them which\n"
    "probes are to be on. status and why ask it for the fleet, with what all\n"
    "instances have measured together, and for the reasons of an instance,\n"
    "HOST/PROCESS. models writes the models of the instances' kernels to the file\n"
    "MODELS, as spex train does of one program; without a file it lists the classes\n"
    "of machines that have told of kernels.\n"
    "\n" SPEX_LINK_USAGE "  --fleet NAME         the fleet that is asked for\n"
    "  --instance INSTANCE  what this one has measured, instead of all\n"
    "  --verbose            all columns of tables, however wide that is\n"
    "  --class CLASS        of models: of these machines and this build, where there\n"
    "                       are several\n"
    "  --least SECONDS      of models: leaves out kernels that take less on average\n"
    "  --store FILE         where the master keeps a history of what is measured\n"
    "  --every SECONDS      of that: the time between snapshots, 300 without it\n"
    "  --from TIME          of history: what was measured from then on, such as\n"
    "                       2026-11-24T12:00\n"
    "  --to TIME            and until then\n"
    "  --hook COMMAND       adds and removes instances: it is called with add N, or\n"
    "                       with remove and the instances; without it their number\n"
    "                       stays as it is\n"
    "\n"
    "Of simulate:\n"
    "\n"
    "  --instances N        how many instances there are at the beginning\n"
    "  --probes N           probes of the map, instead of those of PROGRAM; else one\n"
    "                       for each mode\n"
    "  --probe-cost P       part of an instance's time that a probe takes, such as\n"
    "                       0.5% (the default)\n"
    "  --seconds S          how long, 120 without it\n"
    "  --load T:L,...       from second T on, the part L of what the instances of the\n"
    "                       beginning can serve within the response time, without\n"
    "                       probes: 0:0.6 (the default), or 0:0.6,60:0.9\n"
    "  --service S          seconds that an execution takes; else a fifth of the\n"
    "                       response time\n"
    "  --slowdown N         how much more time probes take than is believed; else 1\n"
    "  --noise P            deviation of what instances tell, 5% without it\n"
    "  --boot S             seconds that a new instance takes to start, 2 without it\n"
    "  --churn N            how often in an hour each instance is exchanged for\n"
    "                       another\n"
    "  --failures N         how often in an hour each instance is lost\n"
    "  --seed N             of everything random, 1 without it\n"
    "  --why INSTANCE       explains this instance's mode at the end\n"
    "  --json               the same as one JSON object\n";

int spex_fleet_policy_argument(const char *path, struct spex_fleet_policy **policy) {
    struct spex_error error = {""};
    if (spex_fleet_policy_read(path, policy, &error) == 0)
        return SPEX_EXIT_OK;
    return spex_complain(SPEX_EXIT_FAILED, "%s", error.text);
}

int spex_fleet_flush(int status) {
    int err = status == SPEX_EXIT_OK ? spex_written(stdout) : 0;
    if (err)
        return spex_complain(SPEX_EXIT_FAILED, "the output cannot be written: %s", strerror(-err));
    return status;
}

json_t *spex_fleet_ask_once(struct spex_fleet_ask *ask, const char *what, const char *request) {
    struct spex_link_message answer = {.data = NULL};
    struct spex_error error = {""};
    char subject[SPEX_LINK_NAME_BYTES];
    json_error_t where;
    snprintf(subject, sizeof(subject), "spex.%s.ask.%s", ask->fleet, what);
    int err = spex_link_ask(ask->link, subject, request, ANSWER_MS, &answer, &error);
    if (err == -ESRCH || err == -ETIMEDOUT)
        spex_error_set(&error, "no master of fleet %s answers", ask->fleet);
    if (err) {
        spex_complain(0, "fleet: %s", error.text);
        return NULL;
    }
    json_t *json = json_loadb(answer.data, answer.size, 0, &where);
    spex_link_message_free(&answer);
    const char *refused = json_string_value(json_object_get(json, "error"));
    if (json_is_object(json) && !refused)
        return json;
    spex_error_set(&error, "%s", refused ? refused : "an answer of a master was expected");
    spex_complain(0, "fleet: %s", error.text);
    json_decref(json);
    return NULL;
}
