/* SPDX-License-Identifier: MIT */
/* The daemon has no thread of its own: it is run by this loop, which also polls the programs. */
#define _GNU_SOURCE
#include "tools/serve/server.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files/whole_file.h"
#include "text/number.h"
#include "text/waits.h"
#include "tools/serve/http.h"

/* Bytes of memory for the headers of a request; longer ones are refused. */
enum { HEADER_BYTES = 16 * 1024 };

/* The longest token, and files of certificates. */
enum { TOKEN_BYTES = 1024, CERT_BYTES = 1024 * 1024 /* a whole MiB */ };

/* Fewer characters can be guessed. */
enum { TOKEN_LEAST = 16 };

/* getaddrinfo takes greater numbers, too. */
static bool is_port(const char *text) {
    int64_t port;
    return spex_number_integer(text, &port) && port >= 0 && port <= UINT16_MAX;
}

/* Splits ADDRESS:PORT, and resolves it without asking anybody. 0, or -EINVAL with the reason. */
static int resolve(const char *listen, struct addrinfo **found, struct spex_error *error) {
    char address[128];
    const char *colon = strrchr(listen, ':');
    size_t length = colon ? (size_t)(colon - listen) : 0;
    const struct addrinfo hints = {.ai_family = AF_UNSPEC,
                                   .ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE};
    bool bracketed = length >= 2 && listen[0] == '[' && colon[-1] == ']';
    if (colon && length - (bracketed ? 2 : 0) < sizeof(address)) {
        snprintf(address, sizeof(address), "%.*s", (int)(length - (bracketed ? 2 : 0)),
                 listen + bracketed);
        if (strcmp(address, "localhost") == 0)
            snprintf(address, sizeof(address), "127.0.0.1");
        if (is_port(colon + 1) && address[0] && getaddrinfo(address, colon + 1, &hints, found) == 0)
            return 0;
    }
    return spex_fail(error, -EINVAL, "ADDRESS:PORT was expected to listen on, not \"%s\"", listen);
}

