/* SPDX-License-Identifier: MIT */
/* A hostile process: it answers each request on its control socket with probes of new names, each
 * with values in buckets all over the histogram.
 *
 *     reports PROBES */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <spex/record.h>

#include "wire/control_format.h"

enum { CLIENTS = 16, BUCKETS = 64 };

static int send_frame(int client, enum spex_control_kind kind, const void *entries,
                      size_t entry_bytes, size_t more, uint32_t count) {
    static char frame[SPEX_CONTROL_FRAME_BYTES];
    const struct spex_control_frame head = {.magic = SPEX_CONTROL_MAGIC,
                                            .version = SPEX_CONTROL_VERSION,
                                            .kind = (uint16_t)kind,
                                            .number = 1,
                                            .entry_bytes = (uint32_t)entry_bytes,
                                            .count = count};
    memcpy(frame, &head, sizeof(head));
    memcpy(frame + sizeof(head), entries, entry_bytes + more);
    ssize_t sent = send(client, frame, sizeof(head) + entry_bytes + more, MSG_NOSIGNAL);
    return sent < 0 ? -errno : 0;
}

static int send_probe(int client, unsigned number) {
    static struct {
        struct spex_control_values values;
        struct spex_control_bucket buckets[BUCKETS];
    } told;
    struct spex_profile_probe probe = {.probe_type = SPEX_LAT,
                                       .probe_id = (uint16_t)number,
                                       .declared = SPEX_PROFILE_NO_ID,
                                       .on_seconds = 1,
                                       .count = BUCKETS,
                                       .weight = BUCKETS,
                                       .records = BUCKETS};
    snprintf(probe.name, sizeof(probe.name), "new%08x", number);
    told.values.weight = BUCKETS;
    for (unsigned b = 0; b < BUCKETS; b++)
        told.buckets[b] =
            (struct spex_control_bucket){(uint64_t)b * SPEX_HISTOGRAM_BUCKETS / BUCKETS, 1};
    int err = send_frame(client, SPEX_CONTROL_PROBE, &probe, sizeof(probe), 0, 1);
    return err ? err
               : send_frame(client, SPEX_CONTROL_VALUES, &told, sizeof(told.values),
                            sizeof(told.buckets), BUCKETS);
}

static int answer(int client, unsigned probes) {
    static unsigned number;
    static double seconds;
    struct spex_profile_process process = {
        .process_id = (uint32_t)getpid(), .ticks_per_second = 1e9, .seconds = seconds += 1};
    const struct spex_profile_type type = {.probe_type = SPEX_LAT};
    FILE *comm = fopen("/proc/self/comm", "r");
    if (!comm || !fgets(process.command, sizeof(process.command), comm))
        return -EIO;
    fclose(comm);
    process.command[strcspn(process.command, "\n")] = '\0';
    int err = send_frame(client, SPEX_CONTROL_PROCESS, &process, sizeof(process), 0, 1);
    err = err ? err : send_frame(client, SPEX_CONTROL_TYPES, &type, sizeof(type), 0, 1);
    for (unsigned p = 0; p < probes && !err; p++)
        err = send_probe(client, number++);
    return err ? err : send_frame(client, SPEX_CONTROL_DONE, " ", 1, 0, 1);
}

/* Where commands look for it. */
static int listen_here(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat namespace;
    const char *folder = getenv("SPEX_CONTROL");
    int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    if (!folder || stat("/proc/self/ns/pid", &namespace) != 0)
        return -1;
    mkdir(folder, 0700);
    snprintf(address.sun_path, sizeof(address.sun_path), "%.80s/%d-%lu", folder, (int)getpid(),
             (unsigned long)namespace.st_ino);
    return bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 && listen(fd, CLIENTS) == 0
               ? fd
               : -1;
}

int main(int argc, char **argv) {
    struct pollfd fds[CLIENTS] = {{.fd = listen_here(), .events = POLLIN}};
    char request[1024];
    nfds_t count = 1;
    if (argc != 2 || fds[0].fd < 0 || puts("ready") < 0 || fflush(stdout) != 0)
        return 1;
    for (;;) {
        poll(fds, count, -1);
        for (nfds_t f = count; f-- > 1;)
            if (fds[f].revents && (recv(fds[f].fd, request, sizeof(request), 0) <= 0 ||
                                   answer(fds[f].fd, (unsigned)atoi(argv[1])) != 0)) {
                close(fds[f].fd);
                fds[f] = fds[--count];
            }
        if (fds[0].revents && count < CLIENTS) {
            int client = accept(fds[0].fd, NULL, NULL);
            if (client >= 0)
                fds[count++] = (struct pollfd){.fd = client, .events = POLLIN};
        }
    }
}
