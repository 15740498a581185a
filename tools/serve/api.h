/* SPDX-License-Identifier: MIT */
/* The answers below /api: JSON of programs and probes. */
#ifndef SPEX_TOOLS_SERVE_API_H
#define SPEX_TOOLS_SERVE_API_H

#include "tools/common/json.h"
#include "tools/serve/http.h"

/* New references, or NULL where memory is short. Of an interval also where there is none yet: it
 * lies between two reports. */
json_t *spex_api_programs_json(struct spex_server *server);
json_t *spex_api_interval_json(const struct spex_program_process *process);

/* For the routes. */
enum MHD_Result spex_api_programs(struct spex_request *request);
enum MHD_Result spex_api_probes(struct spex_request *request);

/* In events.c. */
enum MHD_Result spex_api_events(struct spex_request *request);

/* In intervals.c: ?process=PID: all probes, of so many intervals that a small picture needs; with
 * &probe=NUMBER, of that answer, all that is kept of one. */
enum MHD_Result spex_api_history(struct spex_request *request);

/* In switch.c: called when the body is there, and when all programs have answered. */
enum MHD_Result spex_switch_answer(struct spex_request *request);

#endif