static bool is_loopback(const struct sockaddr *address) {
    if (address->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >> 24 ==
               127;
    return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

/* Beyond this machine others listen to what goes over the network. */
static int check_reach(const struct spex_server_settings *settings, const struct sockaddr *address,
                       struct spex_error *error) {
    bool tls = settings->cert_file && settings->key_file;
    if (!settings->cert_file != !settings->key_file)
        return spex_fail(error, -EINVAL, "--cert and --key were expected together");
    if (is_loopback(address))
        return 0;
    if (!settings->token_file)
        return spex_fail(error, -EINVAL,
                         "%s can be reached from other machines: --token-file was expected, with "
                         "--cert and --key or --behind-proxy",
                         settings->listen);
    if (!tls && !settings->behind_proxy)
        return spex_fail(error, -EINVAL,
                         "%s can be reached from other machines: TLS was expected (--cert and "
                         "--key), or --behind-proxy where a proxy adds it",
                         settings->listen);
    return 0;
}

/* The socket, or a negative errno value with the reason. Sets server->address. */
static int socket_open(struct spex_server *server, const struct addrinfo *where,
                       const char *listen_on, struct spex_error *error) {
    struct sockaddr_storage bound;
    socklen_t size = sizeof(bound);
    char host[INET6_ADDRSTRLEN], port[8];
    int on = 1;
    int fd = socket(where->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (fd < 0 || bind(fd, where->ai_addr, where->ai_addrlen) != 0 || listen(fd, SOMAXCONN) != 0 ||
        getsockname(fd, (struct sockaddr *)&bound, &size) != 0) {
        int err = -errno;
        if (fd >= 0)
            close(fd);
        return spex_fail(error, err, "cannot listen on %s: %s", listen_on, strerror(-err));
    }
    getnameinfo((struct sockaddr *)&bound, size, host, sizeof(host), port, sizeof(port),
                NI_NUMERICHOST | NI_NUMERICSERV);
    snprintf(server->address, sizeof(server->address), strchr(host, ':') ? "[%s]:%s" : "%s:%s",
             host, port);
    return fd;
}

/* Reads a short text, which is to be secret or not, or NULL with the reason. */
static char *read_text(const char *path, size_t most, bool secret, struct spex_error *error) {
    struct stat about;
    char *text = NULL;
    size_t bytes = 0;
    if (secret && stat(path, &about) == 0 && (about.st_mode & 077) != 0) {
        spex_error_set(error, "%s can be read by others: a file of mode 600 was expected", path);
        return NULL;
    }
    if (spex_whole_file_read(path, SPEX_FILE_ANY, CERT_BYTES, &text, &bytes, error) != 0)
        return NULL;
    if (bytes <= most && strlen(text) == bytes)
        return text;
    free(text);
    spex_error_set(error, "cannot read %s: a short text was expected", path);
    return NULL;
}

/* A line, of which a header can consist. */
static int token_read(struct spex_server *server, const char *path, struct spex_error *error) {
    server->token = read_text(path, TOKEN_BYTES, true, error);
    if (!server->token)
        return -EINVAL;
    server->token[strcspn(server->token, "\r\n")] = '\0';
    size_t length = 0;
    while (isgraph((unsigned char)server->token[length]))
        length++;
    if (length < TOKEN_LEAST || server->token[length])
        return spex_fail(error, -EINVAL,
                         "%s: a token of at least %d printable characters without blanks was "
                         "expected",
                         path, TOKEN_LEAST);
    server->guard.token = server->token;
    return 0;
}

static int files_read(struct spex_server *server, const struct spex_server_settings *settings,
                      struct spex_error *error) {
    if (settings->token_file) {
        int err = token_read(server, settings->token_file, error);
        if (err)
            return err;
    }
    if (!settings->cert_file)
        return 0;
    server->cert = read_text(settings->cert_file, CERT_BYTES, false, error);
    server->key = server->cert ? read_text(settings->key_file, CERT_BYTES, true, error) : NULL;
    return server->key ? 0 : -EINVAL;
}

/* Where MHD would write to standard error, of what clients do. */
static void say_nothing(void *user, const char *format, va_list list) {
    (void)user;
    (void)format;
    (void)list;
}

static int daemon_start(struct spex_server *server, int fd, struct spex_error *error) {
    unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    struct MHD_OptionItem tls[] = {{MHD_OPTION_HTTPS_MEM_KEY, 0, server->key},
                                   {MHD_OPTION_HTTPS_MEM_CERT, 0, server->cert},
                                   {MHD_OPTION_END, 0, NULL}};
    if (server->cert)
        flags |= MHD_USE_TLS;
    else
        tls[0] = tls[2];
    server->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, spex_http_handle, server, MHD_OPTION_EXTERNAL_LOGGER, say_nothing,
        NULL, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)SPEX_PACE_CONNECTIONS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADER_BYTES,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_NOTIFY_COMPLETED, spex_http_completed, server,
        MHD_OPTION_NOTIFY_CONNECTION, spex_http_connected, server, MHD_OPTION_ARRAY, tls,
        MHD_OPTION_END);
    if (server->daemon)
        return 0;
    close(fd);
    return spex_fail(error, -EINVAL, "the HTTP server cannot start%s",
                     server->cert ? ": --cert or --key is no PEM file, or they do not belong "
                                    "together"
                                  : "");
}

/* For struct spex_programs. */
static bool is_watched(void *user, pid_t process) {
    const struct spex_server *server = user;
    return spex_http_watches(server, process) || spex_events_watch(&server->events, process);
}

int spex_server_open(struct spex_server *server, const struct spex_server_settings *settings,
                     struct spex_error *error) {
    struct addrinfo *where;
    int err = resolve(settings->listen, &where, error);
    if (err)
        return err;
    server->guard.host = settings->host;
    server->programs.is_watched = is_watched;
    server->programs.user = server;
    spex_programs_open(&server->programs);
    err = spex_shown_open(&server->shown, &settings->shown, error);
    err = err ? err : check_reach(settings, where->ai_addr, error);
    err = err ? err : files_read(server, settings, error);
    int fd = err ? err : socket_open(server, where, settings->listen, error);
    freeaddrinfo(where);
    return fd < 0 ? fd : daemon_start(server, fd, error);
}

void spex_server_close(struct spex_server *server) {
    if (server->daemon) {
        spex_http_resume_all(server);
        MHD_stop_daemon(server->daemon);
    }
    spex_events_close(&server->events);
    spex_shown_close(&server->shown);
    spex_programs_close(&server->programs);
    free(server->token);
    free(server->cert);
    free(server->key);
}

/* MHD closes the connection when it finds its end. */
static void drop(int socket) {
    shutdown(socket, SHUT_RDWR);
}

static int milliseconds(uint64_t now, uint64_t then) {
    const uint64_t most = 1000;
    uint64_t left = then > now ? (then - now + 999999) / 1000000 : 0;
    return (int)(left < most ? left : most);
}

/* How long poll may wait: until the first of what is due. */
static int wait_ms(struct spex_server *server, uint64_t due_ns) {
    uint64_t now = spex_clock_ns(CLOCK_MONOTONIC);
    MHD_UNSIGNED_LONG_LONG daemon_ms;
    int wait = milliseconds(now, due_ns);
    if (MHD_get_timeout(server->daemon, &daemon_ms) == MHD_YES && daemon_ms < (unsigned)wait)
        wait = (int)daemon_ms;
    return wait;
}

/* The descriptors that are polled: of signals, of the daemon and of other commands, then one for
 * each process, and one for each that is being switched. */
enum { STOP, DAEMON, CHILDREN, PROCESSES = CHILDREN + SPEX_CHILDREN_FDS };

static uint64_t earlier(uint64_t one, uint64_t other) {
    return one < other ? one : other;
}

/* Does what is due, and sets the descriptors to poll. Returns when something else will be due. */
static uint64_t prepare(struct spex_server *server, struct pollfd *fds, nfds_t *count) {
    uint64_t now = spex_clock_ns(CLOCK_MONOTONIC);
    struct spex_programs *programs = &server->programs;
    spex_programs_look(programs, now);
    uint64_t due_ns = spex_events_run(server, now);
    due_ns = earlier(due_ns, spex_pace_drop(&server->pace, now, drop));
    due_ns = earlier(due_ns, spex_shown_run(server, spex_events_anybody(&server->events), now));
    due_ns = earlier(due_ns, spex_children_wait(&server->shown.children, fds + CHILDREN));
    due_ns = earlier(due_ns, spex_programs_wait(programs, fds + PROCESSES));
    *count = PROCESSES + programs->process_count;
    due_ns = earlier(due_ns, spex_switch_wait(&server->by, fds + *count));
    *count += server->by.count;
    return due_ns;
}

/* Takes what has come, and lets requests go on that have waited for it. */
static void take(struct spex_server *server, const struct pollfd *fds) {
    uint64_t now = spex_clock_ns(CLOCK_MONOTONIC);
    spex_programs_take(&server->programs, fds + PROCESSES, now);
    spex_switch_take(&server->by, now);
    spex_children_take(&server->shown.children, fds + CHILDREN, now);
    if (!server->programs.round_ns)
        spex_http_resume(server);
    MHD_run(server->daemon);
}

int spex_server_run(struct spex_server *server, int stop) {
    struct pollfd fds[PROCESSES + 2 * SPEX_PROGRAMS_PROCESSES];
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    fds[STOP] = (struct pollfd){.fd = stop, .events = POLLIN};
    fds[DAEMON] = (struct pollfd){.fd = info ? info->epoll_fd : -1, .events = POLLIN};
    while (!(fds[STOP].revents & POLLIN)) {
        nfds_t count;
        uint64_t due_ns = prepare(server, fds, &count);
        if (spex_wait_ready(fds, count, wait_ms(server, due_ns)) < 0 && errno != EINTR)
            return -errno;
        take(server, fds);
    }
    return 0;
}
