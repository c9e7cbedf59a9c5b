/* Preloaded into the program by tests/faults: the system's clock jumps, as it does when somebody sets it. Clocks that only ever count on
 * (CLOCK_MONOTONIC, CLOCK_BOOTTIME) are left alone, as they are by the system.
 *
 *   CLOCK_JUMPS   seconds that are added to the time of day, separated by spaces: the first for the first question, the second for the next,
 *                 and so on, the last for all further ones
 *   CLOCK_ASKED   file that gets a line for each question
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char* rest;

static long jump(void) {
  pthread_mutex_lock(&lock);
  if (rest == NULL) rest = getenv("CLOCK_JUMPS");
  if (rest == NULL) rest = "0";
  char* end;
  const long seconds = strtol(rest, &end, 10);
  char* more;
  strtol(end, &more, 10);
  if (more != end) rest = end;
  const char* const log = getenv("CLOCK_ASKED");
  const int file = log == NULL ? -1 : open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file >= 0) {
    if (write(file, "\n", 1) != 1) abort();
    close(file);
  }
  pthread_mutex_unlock(&lock);
  return seconds;
}

int clock_gettime(clockid_t clock, struct timespec* time) {
  static int (*real)(clockid_t, struct timespec*);
  if (real == NULL) real = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  const int result = real(clock, time);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += jump();
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
