/* SPDX-License-Identifier: MIT
 *
 * Work that is done beside the caller's own, one piece at a time: on an idle core if there is one.
 */
#ifndef BESIDE_H
#define BESIDE_H

#include "cores.h"

typedef struct {
    Cores *cores;
    void (*work)(gpointer data);
    gpointer data;
    GMutex lock;
    GCond done;
    gboolean busy;
} Beside;

void beside_init(Beside *beside, Cores *cores);
void beside_clear(Beside *beside); /* waits, too */

/* Starts work(data), which may have been done on return. Waits until the last piece is. */
void beside_start(Beside *beside, void (*work)(gpointer data), gpointer data);
void beside_wait(Beside *beside);

#endif
