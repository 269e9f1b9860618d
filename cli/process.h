/* SPDX-License-Identifier: MIT
 *
 * What the command settles with the system: standard streams and signals.
 */
#ifndef PROCESS_H
#define PROCESS_H

#include <stdatomic.h>

#include <glib.h>

/* A standard stream that the caller closed is opened on nothing. Otherwise the next file opened would take
 * its place, and messages would be written into it. */
void open_standard_streams(void);

/* From now on signals only store their number: the first SIGINT in *stop, so that what was begun can be
 * ended; a second one, SIGTERM and SIGHUP in both, so that nothing is begun and what was is given up. One
 * more ends the process at once. A signal that was ignored, as by nohup, stays so. Both may be one. */
void catch_signals(atomic_int *stop, atomic_int *cancel);

/* What was printed on stdout has arrived. */
gboolean flush_stdout(GError **error);

#endif
