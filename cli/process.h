/* SPDX-License-Identifier: MIT
 *
 * What the command settles with the system: standard streams and signals.
 */
#ifndef PROCESS_H
#define PROCESS_H

#include <glib.h>

/* A standard stream that the caller closed is opened on nothing. Otherwise the next file opened would take
 * its place, and messages would be written into it. */
void open_standard_streams(void);

/* From now on SIGINT, SIGTERM and SIGHUP only store their number; a second one ends the process at once.
 * A signal that was ignored, as by nohup, stays so. */
void catch_signals(volatile int *stopped_by);

/* What was printed on stdout has arrived. */
gboolean flush_stdout(GError **error);

#endif
