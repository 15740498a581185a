/* SPDX-License-Identifier: MIT */
/* `spex record`: starts a program, or finds one that runs, and writes the records of each of its
 * processes to a trace. A program that it starts connects to the socket of this command, as with
 * `spex run`; a program that runs is asked over its control socket. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "observe/control_client.h"
#include "rate/budget.h"
#include "text/number.h"
#include "text/quantity.h"
#include "tools/attach/added_selection.h"
#include "tools/common/command.h"
#include "tools/common/complain.h"
#include "tools/common/launch_probed.h"
#include "tools/common/options.h"
#include "tools/common/process_argument.h"
#include "tools/common/stop_signals.h"
#include "tools/common/verdict.h"
#include "tools/record/record_functions.h"
#include "tools/record/record_watch.h"
#include "trace/trace.h"
#include "trace/trace_limits.h"

static const char record_usage[] =
    "usage: spex record [-e PROBES] [-o DIR] [-b PERCENT] [--thread-budget PERCENT]\n"
    "                   [-f] [--preload] [--keep SIZE] [--rotate SIZE|SECONDS]\n"
    "                   -- PROGRAM [ARGUMENT…]\n"
    "       spex record [-e PROBES] [-o DIR] [-b PERCENT] [-f] [--keep SIZE]\n"
    "                   [--rotate SIZE|SECONDS] --pid PID\n"
    "       spex record --flight SECONDS [--memory SIZE] [--dumps NUMBER] …\n"
    "                   -- PROGRAM, or --pid PID\n"
    "\n"
    "Keeps the records of PROGRAM's probes, or of process PID's, as traces of CTF\n"
    "1.8, which babeltrace2 reads: a folder in DIR for each process. Ends with the\n"
    "program, or at Ctrl-C.\n"
    "\n"
    "  -e PROBES               which probes; SPEX_PROBES or all when absent: man\n"
    "                          spex_probes; or functions of a program that was built\n"
    "                          without spex, such as func:read:lat: see spex attach\n"
    "                          --help\n"
    "  -o DIR                  where traces go, a new folder or an empty one;\n"
    "                          PROGRAM-DATE.trace when absent\n"
    "  -b, --budget PERCENT    how much of its time probes may take, such as 2%;\n"
    "                          SPEX_BUDGET, or as much as they do, when absent\n"
    "  --thread-budget PERCENT how much of any 10 ms a thread may lose to its records\n"
    "  -f, --follow-forks      also children of forks that do not start spex\n"
    "                          themselves\n"
    "  --preload               brings spex to a program without it whose libraries\n"
    "                          have probes, such as Python with extension modules\n"
    "  --keep SIZE             no more than this, such as 1G: the newest\n"
    "  --rotate SIZE|SECONDS   a new file of each CPU after so many bytes, such as\n"
    "                          64M, or so many seconds, such as 60s\n"
    "  --pid PID               a process that runs; afterwards its probes are as\n"
    "                          before\n"
    "\n"
    "  --flight SECONDS        keeps so much of the past, such as 5s, in memory, and\n"
    "                          writes it as a trace only when something asks for a\n"
    "                          dump: SIGUSR1 to this command, spex dump PID,\n"
    "                          spex_dump() in the program, spex watch, or the\n"
    "                          program's end by a signal\n"
    "  --memory SIZE           most memory for that; 64M when absent\n"
    "  --dumps NUMBER          most dumps; 16 when absent\n";

static const struct spex_syntax record_syntax = {"record", record_usage, "a program was expected",
                                                 0,        INT_MAX,      SPEX_OPTIONS_FIRST};

struct request {
    const char *probes;
    const char *out;
    const char *budget, *thread_budget;
    double share;
    bool follow, preload;
    const char *keep, *rotate;
    const char *flight, *memory;
    unsigned long dumps;
    pid_t process; /* 0: a program is started */
    char *const *argv;
};

