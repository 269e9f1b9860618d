/* SPDX-License-Identifier: MIT
 *
 * Standard streams and signals.
 */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "say.h"

static atomic_int *stop_flag, *cancel_flag;

void open_standard_streams(void) {
    int fd;
    while ((fd = open("/dev/null", O_RDWR)) >= 0 && fd <= STDERR_FILENO)
        ;
    if (fd >= 0)
        close(fd);
}

static void on_signal(int number) {
    int before = errno;
    if (*cancel_flag) {
        signal(number, SIG_DFL);
        raise(number);
    }
    if (*stop_flag || number != SIGINT)
        *cancel_flag = number;
    *stop_flag = number;
    errno = before;
}

void catch_signals(atomic_int *stop, atomic_int *cancel) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action, before;
    stop_flag = stop;
    cancel_flag = cancel;
    memset(&action, 0, sizeof(action));
    sigemptyset(&action.sa_mask);
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    for (gsize i = 0; i < G_N_ELEMENTS(numbers); i++)
        if (!sigaction(numbers[i], NULL, &before) && before.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
    signal(SIGPIPE, SIG_IGN); /* a reader that is gone is a write error, too */
    signal(SIGXFSZ, SIG_IGN); /* a file size limit is then a write error like a full disk */
}

gboolean flush_stdout(GError **error) {
    return (!fflush(stdout) && !ferror(stdout)) || system_fault(error, "write to stdout", errno);
}
