// The parts of Linux's socket interface that Swift's Glibc module does not show: epoll, eventfd and accept4.
#pragma once
// Without _GNU_SOURCE here: Swift's own Glibc module is built without it, and the two views of fd_set would differ.
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

static inline int roost_epoll_control(int epoll, int operation, int fd, uint32_t events, uint64_t data) {
    struct epoll_event event = {0};
    event.events = events;
    event.data.u64 = data;
    return epoll_ctl(epoll, operation, fd, &event);
}

static inline uint64_t roost_epoll_data(const struct epoll_event *event) { return event->data.u64; }
static inline uint32_t roost_epoll_events(const struct epoll_event *event) { return event->events; }

static inline int roost_eventfd(void) { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }

// With SOCK_NONBLOCK and SOCK_CLOEXEC set.
int roost_accept(int listener, struct sockaddr *address, socklen_t *length);

static inline int roost_tcp_socket(int family) {
    return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

// A gathered write that raises no SIGPIPE.
static inline ssize_t roost_send(int fd, struct iovec *segments, size_t count) {
    struct msghdr message = {0};
    message.msg_iov = segments;
    message.msg_iovlen = count;
    return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static inline int roost_set_option(int fd, int level, int option, int value) {
    return setsockopt(fd, level, option, &value, sizeof value);
}

// A timer on CLOCK_MONOTONIC as a descriptor, finer than epoll's milliseconds; set to an absolute time, 0 disarms it.
int roost_timerfd(void);
int roost_timerfd_set(int fd, int64_t nanoseconds);

// Names the calling thread, in at most 15 bytes.
void roost_name_thread(const char *name);

// From now on a signal is one byte, its number, sent to `socket`: one socket for all signals of the process.
int roost_catch_signal(int number, int socket);

enum {
    ROOST_EPOLLIN = EPOLLIN,
    ROOST_EPOLLOUT = EPOLLOUT,
    ROOST_EPOLLERR = EPOLLERR,
    ROOST_EPOLLHUP = EPOLLHUP,
    ROOST_EPOLLRDHUP = EPOLLRDHUP,
    ROOST_SOL_SOCKET = SOL_SOCKET,
    ROOST_SO_REUSEADDR = SO_REUSEADDR,
    ROOST_SO_REUSEPORT = SO_REUSEPORT,
    ROOST_SO_ERROR = SO_ERROR,
    ROOST_IPPROTO_IP = IPPROTO_IP,
    ROOST_IP_BIND_ADDRESS_NO_PORT = IP_BIND_ADDRESS_NO_PORT,
    ROOST_IPPROTO_TCP = IPPROTO_TCP,
    ROOST_TCP_NODELAY = TCP_NODELAY,
};