/* The limits of the traces' files. An exit status. */
static int record_limits(const struct request *request, struct spex_recording *recording) {
    struct spex_trace_limits *limits = &recording->limits;
    if (request->keep && !spex_trace_keep_parse(request->keep, limits))
        return spex_complain(SPEX_EXIT_USAGE, "record: --keep %s: " SPEX_TRACE_KEEP_EXPECTED,
                             request->keep);
    if (request->rotate && !spex_trace_rotate_parse(request->rotate, limits))
        return spex_complain(SPEX_EXIT_USAGE, "record: --rotate %s: " SPEX_TRACE_ROTATE_EXPECTED,
                             request->rotate);
    recording->disk.keep = limits->keep;
    return SPEX_EXIT_OK;
}

/* Seconds of --flight. */
#define FLIGHT_MOST 3600

enum { MEMORY_DEFAULT = 64 << 20, DUMPS_DEFAULT = 16, DUMPS_MOST = 1000000 };

/* The limits of a flight recorder. An exit status. */
static int flight_limits(const struct request *request, struct spex_flight *flight) {
    flight->signal_fd = -1;
    flight->most = request->dumps ? (unsigned)request->dumps : DUMPS_DEFAULT;
    flight->memory.most = MEMORY_DEFAULT;
    if (!request->flight)
        return request->memory || request->dumps
                   ? spex_complain(SPEX_EXIT_USAGE,
                                   "record: --flight was expected with --memory and --dumps")
                   : SPEX_EXIT_OK;
    if (request->keep || request->rotate)
        return spex_complain(SPEX_EXIT_USAGE, "record: --memory and --dumps were expected with "
                                              "--flight, not --keep or --rotate");
    if (!spex_seconds_parse(request->flight, &flight->seconds) || flight->seconds > FLIGHT_MOST)
        return spex_complain(SPEX_EXIT_USAGE,
                             "record: --flight %s: 1s to 3600s was expected, such as 5s",
                             request->flight);
    if (request->memory && (!spex_size_parse(request->memory, &flight->memory.most) ||
                            flight->memory.most < SPEX_FLIGHT_MEMORY_LEAST))
        return spex_complain(SPEX_EXIT_USAGE,
                             "record: --memory %s: a size of 4M or more was expected, such as 64M",
                             request->memory);
    return SPEX_EXIT_OK;
}

/* What makes no sense together. An exit status. */
static int record_check(const struct request *request) {
    bool program = request->argv[0] != NULL;
    if (!request->process && !program)
        return spex_complain(SPEX_EXIT_USAGE, "record: a program or --pid was expected");
    if (request->process && program)
        return spex_complain(SPEX_EXIT_USAGE, "record: a program or --pid was expected, not both");
    if (request->process && (request->thread_budget || request->preload))
        return spex_complain(SPEX_EXIT_USAGE,
                             "record: %s is settled when a program starts; "
                             "--pid is of one that runs",
                             request->preload ? "--preload" : "--thread-budget");
    return SPEX_EXIT_OK;
}

static int record_parse(int argc, char **argv, struct request *request,
                        struct spex_recording *recording) {
    double thread_share;
    const struct spex_option known[] = {
        {"budget", 'b', .text = &request->budget, .number = &request->share,
         .read = spex_budget_parse, .error = SPEX_BUDGET_EXPECTED},
        {"thread-budget", .text = &request->thread_budget, .number = &thread_share,
         .read = spex_budget_parse, .error = SPEX_THREAD_BUDGET_EXPECTED},
        {.letter = 'e', .text = &request->probes},
        {.letter = 'o', .text = &request->out},
        {"follow-forks", 'f', .flag = &request->follow},
        {"preload", .flag = &request->preload},
        {"keep", .text = &request->keep},
        {"rotate", .text = &request->rotate},
        {"pid", .process = &request->process},
        {"flight", .text = &request->flight},
        {"memory", .text = &request->memory},
        {"dumps", .count = &request->dumps, .range = {1, DUMPS_MOST},
         .error = "a number of dumps was expected"},
        {.name = NULL},
    };
    struct spex_operands operands;
    int status = spex_options_take(&record_syntax, known, argc, argv, &operands);
    request->argv = operands.list;
    status = status ? status : record_check(request);
    status = status ? status : record_limits(request, recording);
    return status ? status : flight_limits(request, &recording->flight);
}

/* Whether there is such a folder with nothing in it. */
static bool directory_is_empty(const char *path) {
    DIR *entries = opendir(path);
    const struct dirent *entry;
    bool empty = entries;
    while (empty && (entry = readdir(entries)))
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    if (entries)
        closedir(entries);
    return empty;
}

