/* Preloaded into the program by tests/faults: the system's clock is wrong and jumps, as it does when somebody sets it. Clocks that only ever
 * count on (CLOCK_MONOTONIC, CLOCK_BOOTTIME) are left alone, as they are by the system.
 *
 *   CLOCK_JUMP   seconds that are added to the time of day, and twice as many at every second question
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static atomic_int questions;

int clock_gettime(clockid_t clock, struct timespec* time) {
  static int (*real)(clockid_t, struct timespec*);
  if (real == NULL) real = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  const int result = real(clock, time);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
    time->tv_sec += atol(getenv("CLOCK_JUMP")) * (1 + questions++ % 2);
  return result;
}

int gettimeofday(struct timeval* time, void* zone) {
  (void)zone;
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  time->tv_sec = now.tv_sec;
  time->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* result) {
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  if (result != NULL) *result = now.tv_sec;
  return now.tv_sec;
}
