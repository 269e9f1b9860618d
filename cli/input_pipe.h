/* SPDX-License-Identifier: MIT
 *
 * An input that cannot seek: a pipe, named or not, or a socket.
 */
#ifndef INPUT_PIPE_H
#define INPUT_PIPE_H

#include <stdatomic.h>
#include <stdio.h>

#include <glib.h>

/* A stream without a descriptor of what comes out of fd, which it owns. As long as no more than its first
 * INPUT_PIPE_HEAD bytes were read it can seek among them. Reading fails soon once *cancel is set, and once
 * *stop is if nobody writes. */
enum { INPUT_PIPE_HEAD = 65536 };
FILE *input_pipe_open(int fd, const atomic_int *stop, const atomic_int *cancel, GError **error);

/* All bytes of the stream, which is at its start, in a temporary file without a name. */
FILE *input_pipe_spool(FILE *stream, GError **error);

#endif
