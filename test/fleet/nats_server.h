/* SPDX-License-Identifier: MIT */
/* A NATS server for a test: on loopback, with a free port and a folder of its own. */
#ifndef SPEX_TEST_FLEET_NATS_SERVER_H
#define SPEX_TEST_FLEET_NATS_SERVER_H

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "../check.h"

static struct {
    char folder[64], url[64];
    pid_t process;
    int port;
} server;

/* Until the condition holds, however long that takes. */
#define WAIT_FOR(condition)                                                                        \
    while (!(condition))                                                                           \
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL)

static inline void server_run(void) {
    char config[96], log[96];
    snprintf(config, sizeof(config), "%s/conf", server.folder);
    snprintf(log, sizeof(log), "%s/log", server.folder);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setenv("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", 1);
    execlp("nats-server", "nats-server", "-c", config, "-l", log, NULL);
    _exit(127);
}

/* The port is in the file that the server writes when it is ready. */
static inline bool server_is_ready(void) {
    char path[96], text[256] = "";
    snprintf(path, sizeof(path), "%s/nats-server_%d.ports", server.folder, (int)server.process);
    FILE *file = fopen(path, "re");
    if (file) {
        text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
        fclose(file);
    }
    const char *at = strstr(text, "127.0.0.1:");
    if (!at || !strchr(at, '}'))
        return false;
    server.port = atoi(at + strlen("127.0.0.1:"));
    snprintf(server.url, sizeof(server.url), "nats://127.0.0.1:%d", server.port);
    return true;
}

static inline bool server_has_ended(void) {
    return waitpid(server.process, NULL, WNOHANG) == server.process;
}

/* False: there is no such program. Started again, it has its port and its store. */
static inline bool server_start(const char *options) {
    char path[96];
    bool ended = false;
    if (!server.folder[0]) {
        strcpy(server.folder, "/tmp/fleet-link-XXXXXX");
        assert_non_null(mkdtemp(server.folder));
    }
    snprintf(path, sizeof(path), "%s/conf", server.folder);
    FILE *file = fopen(path, "we");
    fprintf(file,
            "listen: \"127.0.0.1:%d\"\nports_file_dir: \"%s\"\njetstream { store_dir: \"%s/store\" "
            "}\n%s\n",
            server.port ? server.port : -1, server.folder, server.folder, options);
    fclose(file);
    server.process = fork();
    if (!server.process)
        server_run();
    WAIT_FOR(server_is_ready() || (ended = server_has_ended()));
    return !ended;
}

static inline void server_kill(void) {
    kill(server.process, SIGKILL);
    waitpid(server.process, NULL, 0);
}

static inline void server_remove(void) {
    char command[128];
    snprintf(command, sizeof(command), "rm -rf '%s'", server.folder);
    assert_int_equal(system(command), 0);
}

#endif
