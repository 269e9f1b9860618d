/* SPDX-License-Identifier: MIT
 *
 * A crew: two barriers, one to begin at and one to end at.
 */
#include "crew.h"

#include <pthread.h>

struct Crew {
    guint threads;
    GMutex gate; /* held until the crew knows how many it is */
    pthread_barrier_t begin, end;
    GThread **members; /* all but the caller */
    CrewWork work;     /* NULL: go home */
    gpointer arg;
};

typedef struct {
    Crew *crew;
    guint i;
} Member;

static gpointer serve(gpointer data) {
    Member member = *(Member *)data;
    Crew *crew = member.crew;
    g_free(data);
    g_mutex_lock(&crew->gate);
    g_mutex_unlock(&crew->gate);
    for (;;) {
        pthread_barrier_wait(&crew->begin);
        if (!crew->work)
            return NULL;
        crew->work(crew->arg, member.i, crew->threads);
        pthread_barrier_wait(&crew->end);
    }
}

Crew *crew_new(guint threads) {
    Crew *crew = g_new0(Crew, 1);
    crew->members = g_new(GThread *, threads);
    g_mutex_init(&crew->gate);
    g_mutex_lock(&crew->gate);
    for (crew->threads = 1; crew->threads < threads; crew->threads++) {
        Member *member = g_new(Member, 1);
        *member = (Member){crew, crew->threads};
        if (!(crew->members[crew->threads] = g_thread_try_new("crew", serve, member, NULL))) {
            g_free(member);
            break;
        }
    }
    pthread_barrier_init(&crew->begin, NULL, crew->threads);
    pthread_barrier_init(&crew->end, NULL, crew->threads);
    g_mutex_unlock(&crew->gate);
    return crew;
}

void crew_run(Crew *crew, gboolean all, CrewWork work, gpointer arg) {
    if (!all || crew->threads == 1) {
        work(arg, 0, 1);
        return;
    }
    crew->work = work;
    crew->arg = arg;
    pthread_barrier_wait(&crew->begin);
    work(arg, 0, crew->threads);
    pthread_barrier_wait(&crew->end);
}

void crew_free(Crew *crew) {
    crew->work = NULL;
    pthread_barrier_wait(&crew->begin);
    for (guint i = 1; i < crew->threads; i++)
        g_thread_join(crew->members[i]);
    pthread_barrier_destroy(&crew->begin);
    pthread_barrier_destroy(&crew->end);
    g_mutex_clear(&crew->gate);
    g_free(crew->members);
    g_free(crew);
}
