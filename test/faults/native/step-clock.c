/*
 * Preloaded into a database server: adds to its wall clock what a file says, and nothing else. See step-clock.ts.
 *
 * Why not libfaketime: while a process waits (epoll_wait), it hides the faked time from signal handlers. PostgreSQL
 * checks its statement, lock and deadlock limits in such a handler, so with a clock that is ahead none of them fires.
 * This one reads a mapped page: no lock, no system call, the same answer everywhere.
 *
 * Waits that end at a moment of the wall clock are translated back, for the kernel does not know about the step.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define BILLION 1000000000LL
/* A moment of the wall clock is after 2001; one of the monotonic clock is the time since the machine started. */
#define WALL_CLOCK 1000000000LL

static volatile int64_t *ahead_ns;
static int (*real_clock_gettime)(clockid_t, struct timespec *);
static int (*real_cond_timedwait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
static int (*real_mutex_timedlock)(pthread_mutex_t *, const struct timespec *);
static int (*real_sem_timedwait)(sem_t *, const struct timespec *);

__attribute__((constructor)) static void start(void) {
  const char *file = getenv("STEP_CLOCK_FILE");
  int handle = file ? open(file, O_RDONLY | O_CLOEXEC) : -1;
  real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
  /* The default symbol: an unversioned look-up may give the one of 1990s programs. */
  real_cond_timedwait = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
  if (!real_cond_timedwait) real_cond_timedwait = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
  real_mutex_timedlock = dlsym(RTLD_NEXT, "pthread_mutex_timedlock");
  real_sem_timedwait = dlsym(RTLD_NEXT, "sem_timedwait");
  if (handle < 0) return;
  void *page = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, handle, 0);
  close(handle);
  if (page != MAP_FAILED) ahead_ns = page;
}

static void add(struct timespec *time, int64_t ns) {
  int64_t sum = time->tv_nsec + ns % BILLION;
  time->tv_sec += ns / BILLION + (sum >= BILLION) - (sum < 0);
  time->tv_nsec = sum + (sum < 0) * BILLION - (sum >= BILLION) * BILLION;
}

static struct timespec real_moment(const struct timespec *moment) {
  struct timespec real = *moment;
  if (ahead_ns && real.tv_sec > WALL_CLOCK) add(&real, -*ahead_ns);
  return real;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  if (!real_clock_gettime) real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
  int result = real_clock_gettime(clock, time);
  if (result == 0 && ahead_ns && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) add(time, *ahead_ns);
  return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  (void)zone;
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  *time = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
  return 0;
}

time_t time(time_t *result) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (result) *result = now.tv_sec;
  return now.tv_sec;
}

int pthread_cond_timedwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict until) {
  struct timespec real = real_moment(until);
  return real_cond_timedwait(cond, mutex, &real);
}

int pthread_mutex_timedlock(pthread_mutex_t *restrict mutex, const struct timespec *restrict until) {
  struct timespec real = real_moment(until);
  return real_mutex_timedlock(mutex, &real);
}

int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict until) {
  struct timespec real = real_moment(until);
  return real_sem_timedwait(semaphore, &real);
}
