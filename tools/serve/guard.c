/* SPDX-License-Identifier: MIT */
#include "tools/serve/guard.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

/* The longest name in DNS. */
enum { NAME_MAX_BYTES = 253 };

static bool is_port(const char *text) {
    size_t digits = strspn(text, "0123456789");
    return digits >= 1 && digits <= 5 && !text[digits];
}

/* "[address]" with a port or without. */
static bool is_ipv6(const char *host) {
    char address[INET6_ADDRSTRLEN];
    struct in6_addr parsed;
    size_t length = strcspn(host, "]");
    if (host[0] != '[' || host[length] != ']' || length - 1 >= sizeof(address))
        return false;
    memcpy(address, host + 1, length - 1);
    address[length - 1] = '\0';
    const char *rest = host + length + 1;
    return inet_pton(AF_INET6, address, &parsed) == 1 &&
           (!*rest || (*rest == ':' && is_port(rest + 1)));
}

/* A page's origin has the name that its user has opened. An address cannot be made to mean another
 * server, so that it is no other site's. */
static bool host_is_ours(const struct spex_guard *guard, const char *host) {
    char name[NAME_MAX_BYTES + 1];
    struct in_addr parsed;
    size_t length = strcspn(host, ":");
    if (is_ipv6(host))
        return true;
    if (length >= sizeof(name) || (host[length] && !is_port(host + length + 1)))
        return false;
    memcpy(name, host, length);
    name[length] = '\0';
    return strcasecmp(name, "localhost") == 0 || inet_pton(AF_INET, name, &parsed) == 1 ||
           (guard->host && strcasecmp(name, guard->host) == 0);
}

/* A browser names the origin of a page that asks. It must be what the page is asking for, by any
 * scheme: a proxy may have added TLS. */
static bool origin_is_same(const char *origin, const char *host) {
    static const char *const schemes[] = {"http://", "https://"};
    for (size_t s = 0; s < sizeof(schemes) / sizeof(schemes[0]); s++) {
        size_t length = strlen(schemes[s]);
        if (strncasecmp(origin, schemes[s], length) == 0)
            return strcasecmp(origin + length, host) == 0;
    }
    return false;
}

/* Takes as long wherever the two differ, so that the time tells nothing of the token. */
static bool token_is(const char *token, const char *said) {
    size_t length = strlen(token), said_length = strlen(said);
    unsigned char differs = length != said_length;
    for (size_t at = 0; at < said_length; at++)
        differs |= (unsigned char)(said[at] ^ token[length ? at % length : 0]);
    return !differs;
}

static bool has_token(const char *token, const char *authorization) {
    static const char scheme[] = "Bearer ";
    return authorization && strncasecmp(authorization, scheme, strlen(scheme)) == 0 &&
           token_is(token, authorization + strlen(scheme));
}

static unsigned refuse(unsigned status, const char **why, const char *reason) {
    *why = reason;
    return status;
}

unsigned spex_guard_check_open(const struct spex_guard *guard,
                               const struct spex_guard_headers *headers, const char **why) {
    if (!headers->host)
        return refuse(400, why, "one header Host was expected");
    if (!host_is_ours(guard, headers->host))
        return refuse(421, why,
                      "the header Host names another server: an address, localhost, or the name of "
                      "--host was expected");
    if (headers->origin && !origin_is_same(headers->origin, headers->host))
        return refuse(403, why, "the request comes from a page of another server");
    return 0;
}

unsigned spex_guard_check(const struct spex_guard *guard, const struct spex_guard_headers *headers,
                          bool changes, const char **why) {
    unsigned status = spex_guard_check_open(guard, headers, why);
    if (status)
        return status;
    if (headers->site && strcmp(headers->site, "same-origin") != 0 &&
        strcmp(headers->site, "none") != 0)
        return refuse(403, why, "the request comes from a page of another server");
    if (changes && !guard->token)
        return refuse(403, why, "this server changes nothing: it was started without --token-file");
    if (guard->token && !has_token(guard->token, headers->authorization))
        return refuse(401, why, "the token was expected, as Authorization: Bearer TOKEN");
    return 0;
}