/* Makes the folder of the traces: the one that was asked for, or one of its own. Two recordings in
 * one folder would be taken for one of two processes; dumps of several are told apart by their
 * times. An exit status. */
static int directory_make(const struct request *request, const char *program, char path[PATH_MAX]) {
    const char *slash = strrchr(program, '/');
    time_t now = time(NULL);
    struct tm local;
    char date[32];
    strftime(date, sizeof(date), "%Y%m%d-%H%M%S", localtime_r(&now, &local));
    if (request->out)
        snprintf(path, PATH_MAX, "%s", request->out);
    else
        snprintf(path, PATH_MAX, "%.200s-%s.trace", slash ? slash + 1 : program, date);
    if (mkdir(path, 0777) == 0)
        return SPEX_EXIT_OK;
    if (request->out && errno == EEXIST && (request->flight || directory_is_empty(path)))
        return SPEX_EXIT_OK;
    if (request->out && errno == EEXIST)
        return spex_complain(SPEX_EXIT_FAILED,
                             "record: %s: a new folder was expected, or an empty one", path);
    return spex_complain(SPEX_EXIT_FAILED, "record: cannot make the folder %s: %s", path,
                         strerror(errno));
}

/* Before the program starts, and behind what settles its signals. An exit status. */
static int flight_open(struct spex_record_watch *watch, const struct request *request) {
    struct spex_flight *flight = &watch->recording.flight;
    char memory[64];
    if (!flight->seconds)
        return SPEX_EXIT_OK;
    flight->directory = watch->recording.directory;
    int err = spex_flight_open(flight);
    if (err)
        return spex_complain(SPEX_EXIT_FAILED, "record: cannot wait for signals: %s",
                             strerror(-err));
    spex_bytes_text((double)flight->memory.most, memory, sizeof(memory));
    fprintf(stderr,
            "spex: process %d keeps the last %g s, in at most %s of memory; SIGUSR1 to it, or "
            "spex dump %s, writes them to %s\n",
            (int)getpid(), flight->seconds, memory, request->process ? "of the process" : "PID",
            flight->directory);
    return SPEX_EXIT_OK;
}

/* Tells what there is. */
static int flight_finish(struct spex_record_watch *watch) {
    struct spex_recording *recording = &watch->recording;
    spex_flight_close(&recording->flight);
    rmdir(recording->directory);
    unsigned dumps = recording->flight.dumps - recording->flight.failures;
    char result[PATH_MAX + 128], next[PATH_MAX + 64];
    snprintf(result, sizeof(result), "%llu records, %llu lost, %u dumps%s%s",
             (unsigned long long)recording->totals.records,
             (unsigned long long)recording->totals.lost, dumps, dumps ? " in " : "",
             dumps ? recording->directory : "");
    snprintf(next, sizeof(next), "spex stats %s", recording->directory);
    spex_verdict(result, dumps ? next : NULL);
    return recording->err || recording->flight.failures ? SPEX_EXIT_FAILED : SPEX_EXIT_OK;
}

static struct spex_launch_probed launch_of(const struct request *request) {
    return (struct spex_launch_probed){.command = "record",
                                       .prefix = "record",
                                       .probes = request->probes,
                                       .budget = request->budget,
                                       .thread_budget = request->thread_budget,
                                       .follow = request->follow,
                                       .preload = request->preload,
                                       .argv = request->argv};
}

/* Tells why there is no trace, unless it was told when recording ended. */
static void tell_of_nothing(const struct spex_record_watch *watch, const struct request *request) {
    const struct spex_launch_probed how = launch_of(request);
    if (watch->recording.err)
        return;
    spex_complain(0, "nothing was recorded: no process has switched a probe on");
    if (!request->process && !watch->listener.count)
        spex_launch_complain_of_silence(&how);
}

/* By the last profile that each process has sent. */
static void tell_of_children(const struct spex_recording *recording) {
    if (recording->unfollowed)
        fprintf(stderr, "spex: %llu %s not followed (-f follows them)\n",
                (unsigned long long)recording->unfollowed,
                recording->unfollowed == 1 ? "child of a fork was" : "children of forks were");
}

