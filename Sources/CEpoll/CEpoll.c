// What needs _GNU_SOURCE stays out of the header: with it glibc's types look different to Swift than in its own Glibc module.
#define _GNU_SOURCE
#include "CEpoll.h"
#include <signal.h>
#include <stdatomic.h>
#include <sys/timerfd.h>
#include <time.h>

int roost_accept(int listener, struct sockaddr *address, socklen_t *length) {
    return accept4(listener, address, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

void roost_name_thread(const char *name) { pthread_setname_np(pthread_self(), name); }

// Lock-free, so that the handler may read it whichever thread it runs on.
static atomic_int signal_socket = -1;

// Runs in a signal handler, where send is among the few calls that are safe. A full socket drops the signal.
static void pass_signal(int number) {
    int saved = errno;
    unsigned char byte = (unsigned char)number;
    send(signal_socket, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    errno = saved;
}

int roost_catch_signal(int number, int socket) {
    signal_socket = socket;
    struct sigaction action = {0};
    action.sa_handler = pass_signal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    return sigaction(number, &action, NULL);
}

int roost_timerfd(void) { return timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC); }

int roost_timerfd_set(int fd, int64_t nanoseconds) {
    struct itimerspec time = {0};
    time.it_value.tv_sec = nanoseconds / 1000000000;
    time.it_value.tv_nsec = nanoseconds % 1000000000;
    return timerfd_settime(fd, TFD_TIMER_ABSTIME, &time, NULL);
}
