/* CPU device, collective communication: addresses and sockets.
 *
 * Ranks of one machine meet on local sockets with abstract names, which need no file,
 * vanish with their process and can pass shared memory; others over TCP. What tells a
 * machine is its boot and the network namespace, since abstract names are looked up
 * there: two containers with networks of their own count as two machines.
 *
 * Nothing waits without a deadline. Sockets are closed when the process executes another
 * program. IPv4 alone.
 */
#include "device/hccl/internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Names and keys only have to differ; without the kernel's numbers the time and the
 * process do. */
uint64_t hccl_random(void) {
    uint64_t value = 0;
    if (getrandom(&value, sizeof value, 0) != sizeof value)
        value = (uint64_t)hccl_now() * 0x9e3779b97f4a7c15 ^ (uint64_t)getpid() << 32;
    return value;
}

/* Padded with zeros, so that it is compared by memcmp. */
void hccl_own_machine(char machine[64]) {
    char boot[40] = "";
    struct stat info;
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, boot, 36) : 0;
    if (fd >= 0) close(fd);
    if (n < 36 && gethostname(boot, sizeof boot - 1) != 0) boot[0] = 0;
    unsigned long long space =
        stat("/proc/self/ns/net", &info) == 0 ? (unsigned long long)info.st_ino : 0;
    memset(machine, 0, 64);
    snprintf(machine, 64, "%.36s/%llu", boot, space);
}

/* HCCL_SOCKET_IFNAME: prefixes of names, "=" exact ones, "^" all others, "^=" both. */
static bool interface_wanted(const char *name, const char *wish) {
    bool inverted = *wish == '^';
    wish += inverted;
    bool exact = *wish == '=';
    wish += exact;
    bool met = false;
    while (*wish != 0 && !met) {
        size_t length = strcspn(wish, ",");
        met = length > 0 && strncmp(name, wish, length) == 0 &&
              (!exact || name[length] == 0);
        wish += length + (wish[length] == ',');
    }
    return met != inverted;
}

/* The first interface that is up, has an IPv4 address and is wanted. */
HcclResult hccl_own_ip(uint32_t *ip) {
    const char *text = getenv("HCCL_IF_IP"), *wish = getenv("HCCL_SOCKET_IFNAME");
    if (text != NULL && *text != 0) {
        if (inet_pton(AF_INET, text, ip) == 1) return HCCL_SUCCESS;
        return hccl_fail(HCCL_E_PARA, "HCCL_IF_IP is %.64s; an IPv4 address is needed",
                         text);
    }
    struct ifaddrs *all = NULL;
    bool found = false, named = wish != NULL && *wish != 0;
    if (getifaddrs(&all) != 0) all = NULL;
    for (struct ifaddrs *a = all; a != NULL && !found; a = a->ifa_next) {
        if (a->ifa_addr == NULL || a->ifa_addr->sa_family != AF_INET) continue;
        if (!(a->ifa_flags & IFF_UP)) continue;
        if (named ? !interface_wanted(a->ifa_name, wish)
                  : (a->ifa_flags & IFF_LOOPBACK) != 0)
            continue;
        *ip = ((struct sockaddr_in *)(void *)a->ifa_addr)->sin_addr.s_addr;
        found = true;
    }
    if (all != NULL) freeifaddrs(all);
    if (!found && named)
        return hccl_fail(HCCL_E_PARA,
                         "HCCL_SOCKET_IFNAME is %.64s: no such interface has an address",
                         wish);
    if (!found) *ip = htonl(INADDR_LOOPBACK);
    return HCCL_SUCCESS;
}

/* ---- connections */

/* An abstract name: its first byte is 0, its length counts, and no file is made. */
static socklen_t local_address(const char *name, struct sockaddr_un *to) {
    memset(to, 0, sizeof *to);
    to->sun_family = AF_UNIX;
    size_t length = strlen(name);
    memcpy(to->sun_path + 1, name, length);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
}

/* With errno's text, closing what was opened. */
static int failed(int fd, const char *what) {
    (void)hccl_fail(HCCL_E_TCP_CONNECT, "%s failed: %s", what, strerror(errno));
    if (fd >= 0) close(fd);
    return -1;
}

/* Two processes cannot listen at one name: the second fails. */
int hccl_listen_local(const char *name) {
    struct sockaddr_un address;
    socklen_t length = local_address(name, &address);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, length) != 0 ||
        listen(fd, SOMAXCONN) != 0)
        return failed(fd, "listening on a local socket");
    return fd;
}

/* The port that the kernel chose, for 0, is told through `port`. */
int hccl_listen_tcp(uint32_t ip, uint16_t *port) {
    struct sockaddr_in address = {0};
    socklen_t length = sizeof address;
    int on = 1;
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = ip;
    address.sin_port = *port;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0) (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(fd, SOMAXCONN) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &length) != 0)
        return failed(fd, "listening for TCP connections");
    *port = address.sin_port;
    return fd;
}

/* For poll; rounded up, so that it does not spin at the end. */
static int64_t milliseconds_left(int64_t deadline) {
    int64_t left = deadline - hccl_now();
    return left <= 0 ? 0 : left / 1000000 + 1;
}

/* One attempt. false: worth another (nobody listens yet). */
static bool connect_once(int fd, const struct sockaddr *to, socklen_t length,
                         int64_t deadline) {
    if (connect(fd, to, length) == 0) return true;
    if (errno != EINPROGRESS) return false;
    struct pollfd p = {fd, POLLOUT, 0};
    if (poll(&p, 1, (int)milliseconds_left(deadline)) != 1) return false;
    int code = 0;
    socklen_t size = sizeof code;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &size) != 0) return false;
    errno = code;
    return code == 0;
}