/* "4000 records, 0 lost, 1:05, 96 KiB in DIR". */
static void tell_verdict(const struct spex_record_watch *watch) {
    const struct spex_recording *recording = &watch->recording;
    const struct spex_trace_disk *disk = &recording->disk;
    char bytes[64], removed[64], older[96] = "", took[32], result[PATH_MAX + 256];
    char next[PATH_MAX + 64];
    spex_quantity_text((double)disk->bytes, NAN, "B", bytes, sizeof(bytes));
    spex_quantity_text((double)disk->removed, NAN, "B", removed, sizeof(removed));
    if (disk->removed)
        snprintf(older, sizeof(older), "; older ones, %s, removed", removed);
    spex_elapsed_text((double)(spex_clock_ns(CLOCK_MONOTONIC) - watch->begin_ns) / 1e9, took,
                      sizeof(took));
    snprintf(result, sizeof(result), "%llu records, %llu lost, %s, %s in %s%s",
             (unsigned long long)recording->totals.records,
             (unsigned long long)recording->totals.lost, took, bytes, recording->directory, older);
    snprintf(next, sizeof(next), "spex stats %s", recording->directory);
    spex_verdict(result, next);
}

/* Tells what there is. A full disk is a failure of this command, not of the program. */
static int record_finish(struct spex_record_watch *watch, const struct request *request) {
    struct spex_recording *recording = &watch->recording;
    spex_record_watch_end(watch);
    tell_of_children(recording);
    if (recording->flight.seconds && recording->traces)
        return flight_finish(watch);
    if (!recording->traces) {
        rmdir(recording->directory);
        tell_of_nothing(watch, request);
    } else {
        tell_verdict(watch);
    }
    if (watch->listener.refused)
        spex_complain(0, "some processes were not recorded, as there were too many connections");
    spex_trace_disk_free(&recording->disk);
    return recording->err ? SPEX_EXIT_FAILED : SPEX_EXIT_OK;
}

/* The exit status is the program's, unless only the recording has failed. */
static int record_program(struct spex_record_watch *watch, const struct request *request,
                          int *by_signal) {
    struct spex_launched program = {.pidfd = -1};
    struct spex_passed_signals signals = {.fd = -1};
    int status = spex_launch_listen(&watch->listener, "record");
    if (status)
        return status;
    int err = spex_passed_signals_open(&signals);
    if (err)
        return spex_complain(SPEX_EXIT_FAILED, "record: cannot wait for signals: %s",
                             strerror(-err));
    status = flight_open(watch, request);
    if (!status && watch->recording.flight.seconds)
        spex_passed_signals_keep(&signals, SIGUSR1);
    const struct spex_launch_probed how = launch_of(request);
    status =
        status ? status : spex_launch_probed(&program, &how, &watch->listener, &signals.before);
    if (status)
        return status;
    spex_record_watch_program(watch, &program, &signals);
    status = record_finish(watch, request);
    if (program.untold)
        spex_complain(0, "record: the end of the program cannot be told: %s",
                      strerror(-program.untold));
    *by_signal = program.by_signal;
    if (program.by_signal)
        return 128 + program.by_signal;
    return program.status ? program.status : status;
}

/* Opens both connections to a process, the one for records before the selection changes, so that
 * none is missed. 0, or a negative errno value with the reason. */
static int process_attach(struct spex_record_watch *watch, const struct request *request,
                          struct spex_added_selection *added, struct spex_error *error) {
    struct spex_profile_reader reader = {.of_process = true};
    pid_t process = request->process;
    if (request->follow)
        spex_handover_open(&watch->listener.handover);
    const int *children = request->follow ? &watch->listener.handover.given.number : NULL;
    const struct spex_client_stream what = {.types = "", .dumps = true, .children = children};
    int err = spex_client_ask(process, SPEX_CONTROL_STATUS, NULL, &reader, error);
    int calls = err ? err : spex_client_connect(process, SPEX_CLIENT_CONNECT_MS, error);
    int stream = calls < 0 ? calls : spex_client_stream(process, &what, error);
    struct spex_recorded *recorded =
        stream < 0 ? NULL : spex_recorded_add(&watch->recording, process);
    if (!recorded) {
        err = stream < 0 ? stream : spex_fail(error, -ENOMEM, "out of memory");
        if (calls >= 0)
            close(calls);
        if (stream >= 0)
            close(stream);
    } else {
        spex_recorded_stream(recorded, stream);
        spex_recorded_call(recorded, calls);
        spex_caller_ask(&recorded->caller, SPEX_CONTROL_SUBSCRIBE, SPEX_CALLER_INTERVAL, 1000);
        spex_recorded_take_records(&watch->recording, recorded);
        added->budget = request->share;
        err = spex_added_selection_make_of(added, process, request->probes, error);
        watch->holder = added->lease.holder;
    }
    spex_profile_reader_free(&reader);
    return err;
}

