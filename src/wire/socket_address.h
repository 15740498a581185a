/* SPDX-License-Identifier: MIT */
/* The address of a Unix-domain socket by its path. */
#ifndef SPEX_WIRE_SOCKET_ADDRESS_H
#define SPEX_WIRE_SOCKET_ADDRESS_H

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

/* 0; -ENOENT for an empty path, which would be an abstract name; -ENAMETOOLONG. */
static inline int spex_socket_address(const char *path, struct sockaddr_un *address) {
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (!path || *path == '\0')
        return -ENOENT;
    if (strlen(path) >= sizeof(address->sun_path))
        return -ENAMETOOLONG;
    memcpy(address->sun_path, path, strlen(path));
    return 0;
}

#endif
