/* SPDX-License-Identifier: MIT
 *
 * One machine's share of the inputs.
 */
#ifndef SHARD_H
#define SHARD_H

#include <glib.h>

/* Number `index`, from 0, of `count` shares; a count of 0 means all inputs. */
typedef struct {
    guint64 index, count;
} Shard;

/* Reads "I/N". */
gboolean shard_parse(const char *text, Shard *shard);

/* Whether an input belongs to the share. Only its path below its root decides, so that every machine knows
 * without asking, whatever other files there are: each path is in one share of N. */
gboolean shard_has(const Shard *shard, const char *relative);

#endif