static int record_process(struct spex_record_watch *watch, const struct request *request) {
    struct spex_added_selection added = {.process = 0};
    struct spex_error error = {""};
    int stop_fd = spex_stop_signals_open();
    if (stop_fd < 0)
        return spex_complain(SPEX_EXIT_FAILED, "record: cannot wait for signals: %s",
                             strerror(errno));
    int status = flight_open(watch, request);
    if (status)
        return status;
    int process_fd = (int)syscall(SYS_pidfd_open, request->process, 0);
    int err = process_attach(watch, request, &added, &error);
    if (!err)
        spex_record_watch_process(watch, stop_fd);
    spex_client_stop_later();
    spex_added_selection_restore(&added, false, process_fd);
    if (process_fd >= 0)
        close(process_fd);
    if (err) {
        spex_record_watch_end(watch);
        return spex_complain(SPEX_EXIT_FAILED, "%s", error.text);
    }
    return record_finish(watch, request);
}

/* What makes no sense with functions. An exit status. */
static int functions_check(const struct request *request) {
    const char *wrong = request->flight          ? "--flight"
                        : request->thread_budget ? "--thread-budget"
                        : request->follow        ? "-f"
                        : request->preload       ? "--preload"
                                                 : NULL;
    return wrong ? spex_complain(SPEX_EXIT_USAGE,
                                 "record: functions (func:…, usdt:…) and %s do not go together",
                                 wrong)
                 : SPEX_EXIT_OK;
}

/* An exit status: that of a program that was run, unless only the recording has failed. */
static int record_functions(struct spex_record_watch *watch, const struct request *request,
                            int *by_signal) {
    struct spex_record_functions record = {.recording = &watch->recording,
                                           .functions = request->probes,
                                           .budget = request->share,
                                           .process = request->process,
                                           .argv = request->argv};
    int status = spex_record_functions(&record);
    *by_signal = record.by_signal;
    if (watch->recording.traces)
        tell_verdict(watch);
    else
        rmdir(watch->recording.directory);
    spex_trace_disk_free(&watch->recording.disk);
    return status;
}

int spex_command_record(int argc, char **argv) {
    static struct spex_record_watch watch = {
        .listener = {.listening.socket.number = -1, .handover = {{.number = -1}, .own = -1}}};
    static char directory[PATH_MAX];
    struct request request = {.probes = NULL};
    char number[32];
    int by_signal = 0, status = record_parse(argc, argv, &request, &watch.recording);
    bool functions = request.probes && spex_names_functions(request.probes);
    if (!status)
        status =
            functions ? functions_check(&request) : spex_probes_chosen("record", &request.probes);
    if (status)
        return status;
    snprintf(number, sizeof(number), "%d", (int)request.process);
    status = directory_make(&request, request.process ? number : request.argv[0], directory);
    if (status)
        return status;
    spex_trace_clock_begin();
    watch.recording.directory = directory;
    watch.begin_ns = spex_clock_ns(CLOCK_MONOTONIC);
    if (functions)
        status = record_functions(&watch, &request, &by_signal);
    /* Not where it would stand in what the program writes to the terminal. */
    if (!functions && !watch.recording.flight.seconds &&
        (request.process || isatty(STDOUT_FILENO) != 1))
        spex_progress_bar_init(&watch.bar, stderr);
    if (!functions)
        status = request.process ? record_process(&watch, &request)
                                 : record_program(&watch, &request, &by_signal);
    spex_listener_close(&watch.listener);
    if (by_signal)
        spex_launched_die_of(by_signal);
    return status;
}
