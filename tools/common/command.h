/* SPDX-License-Identifier: MIT */
/* The commands of `spex`, each in a file of its name. Each returns an exit status (complain.h). */
#ifndef SPEX_TOOLS_COMMON_COMMAND_H
#define SPEX_TOOLS_COMMON_COMMAND_H

int spex_command_agent(int argc, char **argv);
int spex_command_attach(int argc, char **argv);
int spex_command_bench(int argc, char **argv);
int spex_command_dump(int argc, char **argv);
int spex_command_explain(int argc, char **argv);
int spex_command_explore(int argc, char **argv);
int spex_command_export(int argc, char **argv);
int spex_command_fit(int argc, char **argv);
int spex_command_fleet(int argc, char **argv);
int spex_command_list(int argc, char **argv);
int spex_command_models(int argc, char **argv);
int spex_command_plan(int argc, char **argv);
int spex_command_probes(int argc, char **argv);
int spex_command_record(int argc, char **argv);
int spex_command_report(int argc, char **argv);
int spex_command_run(int argc, char **argv);
int spex_command_sample(int argc, char **argv);
int spex_command_serve(int argc, char **argv);
int spex_command_set(int argc, char **argv);
int spex_command_stats(int argc, char **argv);
int spex_command_top(int argc, char **argv);
int spex_command_train(int argc, char **argv);
int spex_command_watch(int argc, char **argv);

#endif
