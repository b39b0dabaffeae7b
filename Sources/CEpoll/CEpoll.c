// What needs _GNU_SOURCE stays out of the header: with it glibc's types look different to Swift than in its own Glibc module.
#define _GNU_SOURCE
#include "CEpoll.h"

int roost_accept(int listener, struct sockaddr *address, socklen_t *length) {
    return accept4(listener, address, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

void roost_name_thread(const char *name) { pthread_setname_np(pthread_self(), name); }
