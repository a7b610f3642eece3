/* Preload this library to simulate a slow disk: each fsync takes 1 ms longer. */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void wait(void) {
  struct timespec one_millisecond = {0, 1000000};
  nanosleep(&one_millisecond, NULL);
}

int fsync(int file) {
  wait();
  return syscall(SYS_fsync, file);
}

int fdatasync(int file) {
  wait();
  return syscall(SYS_fdatasync, file);
}
