/* Preload this library to record, in the file $RECORD, what a program does to the database $RECORDED:
   each write, truncation, deletion and sync of the files whose paths begin with that path, in order. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct head {
  uint32_t kind, name_length;
  uint64_t offset, length;
};

static int record = -1;
static const char *database = "";

__attribute__((constructor)) static void start(void) {
  const char *path = getenv("RECORD");
  if (getenv("RECORDED")) database = getenv("RECORDED");
  if (path) record = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

/* The rest of a path after that of the database, "/" for its folder, or null for other paths. */
static const char *name_of(const char *path) {
  size_t length = strlen(database);
  const char *name = path + length;
  if (record < 0 || length == 0) return NULL;
  if (strncmp(path, database, length) == 0) return strcmp(name, "-shm") == 0 ? NULL : name;
  length = strrchr(database, '/') - database;
  return strlen(path) == length && strncmp(path, database, length) == 0 ? "/" : NULL;
}

static const char *name_of_file(int file, char path[PATH_MAX]) {
  char link[32];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, PATH_MAX - 1);
  path[length < 0 ? 0 : length] = 0;
  return name_of(path);
}

static void append(char kind, const char *name, uint64_t offset, const void *bytes, size_t length) {
  struct head head = {kind, strlen(name), offset, length};
  struct iovec parts[] = {
      {&head, sizeof head}, {(void *)name, head.name_length}, {(void *)bytes, length}};
  size_t size = sizeof head + head.name_length + length;
  if (writev(record, parts, 3) != (ssize_t)size) abort();
}

ssize_t pwrite64(int file, const void *bytes, size_t length, off64_t offset) {
  char path[PATH_MAX];
  const char *name = name_of_file(file, path);
  if (name) append('w', name, offset, bytes, length);
  return syscall(SYS_pwrite64, file, bytes, length, offset);
}

ssize_t write(int file, const void *bytes, size_t length) {
  char path[PATH_MAX];
  const char *name = name_of_file(file, path);
  if (name) append('w', name, lseek(file, 0, SEEK_CUR), bytes, length);
  return syscall(SYS_write, file, bytes, length);
}

int ftruncate64(int file, off64_t length) {
  char path[PATH_MAX];
  const char *name = name_of_file(file, path);
  if (name) append('t', name, length, NULL, 0);
  return syscall(SYS_ftruncate, file, length);
}

int unlink(const char *path) {
  const char *name = name_of(path);
  if (name) append('u', name, 0, NULL, 0);
  return syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

/* The record of a sync follows the sync, and has the size of the record when the sync began. The
   sync takes 1 ms longer, so that an answer which does not wait for it arrives before its record. */
static int sync_of(long number, int file) {
  char path[PATH_MAX];
  const char *name = name_of_file(file, path);
  struct stat before;
  struct timespec one_millisecond = {0, 1000000};
  if (name) fstat(record, &before);
  if (name) nanosleep(&one_millisecond, NULL);
  int result = syscall(number, file);
  if (name && result == 0) append('s', name, before.st_size, NULL, 0);
  return result;
}

int fsync(int file) { return sync_of(SYS_fsync, file); }

int fdatasync(int file) { return sync_of(SYS_fdatasync, file); }