/* Tries again with pauses that double up to 64 ms: the other process may not listen
 * yet. A socket that failed to connect is of no more use. */
static int connect_to(int family, const struct sockaddr *to, socklen_t length,
                      int64_t deadline) {
    for (long pause = 1000000;; pause = pause < 64000000 ? pause * 2 : pause) {
        int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0) return failed(fd, "making a socket");
        if (connect_once(fd, to, length, deadline)) return fd;
        int code = errno;
        close(fd);
        if (hccl_now() + pause > deadline) {
            (void)hccl_fail(HCCL_E_TIMEOUT,
                            "nobody took the connection within HCCL_CONNECT_TIMEOUT: %s",
                            strerror(code));
            return -1;
        }
        struct timespec nap = {0, pause};
        (void)nanosleep(&nap, NULL);
    }
}

/* Of this machine and network namespace alone. */
int hccl_connect_local(const char *name, int64_t deadline) {
    struct sockaddr_un address;
    socklen_t length = local_address(name, &address);
    return connect_to(AF_UNIX, (struct sockaddr *)&address, length, deadline);
}

/* Short messages leave at once (TCP_NODELAY). */
int hccl_connect_tcp(uint32_t ip, uint16_t port, int64_t deadline) {
    struct sockaddr_in address = {0};
    int on = 1;
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = ip;
    address.sin_port = port;
    int fd = connect_to(AF_INET, (struct sockaddr *)&address, sizeof address, deadline);
    if (fd >= 0) (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

/* ---- whole messages */

/* Until the socket is ready, or the deadline; an interrupted wait is asked again. */
static HcclResult wait_for(int fd, short events, int64_t deadline) {
    struct pollfd p = {fd, events, 0};
    int n = poll(&p, 1, (int)milliseconds_left(deadline));
    if (n > 0 || (n < 0 && errno == EINTR)) return HCCL_SUCCESS;
    return hccl_fail(HCCL_E_TIMEOUT,
                     "another rank did not answer within HCCL_CONNECT_TIMEOUT");
}

/* n == 0: the other side closed the connection; else errno says what happened. */
static HcclResult broken(const char *doing, ssize_t n) {
    return hccl_fail(HCCL_E_TCP_TRANSFER, "%s another rank failed: %s", doing,
                     n == 0 ? "it has gone" : strerror(errno));
}

/* A peer that is gone gives an error, never SIGPIPE. */
HcclResult hccl_write(int fd, const void *data, size_t size, int64_t deadline) {
    const char *at = data;
    while (size > 0) {
        ssize_t n = send(fd, at, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno != EAGAIN && errno != EINTR) return broken("writing to", n);
        if (n < 0) {
            HCCL_TRY(wait_for(fd, POLLOUT, deadline));
            continue;
        }
        at += n;
        size -= (size_t)n;
    }
    return HCCL_SUCCESS;
}

/* Exactly so many bytes: messages of the handshake have fixed sizes. */
HcclResult hccl_read(int fd, void *data, size_t size, int64_t deadline) {
    char *at = data;
    while (size > 0) {
        ssize_t n = recv(fd, at, size, MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
            return broken("reading from", n);
        if (n < 0) {
            HCCL_TRY(wait_for(fd, POLLIN, deadline));
            continue;
        }
        at += n;
        size -= (size_t)n;
    }
    return HCCL_SUCCESS;
}

/* A file descriptor travels beside one byte. */
typedef union {
    struct cmsghdr head;
    char room[CMSG_SPACE(sizeof(int))];
} control;

/* The kernel gives the receiver a descriptor of its own for the same memory. */
HcclResult hccl_write_fd(int fd, int passed) {
    char byte = 'm';
    struct iovec part = {&byte, 1};
    control c;
    memset(&c, 0, sizeof c);
    struct msghdr message = {0};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = &c;
    message.msg_controllen = sizeof c.room;
    c.head.cmsg_level = SOL_SOCKET;
    c.head.cmsg_type = SCM_RIGHTS;
    c.head.cmsg_len = CMSG_LEN(sizeof passed);
    memcpy(CMSG_DATA(&c.head), &passed, sizeof passed);
    return sendmsg(fd, &message, MSG_NOSIGNAL) == 1 ? HCCL_SUCCESS
                                                    : broken("passing memory to", -1);
}

/* Closed on exec, as all sockets here. */
HcclResult hccl_read_fd(int fd, int *passed, int64_t deadline) {
    char byte = 0;
    struct iovec part = {&byte, 1};
    control c;
    memset(&c, 0, sizeof c);
    struct msghdr message = {0};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = &c;
    message.msg_controllen = sizeof c.room;
    ssize_t n;
    while ((n = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC)) < 0 &&
           (errno == EAGAIN || errno == EINTR))
        HCCL_TRY(wait_for(fd, POLLIN, deadline));
    if (n != 1) return broken("taking memory from", n);
    if (c.head.cmsg_type != SCM_RIGHTS || c.head.cmsg_len != CMSG_LEN(sizeof *passed))
        return hccl_fail(HCCL_E_INTERNAL, "another rank passed no memory");
    memcpy(passed, CMSG_DATA(&c.head), sizeof *passed);
    return HCCL_SUCCESS;
}
