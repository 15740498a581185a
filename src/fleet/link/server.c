/* SPDX-License-Identifier: MIT */
#include "fleet/link/server.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/files/whole_file.h"

/* The parts of the options. */
struct address {
    char host[256], server[320];
    bool tls, local;
};

static bool is_local(const char *host) {
    return strcmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0 ||
           (strncmp(host, "127.", 4) == 0 && strspn(host, "0123456789.") == strlen(host));
}

/* The end of the host: of "[::1]:4222" behind the bracket. */
static size_t host_length(const char *rest) {
    const char *bracket = *rest == '[' ? strchr(rest, ']') : NULL;
    return bracket ? (size_t)(bracket - rest) + 1 : strcspn(rest, ":");
}

static int read_address(const char *url, struct address *address, struct spex_error *error) {
    bool tls = strncmp(url, "tls://", 6) == 0;
    const char *rest = tls ? url + 6 : strncmp(url, "nats://", 7) == 0 ? url + 7 : NULL;
    if (!rest || !*rest || strpbrk(rest, "/, \t") || strlen(rest) >= sizeof(address->host))
        return spex_fail(error, -EINVAL,
                         "--nats: nats://HOST:PORT or tls://HOST:PORT was expected, not \"%s\"",
                         url);
    if (strchr(rest, '@'))
        return spex_fail(error, -EINVAL,
                         "--nats: no password was expected in it, where other users see it: "
                         "--credentials names a file with it");
    *address = (struct address){.tls = tls};
    snprintf(address->server, sizeof(address->server), "nats://%s", rest);
    snprintf(address->host, sizeof(address->host), "%.*s", (int)host_length(rest), rest);
    address->local = is_local(address->host);
    return 0;
}

/* Anybody who reaches the server could switch the probes of all hosts. */
static int check_safe(const struct spex_link_options *options, struct address *address,
                      struct spex_error *error) {
    address->tls = address->tls || options->authorities || options->certificate;
    if (address->local || (address->tls && (options->credentials || options->certificate)))
        return 0;
    return spex_fail(error, -EINVAL,
                     "--nats: off loopback, tls:// and --credentials or --tls-cert were expected "
                     "for %s",
                     address->host);
}

static int failed(natsStatus status, const char *what, struct spex_error *error) {
    const char *text = nats_GetLastError(NULL);
    return spex_fail(error, -EINVAL, "%s: %s", what,
                     text && *text ? text : natsStatus_GetText(status));
}

static int set_line(natsOptions *options, char *line, struct spex_error *error) {
    line[strcspn(line, "\r\n")] = '\0';
    char *colon = strchr(line, ':');
    if (!*line)
        return spex_fail(error, -EINVAL, "--credentials: USER:PASSWORD or a token was expected");
    if (colon)
        *colon = '\0';
    natsStatus status = colon ? natsOptions_SetUserInfo(options, line, colon + 1)
                              : natsOptions_SetToken(options, line);
    return status == NATS_OK ? 0 : failed(status, "--credentials", error);
}

/* A file that others may read is no secret. */
static int set_credentials(natsOptions *options, const char *path, struct spex_error *error) {
    char *text = NULL;
    size_t length;
    struct stat file;
    if (stat(path, &file) == 0 && (file.st_mode & (S_IRWXG | S_IRWXO)))
        return spex_fail(error, -EINVAL,
                         "%s: a file was expected that its owner alone can read (chmod 600)", path);
    int err = spex_whole_file_read(path, SPEX_FILE_REGULAR, 1 << 20, &text, &length, error);
    if (err)
        return err;
    if (strstr(text, "BEGIN NATS USER JWT")) {
        natsStatus status = natsOptions_SetUserCredentialsFromFiles(options, path, NULL);
        err = status == NATS_OK ? 0 : failed(status, path, error);
    } else {
        err = set_line(options, text, error);
    }
    explicit_bzero(text, length);
    free(text);
    return err;
}

/* The library checks the name in the server's certificate only if it is told which. */
static int set_tls(natsOptions *options, const struct spex_link_options *from,
                   const struct address *address, struct spex_error *error) {
    char name[sizeof(address->host)];
    bool bracket = address->host[0] == '[';
    snprintf(name, sizeof(name), "%s", address->host + bracket);
    name[strcspn(name, "]")] = '\0';
    natsStatus status = natsOptions_SetSecure(options, true);
    if (status == NATS_OK)
        status = natsOptions_SetExpectedHostname(options, name);
    if (status == NATS_OK && from->authorities)
        status = natsOptions_LoadCATrustedCertificates(options, from->authorities);
    if (status != NATS_OK)
        return failed(status, "--tls-ca", error);
    if (from->certificate)
        status = natsOptions_LoadCertificatesChain(options, from->certificate, from->key);
    return status == NATS_OK ? 0 : failed(status, "--tls-cert", error);
}

int spex_link_server_set(natsOptions *options, const struct spex_link_options *from,
                         struct spex_error *error) {
    struct address address;
    int err = read_address(from->url, &address, error);
    err = err ? err : check_safe(from, &address, error);
    if (err)
        return err;
    natsStatus status = natsOptions_SetURL(options, address.server);
    if (status != NATS_OK)
        return failed(status, "--nats", error);
    if (address.tls)
        err = set_tls(options, from, &address, error);
    if (!err && from->credentials)
        err = set_credentials(options, from->credentials, error);
    return err;
}
